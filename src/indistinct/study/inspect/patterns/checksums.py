"""Check digits: whether a text of digits and letters is a number that somebody issued, by the rule of its issuer."""

from collections.abc import Iterable, Sequence

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def digits_of(text: str) -> list[int]:
    """Return the digits of a text as numbers.

    >>> digits_of("12-34")
    [1, 2, 3, 4]
    """
    return [int(mark) for mark in text if mark in "0123456789"]


def sum_weighted(digits: Iterable[int], weights: Iterable[int]) -> int:
    """Return the sum of digits times weights; the shorter of both ends it."""
    return sum(digit * weight for digit, weight in zip(digits, weights, strict=False))


def luhn(text: str) -> bool:
    """Return whether the last digit is right by Luhn (1960): every second digit from the right counts double.

    >>> luhn("4111 1111 1111 1111"), luhn("4111 1111 1111 1112")
    (True, False)
    """
    found = digits_of(text)[::-1]
    return (sum(found[::2]) + sum(sum(divmod(2 * digit, 10)) for digit in found[1::2])) % 10 == 0


def mod_97(text: str) -> int:
    """Return the rest of a text by 97 as ISO 7064 has it: letters are numbers from 10 on.

    >>> mod_97("3214282912345698765432161182")
    1
    """
    return int("".join(str(int(mark, 36)) for mark in text)) % 97


def mod_11_10(digits: Sequence[int]) -> bool:
    """Return whether the last digit is right by ISO 7064, Mod 11,10."""
    rest = 10
    for digit in digits[:-1]:
        rest = ((rest + digit) % 10 or 10) * 2 % 11
    return (11 - rest) % 10 == digits[-1]


def verhoeff(text: str) -> bool:
    """Return whether the last digit is right by Verhoeff (1969): a product in the group of a regular pentagon.

    >>> verhoeff("2363"), verhoeff("2364")
    (True, False)
    """
    product, order = 0, list(range(10))
    for digit in digits_of(text)[::-1]:
        product = _pentagon(product, order[digit])
        order = [order[place] for place in (1, 5, 7, 6, 2, 8, 3, 0, 9, 4)]
    return product == 0


def _pentagon(one: int, other: int) -> int:
    """Return the product of two of the ten motions of a pentagon: turns 0 to 4, mirrors 5 to 9."""
    if one < 5:
        return (one + other) % 5 if other < 5 else 5 + (one + other) % 5
    return 5 + (one - other) % 5 if other < 5 else (one - other) % 5
