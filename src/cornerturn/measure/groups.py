"""The cases that have names: chosen shapes, large and small, and everyday moves of models, images and signals."""

import math
import re
from dataclasses import replace

from cornerturn.errors import UsageError
from cornerturn.measure.cases import Case, held_as

_SLICE = "[0-9]{0,18}:[0-9]{0,18}(?::[0-9]{0,18})?"
_NAME = (
    "(?P<whole>[0-9]{1,18}(?:x[0-9]{1,18})*)"
    rf"(?P<index>\[{_SLICE}(?:,{_SLICE})*\])?"
    "(?::(?P<axes>[0-9]{1,2}(?:,[0-9]{1,2})*))?"
)


def _named(text: str) -> Case | None:
    """Return the case whose name is ``text``, None if there is none."""
    match = re.fullmatch(_NAME, text)
    if not match:
        return None
    whole = tuple(map(int, match["whole"].split("x")))
    axes = tuple(map(int, match["axes"].split(","))) if match["axes"] else tuple(range(len(whole) - 1, -1, -1))
    case = Case(whole, axes, match["index"] or "")
    is_part = len(case.slices) <= len(whole) and all(part.step != 0 for part in case.slices)
    return case if is_part and min(case.shape) > 0 and sorted(axes) == list(range(len(whole))) else None


def _listed(*names: str) -> tuple[Case, ...]:
    return tuple(case for case in map(_named, names) if case)


LARGE = _listed(
    *("8192x8192", "8191x8193", "4096x4096", "1024x1024", "16777216x3", "3x16777216"),
    *("64x1024x1024:0,2,1", "64x3x512x512:0,2,3,1", "64x512x512x3:0,3,1,2", "64x128x64x64:0,2,3,1"),
    *("16x2048x16x128:0,2,1,3", "256x256x256", "1000x1000x64:1,0,2"),
)
SMALL = _listed("8x8", "16x16", "32x32", "64x64", "128x128", "256x256")


def _axes_of(extent: int, order: str) -> str:
    """Name a case of many axes of one extent."""
    count = order.count(",") + 1
    return f"{'x'.join([str(extent)] * count)}:{order}"


MODELS = tuple(
    replace(case, label=label, dtype=dtype)
    for label, name, dtype in (
        # Transformers: batch, tokens, heads, size of a head.
        ("heads apart", "4x4096x32x128:0,2,1,3", "bfloat16"),
        ("heads together", "4x32x4096x128:0,2,1,3", "bfloat16"),
        ("keys transposed", "4x32x4096x128:0,1,3,2", "bfloat16"),
        ("queries, keys, values apart", "16x1024x3x16x64:2,0,3,1,4", "bfloat16"),
        ("rotary halves interleaved", "4x4096x32x2x64:0,1,2,4,3", "bfloat16"),
        ("rotary pairs parted", "4x4096x32x64x2:0,1,2,4,3", "bfloat16"),
        ("KV cache: keys in pages", "4096x16x8x16x8:0,2,3,1,4", "bfloat16"),
        ("KV cache: values in pages", "4096x16x8x128:0,2,3,1", "bfloat16"),
        ("KV cache: heads outermost", "2048x16x8x128:1,2,0,3", "bfloat16"),
        ("vocabulary", "151936x4096", "bfloat16"),
        ("odd vocabulary", "50257x768", "bfloat16"),
        ("weights in fp8", "14336x4096", "float8_e4m3fn"),
        ("tokens without the first", "256x197x768[:,1:]:0,2,1", "bfloat16"),
        # Images.
        ("patches of 14", "256x3x16x14x16x14:0,2,4,3,5,1", "float16"),
        ("patches of 16", "256x3x14x16x14x16:0,2,4,3,5,1", "float16"),
        ("patches of 14, channels first", "256x3x16x14x16x14:0,2,4,1,3,5", "float16"),
        ("patches of 16, channels first", "256x3x14x16x14x16:0,2,4,1,3,5", "float16"),
        ("patches of 16 to images", "256x14x14x16x16x3:0,5,1,3,2,4", "float16"),
        ("pixel shuffle", "4x64x2x2x256x256:0,1,4,2,5,3", "float16"),
        ("pixel unshuffle", "4x64x256x2x256x2:0,1,3,5,2,4", "float16"),
        ("space to depth", "16x112x2x112x2x64:0,1,3,2,4,5", "float16"),
        ("depth to space", "16x112x112x2x2x64:0,1,3,2,4,5", "float16"),
        ("Swin windows", "128x8x7x8x7x96:0,1,3,2,4,5", "float16"),
        ("Swin windows back", "128x8x8x7x7x96:0,1,3,2,4,5", "float16"),
        ("NCHW to NHWC", "64x256x56x56:0,2,3,1", "float16"),
        ("NHWC to NCHW", "64x56x56x256:0,3,1,2", "float16"),
        ("HWC to CHW, bytes", "16x1080x1920x3:0,3,1,2", "uint8"),
        ("CHW to HWC, bytes", "16x3x1080x1920:0,2,3,1", "uint8"),
        ("HWC to CHW, small images", "512x224x224x3:0,3,1,2", "uint8"),
        ("RGBA to planes", "16x1080x1920x4:0,3,1,2", "uint8"),
        ("NCDHW to NDHWC", "4x32x32x128x128:0,2,3,4,1", "float16"),
        ("NDHWC to NCDHW", "4x32x128x128x32:0,4,1,2,3", "float16"),
        ("convolution weights to HWIO", "1024x1024x3x3:2,3,1,0", "float16"),
        ("convolution weights to OHWI", "1024x1024x3x3:0,2,3,1", "float16"),
        # Signals and fields.
        ("radar: pulses last", "16x256x4096:0,2,1", "complex64"),
        ("radar: channels last", "16x256x4096:1,2,0", "complex64"),
        ("FFT in two dimensions", "4096x4096", "complex64"),
        ("FFT in two dimensions, double", "4096x4096", "complex128"),
        ("FFT in three dimensions", "256x256x256:1,2,0", "complex64"),
        ("FFT in three dimensions, double", "256x256x256:2,0,1", "complex128"),
        ("weather: levels last", "37x721x1440:1,2,0", "float32"),
        ("stereo sound", "20000000x2", "float32"),
        # Tables and many small matrices.
        ("table of 7 columns", "4000000x7", "float32"),
        ("table of 33 columns", "1000000x33", "float32"),
        ("table of 100 columns", "300000x100", "float64"),
        ("points xyz", "10000000x3", "float32"),
        ("points by axis", "3x10000000", "float32"),
        ("matrices 2x2, bytes", "16000000x2x2:0,2,1", "uint8"),
        ("matrices 3x3", "3000000x3x3:0,2,1", "float32"),
        ("matrices 4x4", "2000000x4x4:0,2,1", "float32"),
        ("matrices 5x7", "1000000x5x7:0,2,1", "float32"),
        # Parts of arrays, and many axes.
        ("all columns but the first", "8192x8193[:,1:]", "float32"),
        ("every other column", "8192x8192[:,::2]", "float32"),
        ("12 axes of 2 reversed", _axes_of(2, ",".join(map(str, range(11, -1, -1)))), "complex64"),
        ("24 axes of 2 reversed", _axes_of(2, ",".join(map(str, range(23, -1, -1)))), "float32"),
        (
            "24 axes of 2 shuffled",
            _axes_of(2, "5,18,0,11,22,7,14,2,20,9,16,4,23,12,1,19,8,15,3,21,10,6,17,13"),
            "float32",
        ),
        ("27 axes of 2 reversed, bytes", _axes_of(2, ",".join(map(str, range(26, -1, -1)))), "uint8"),
        ("12 axes of 4 shuffled", _axes_of(4, "7,2,10,0,5,11,3,8,1,6,9,4"), "complex64"),
    )
    for case in _listed(name)
)
"""Of 19 to 270 MB, but for the vocabulary of 1.2 GB and 12 axes of 2 of 32 KB."""

