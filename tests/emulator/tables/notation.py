"""How the tables write a test row: an instruction, its register types, source bits and expected bits."""

import struct
from dataclasses import dataclass


def f16(value: float) -> int:
    return int.from_bytes(struct.pack("<e", value), "little")


def f32(value: float) -> int:
    return int.from_bytes(struct.pack("<f", value), "little")


def f64(value: float) -> int:
    return int.from_bytes(struct.pack("<d", value), "little")


def bf16(value: float) -> int:
    """Of a value that bf16 holds exactly."""
    return f32(value) >> 16


def s(value: int, bits: int = 32) -> int:
    """Two's complement."""
    return value % 2**bits


@dataclass(frozen=True)
class Case:
    """``lines`` compute ``%d`` from ``%a``, ``%b``, ... of the signature's types; each row is (sources, bits of d)."""

    signature: str
    lines: str
    rows: tuple[tuple[tuple[int, ...], int], ...]


def case(signature: str, lines: str, *rows: tuple[tuple[int, ...], int]) -> Case:
    return Case(signature, lines, rows)


MIN32, MAX32, ONES = 0x8000_0000, 0x7FFF_FFFF, 0xFFFF_FFFF
MIN64, MAX64, ONES64 = 1 << 63, (1 << 63) - 1, (1 << 64) - 1
NAN16, NAN32 = 0x7FFF, 0x7FFF_FFFF  # canonical
