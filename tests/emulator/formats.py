"""IEEE binary formats as exact fractions: what a number's bits are worth, and which bits come nearest to a value."""

from fractions import Fraction

from hypothesis import strategies as st


class Format:
    """An IEEE binary format of ``precision`` significant bits and least exponent ``least``."""

    def __init__(self, bits: int, precision: int, least: int) -> None:
        self.bits, self.precision, self.least = bits, precision, least
        self.infinity = (2 ** (bits - precision) - 1) << (precision - 1)

    def value(self, bits: int) -> Fraction:
        """The exact value of a finite number."""
        sign, rest = divmod(bits, 2 ** (self.bits - 1))
        exponent, fraction = divmod(rest, 2 ** (self.precision - 1))
        significand = fraction + (2 ** (self.precision - 1) if exponent else 0)
        power = max(exponent - 1, 0) + self.least - (self.precision - 1)
        return (-1) ** sign * significand * Fraction(2) ** power

    def nearest(self, exact: Fraction) -> int:
        """Bits of the number nearest to a value that is not zero, ties to even."""
        size, sign = abs(exact), int(exact < 0) << (self.bits - 1)
        exponent = size.numerator.bit_length() - size.denominator.bit_length()
        exponent -= size < Fraction(2) ** exponent
        exponent = max(exponent, self.least)
        units = round(size / Fraction(2) ** (exponent - self.precision + 1))  # Python rounds ties to even
        return sign | min(units + ((exponent - self.least) << (self.precision - 1)), self.infinity)


FORMATS = {
    "f16": Format(16, 11, -14),
    "bf16": Format(16, 8, -126),
    "f32": Format(32, 24, -126),
    "f64": Format(64, 53, -1022),
}


def near(bits: st.SearchStrategy[int], form: Format) -> st.SearchStrategy[int]:
    """Finite numbers, most of them near 1, where sums and products get in each other's way."""
    one = (2 ** (form.bits - form.precision - 1) - 1) << (form.precision - 1)
    spread = min(1 << (form.precision + 3), one // 2)
    near_one = st.builds(
        lambda n, sign: (one + n % (2 * spread) - spread) | sign << (form.bits - 1), bits, st.booleans()
    )
    anywhere = bits.map(lambda n: n % 2**form.bits).filter(lambda n: n % 2 ** (form.bits - 1) < form.infinity)
    return st.one_of(near_one, anywhere)