_EXAMPLES = "8192x8192, 64x1024x1024:0,2,1, or a part of an array: 8192x8192[:,1:]"

GROUPS = {"large": LARGE, "small": SMALL, "models": MODELS}


def parse_case(text: str) -> tuple[Case, ...]:
    """Return the cases that ``text`` names: a group, or one case written as `Case.name` writes it.

    Example:
        >>> [case.axes for case in parse_case("2x3x4:1,0,2")]
        [(1, 0, 2)]
        >>> len(parse_case("small"))
        6

    Raises:
        UsageError: it names none.
    """
    if text in GROUPS:
        return GROUPS[text]
    if case := _named(text):
        return (case,)
    raise UsageError(f"{_fault(text) or 'unknown case'}: got {_shown(text)}; give {', '.join(GROUPS)}, {_EXAMPLES}")


def parse_move(text: str) -> Case:
    """Return the one case that ``text`` names, as `Case.name` writes it.

    Example:
        >>> parse_move("2x3x4:1,0,2").axes
        (1, 0, 2)

    Raises:
        UsageError: it names none.
    """
    if case := _named(text):
        return case
    raise UsageError(
        f"{_fault(text) or 'unknown move'}: got {_shown(text)}; give a shape and axes, such as {_EXAMPLES}"
    )


def _shown(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:57]}...")


def _fault(text: str) -> str | None:
    """Return the rule that a move breaks which is written as one."""
    written = re.fullmatch(r"(?P<shape>\d+(x\d+)*)(:(?P<axes>\d+(,\d+)*))?", text)
    if written is None:
        return None
    shape = [int(extent) for extent in written["shape"].split("x")]
    if 0 in shape:
        return "every extent must be at least 1"
    axes = [int(axis) for axis in written["axes"].split(",")] if written["axes"] else []
    if axes and sorted(axes) != list(range(len(shape))):
        return f"axes must name each of the {len(shape)} axes once, from 0 to {len(shape) - 1}"
    return None


CPU_BYTES = 128 << 20
"""What an everyday case may have on a CPU."""
MANY_AXES, MANY_AXES_ELEMENTS = 16, 1 << 22
CUTTABLE = 16
"""The shortest axis that is cut: shorter ones are what the case is about."""


def for_cpu(case: Case) -> Case:
    """Return a case with a dtype of its own as it is measured on a CPU.

    In NumPy's dtype of the same size, and with its outermost long axis halved until the array has at most 128 MiB. Of
    more than 16 axes, which NumPy takes seconds to move, the outermost become 1 until 4 Mi elements are left.

    Example:
        >>> for_cpu(MODELS[9]).name, for_cpu(MODELS[9]).dtype
        ('9496x4096', 'float16')
    """
    dtype, whole = held_as(case.dtype), list(case.whole)
    if len(whole) > MANY_AXES:
        left = next(axis for axis in range(len(whole)) if math.prod(whole[axis:]) <= MANY_AXES_ELEMENTS)
        whole[:left] = [1] * left
    cut = next((axis for axis, extent in enumerate(whole) if extent >= CUTTABLE), 0)
    while math.prod(whole) * dtype.itemsize > CPU_BYTES and whole[cut] > 1:
        whole[cut] //= 2
    return replace(case, whole=tuple(whole), dtype=dtype.name)
