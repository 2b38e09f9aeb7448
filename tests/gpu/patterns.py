"""One warp with one memory instruction and random addresses: what is counted by the emulator and by the hardware."""

from dataclasses import dataclass

import numpy as np

from cornerturn.emulator import Memory, emulate
from cornerturn.kernels.kernel import CudaSource
from cornerturn.lab.counters import emulated_counters
from cornerturn.toolchain import compile_source

WARP = 32
BYTES = 1 << 14
WIDTHS = {4: "unsigned", 8: "uint2", 16: "uint4"}
FORMS = [f"{space}_{kind}_{width}" for space in ("global", "shared") for kind in ("load", "store") for width in WIDTHS]


def _text() -> str:
    """A kernel for each form: a lane whose offset is not negative makes one access there, and always just one."""
    kernels = []
    for form in FORMS:
        space, kind, width = form.split("_")
        vector = WIDTHS[int(width)]
        place = "data" if space == "global" else "shared"
        element = f"*reinterpret_cast<{vector}*>({place} + at)"
        access = f"{vector} v = {element}; {_keep(vector)}" if kind == "load" else f"{element} = {_value(vector)};"
        kernels.append(
            f"__global__ void {form}(const int* offsets, char* data) {{\n"
            f"  __shared__ alignas(16) char shared[{BYTES}];\n"
            "  const int at = offsets[threadIdx.x];\n"
            f"  if (at < 0) return;\n  {access}\n"
            f"  {'keep(shared);' if space == 'shared' else ''}\n}}\n"
        )
    return '__device__ void keep(const void* p) { asm volatile("" :: "l"(p) : "memory"); }\n' + "".join(kernels)


def _keep(vector: str) -> str:
    """Use every byte of v without storing it: a load that nobody needs is not made."""
    bits = "v" if vector == "unsigned" else " ^ ".join(f"v.{axis}" for axis in "xyzw"[: int(vector[-1])])
    return f"if (({bits}) == 0x9e3779b9u) *reinterpret_cast<unsigned*>(data) = 1;"


def _value(vector: str) -> str:
    return "7u" if vector == "unsigned" else f"make_{vector}({', '.join('1234'[: int(vector[-1])])})"


SOURCE = CudaSource("patterns.cu", _text(), tuple(FORMS))


@dataclass(frozen=True)
class Pattern:
    """Which kernel, and the byte offset of each lane; -1 for one that sits the access out."""

    form: str
    offsets: tuple[int, ...]


def patterns(count: int, seed: int) -> list[Pattern]:
    """Random patterns with random masks, each form in turn."""
    rng = np.random.default_rng(seed)
    return [_pattern(FORMS[number % len(FORMS)], rng) for number in range(count)]


def _pattern(form: str, rng: np.random.Generator) -> Pattern:
    width = int(form.split("_")[2])
    slots, lane = BYTES // width, np.arange(WARP)
    scattered = rng.integers(0, slots, WARP)
    slot = [
        scattered,
        lane * rng.integers(0, 70) + rng.integers(0, slots),  # strided
        scattered // (128 // width) * (128 // width) + rng.integers(0, 3),  # in the same few banks
        rng.permutation(WARP) // rng.integers(1, 5) + rng.integers(0, slots),  # groups in one place
        scattered[lane & ~rng.integers(0, 4)],  # neighbours in one place, in pairs or fours
    ][rng.integers(0, 5)]
    active = rng.random(WARP) < rng.choice([0.1, 0.5, 0.9, 1.0])
    active[rng.integers(0, WARP)] = True
    return Pattern(form, tuple(np.where(active, slot % slots * width, -1).tolist()))


def emulated(pattern: Pattern, arch: str) -> dict[str, int]:
    """What the emulator counts."""
    image = compile_source(SOURCE, arch).image(pattern.form)
    memory = Memory()
    offsets = memory.bind(np.array(pattern.offsets, dtype=np.int32), "offsets")
    data = memory.bind(np.zeros(BYTES, dtype=np.uint8), "data")
    done = emulate(image.ptx, image.symbol, memory, grid=(1, 1, 1), block=(WARP, 1, 1), arguments=[offsets, data])
    return emulated_counters(done.accesses)


def launch_all(count: str, seed: str) -> None:
    """Launch each pattern on the first GPU: what the test profiles."""
    from cornerturn.gpu import open_device

    device = open_device()
    module = compile_source(SOURCE, device.facts.arch)
    functions = {form: device.load(module.cubin, module.symbols[form], form) for form in FORMS}
    with device.allocate(BYTES) as data:
        for pattern in patterns(int(count), int(seed)):
            with device.upload(np.array(pattern.offsets, dtype=np.int32)) as offsets:
                functions[pattern.form].launch((1, 1, 1), (WARP, 1, 1), [offsets, data])


if __name__ == "__main__":
    import sys

    launch_all(*sys.argv[1:])
