"""Numbers with their noun, as a sentence has them."""


def counted(number: int, noun: str) -> str:
    """Return a number and its noun, which has a plural in s.

    Example:
        >>> counted(1, "kernel"), counted(2, "kernel"), counted(1200, "byte")
        ('1 kernel', '2 kernels', '1200 bytes')
    """
    return f"{number} {noun if number == 1 else noun + 's'}"


def of_all(number: int, total: int, noun: str) -> str:
    """Return how many of all, with the verb that says what they are.

    Example:
        >>> of_all(1, 1, "element"), of_all(1, 12, "element"), of_all(3, 12, "element")
        ('1 of 1 element is', '1 of 12 elements is', '3 of 12 elements are')
    """
    return f"{number} of {counted(total, noun)} {'is' if number == 1 else 'are'}"
