"""Numbers with their noun, as a sentence has them."""


def counted(number: int, noun: str) -> str:
    """Return a number and its noun, which has a plural in s.

    Example:
        >>> counted(1, "kernel"), counted(2, "kernel"), counted(1200, "byte")
        ('1 kernel', '2 kernels', '1200 bytes')
    """
    return f"{number} {noun if number == 1 else noun + 's'}"
