"""The profile of an NVIDIA H200 (sm_90, 132 multiprocessors, 60 MiB L2), which serves every device that is not tuned.

Each value was found by measurement on that device, as docs/performance-notes.md says ("what it took", by number).
"""

from cornerturn.kernels.production.profile import Profile, Rates
from cornerturn.kernels.production.tile_shape import TileShape

BLOCKS_PER_MULTIPROCESSOR = 8
"""With fewer blocks than these a device is not busy, and smaller tiles are taken."""

H200 = Profile(
    # A fit of 20 numbers to 6,857 boxes of 734 moves of 64 KiB to 1 GiB, so that the box with the least predicted time
    # is as fast as can be: within 2% of the fastest of 9 in the mean, of small arrays within 3%. The launch and the
    # copy are measured on their own.
    rates=Rates(
        multiprocessors=132,
        clock=1.7e9,
        copy=4.1e12,
        launch=7.59e-07,
        fill=0.65e-6,
        x_sector=0.0232,
        y_sector=1.37,
        stored_sector=0.504,
        short_run=0.0227,
        uncovered=0.32,
        one_sector_read=0.203,
        one_sector_write=0.0677,
        scattered_read=2.58,
        scattered_write=0.18,
        few_warps=0.0356,
        few_blocks=0.375,
        many_units=0.00746,
        prologue=73.3,
        per_axis=14.0,
        place=7.33,
        access=0.322,
        read_window=88.3,
        issue=1.14,
        read_wait=6.5e-07,
        direct_wait=3.12e-07,
        gather_wait=1.8e-08,
        overlap=3.0,
    ),
    # Medians over random moves, on which permute reaches 0.97, and less for elements of 2 bytes and 1.
    tile_share={1: 0.98, 2: 0.99, 4: 0.99, 8: 0.98, 16: 0.99},
    ragged_tile_share={1: 0.84, 2: 0.93, 4: 0.93, 8: 0.96, 16: 0.95},
    tile_bytes=128,
    ragged_tile_bytes=256,
    lone_ragged=(1,),
    tile_seconds=0.1e-6,
    small_tile_share={1: 0.6, 2: 0.8},
    small_bytes=16 << 20,
    direct_bytes=8 << 20,
    # Small micro-tiles (1), smaller tiles than those that a first search found (9); wide reads where they pay (7).
    # The second of a size is the fastest at 1024 x 1024, where the first leaves multiprocessors without work.
    aligned={
        1: (TileShape(64, 128, 4, 128, wide=False),),
        2: (TileShape(64, 64, 2, 256), TileShape(32, 64, 2, 64)),
        4: (TileShape(64, 32, 2, 256), TileShape(32, 32, 2, 128)),
        8: (TileShape(32, 32, 2, 256), TileShape(16, 32, 1, 128)),
        16: (TileShape(32, 16, 1, 256), TileShape(16, 16, 1, 128)),
    },
    # 2% faster than the aligned ones, for this size alone (9).
    loose={4: (TileShape(64, 64, 2, 512), TileShape(32, 32, 2, 128))},
    # Windows on sectors (3); resident blocks leave the registers to keep all reads in flight (4).
    ragged={
        1: (TileShape(128, 128, 4, 256, wide=False, resident=5), TileShape(64, 64, 4, 64, wide=False)),
        2: (TileShape(128, 64, 4, 256, wide=False, resident=5), TileShape(32, 64, 2, 128, wide=False)),
        4: (TileShape(64, 64, 4, 256, wide=False, resident=4), TileShape(32, 32, 2, 128, wide=False)),
        8: (TileShape(64, 64, 2, 512, resident=3), TileShape(16, 32, 2, 128, wide=False, resident=8)),
        16: (TileShape(32, 32, 1, 256), TileShape(16, 32, 1, 256, wide=False)),
    },
    # Blocks along another axis before those from tile to tile: 256 x 256 x 256 reversed (6).
    near={
        1: (TileShape(128, 128, 4, 128, wide=False), TileShape(64, 64, 4, 64, wide=False)),
        2: (TileShape(64, 64, 4, 128, wide=False),),
        4: (TileShape(64, 64, 4, 256, wide=False), TileShape(32, 32, 2, 128, wide=False)),
        8: (TileShape(32, 32, 2, 256, wide=False),),
        16: (TileShape(16, 16, 1, 128, wide=False),),
    },
    # 8192 x 8192 of 16 bytes spans many pages: 0.93 -> 0.96. Other sizes, and pitches below 128 KiB, lose by it (5).
    groups={16: (2, 64)},
    group_pitch=128 << 10,
    # Matrices with one short side (10). Small elements take long to shift: they want one tile with all columns.
    fitting_threads=128,
    fitting_ragged_units={1: 4, 2: 16},
    # A tile with up to 5% more cost was as fast or faster, for what the cost leaves out.
    similar_cost=1.05,
    enough_blocks=132 * BLOCKS_PER_MULTIPROCESSOR,
    # Reads that L2 keeps: +1.5 to +2.8% from here on; smaller arrays lose (8).
    keep_bytes=32 << 20,
    # Wide reads of small elements lose 2 to 5% unless rows begin on what they fetch (7).
    loose_narrow=(1, 2),
)
