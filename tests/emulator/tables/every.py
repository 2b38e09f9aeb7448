"""All tables in one."""

from .comparisons import COMPARISONS
from .floats import FLOATS, PACKED
from .integers import INTEGERS
from .logic import LOGIC, PERMUTES
from .moves import ADDRESSES, CONVERSIONS, MOVES
from .other_lanes import OTHER_LANES

CASES = (
    *INTEGERS,
    *LOGIC,
    *PERMUTES,
    *FLOATS,
    *PACKED,
    *CONVERSIONS,
    *MOVES,
    *ADDRESSES,
    *COMPARISONS,
    *OTHER_LANES,
)
