"""Which lane of a wave is which thread of which block."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from cornerturn.emulator.counting import WARP
from cornerturn.emulator.report import Coordinates
from cornerturn.emulator.types import Array
from cornerturn.kernels.kernel import Extent


def unravel(linear: Any, extent: Extent) -> tuple[Any, Any, Any]:
    """Linear numbers, x fastest -> coordinates."""
    return linear % extent[0], linear // extent[0] % extent[1], linear // (extent[0] * extent[1])


@dataclass(frozen=True)
class Geometry:
    """The blocks of a launch that run together; a block's lanes are its threads rounded up to whole warps.

    A lane's flat index counts through the lanes of the first block, then through those of the second, and so on.

    Attributes:
        grid, block: extents of the launch.
        blocks: linear numbers of the blocks (x fastest), blocks x 1.
    """

    grid: Extent
    block: Extent
    blocks: Array

    @cached_property
    def threads(self) -> int:
        """Threads per block."""
        return self.block[0] * self.block[1] * self.block[2]

    @cached_property
    def lanes_per_block(self) -> int:
        """Lanes per block."""
        return -(-self.threads // WARP) * WARP

    @cached_property
    def shape(self) -> tuple[int, int]:
        """Blocks x lanes."""
        return len(self.blocks), self.lanes_per_block

    def thread_of(self, lane: Any) -> Any:
        """Linear number, in its block, of the thread of a flat lane index."""
        return lane % self.lanes_per_block

    def block_of(self, lane: Any) -> Any:
        """Linear number, in the grid, of the block of a flat lane index."""
        return self.blocks[lane // self.lanes_per_block, 0]

    def coordinates(self, lane: int) -> tuple[Coordinates, Coordinates]:
        """Block and thread coordinates of a flat lane index."""
        return unravel(int(self.block_of(lane)), self.grid), unravel(self.thread_of(lane), self.block)
