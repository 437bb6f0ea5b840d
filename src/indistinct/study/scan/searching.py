"""Many values searched in many bytes at once: by their first bytes, as whole numbers, and then letter by letter."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from indistinct.machine.arrays import Codes

# Values are told by their first bytes, as many of these as they have.
WIDTHS = (8, 6, 4)
SHORTEST = WIDTHS[-1]
BLOCK = 1 << 22
# Places that are compared letter by letter: where more look alike, the rest is not compared.
MOST_PLACES = 1 << 19
_LETTERS = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") | frozenset(range(128, 256))


def found_in(values: Sequence[bytes], content: bytes, *, whole: bool = False) -> list[int]:
    """Return the numbers of the values that occur in some bytes; with `whole`, as whole words only.

    Every value has at least four bytes.

    >>> found_in([b"Oslo", b"Bergen", b"Emil"], b"from Bergen: Emily", whole=True)
    [1]
    """
    found: set[int] = set()
    for width, longer in zip(WIDTHS, (None, *WIDTHS), strict=False):
        own = [n for n, value in enumerate(values) if width <= len(value) and (longer is None or len(value) < longer)]
        if own:
            found.update(_of_width(width, own, values, content, whole=whole))
    return sorted(found)


def _of_width(width: int, own: list[int], values: Sequence[bytes], content: bytes, *, whole: bool) -> Iterator[int]:
    by_start: dict[bytes, list[int]] = defaultdict(list)
    for number in own:
        by_start[values[number][:width]].append(number)
    starts = np.unique(np.array([int.from_bytes(start, "little") for start in by_start], dtype=np.uint64))
    ahead, compared = set(own), 0
    for begin in range(0, len(content), BLOCK):
        block = content[begin : begin + BLOCK + width - 1]
        for place in _alike(block, starts, width):
            compared += 1
            if compared > MOST_PLACES or not ahead:
                return
            here = begin + place
            for number in by_start[content[here : here + width]]:
                value = values[number]
                if number in ahead and content.startswith(value, here) and (not whole or _alone(content, here, value)):
                    ahead.discard(number)
                    yield number


def _alike(block: bytes, starts: Codes, width: int) -> list[int]:
    """Return where bytes begin as one of the values does."""
    cells = np.frombuffer(block, dtype=np.uint8)
    if len(cells) < width:
        return []
    words = np.zeros(len(cells) - width + 1, dtype=np.uint64)
    for step in range(width):
        words |= cells[step : step + len(words)].astype(np.uint64) << np.uint64(8 * step)
    # A coarse look first: few words pass it, and only these are looked up.
    marked = np.zeros(1 << 16, dtype=bool)
    marked[_coarse(starts)] = True
    likely = np.flatnonzero(marked[_coarse(words)])
    places = np.minimum(np.searchsorted(starts, words[likely]), len(starts) - 1)
    alike: list[int] = likely[starts[places] == words[likely]].tolist()
    return alike


def _coarse(words: Codes) -> Codes:
    mixed: Codes = (words * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(48)
    return mixed


def _alone(content: bytes, here: int, value: bytes) -> bool:
    end = here + len(value)
    before, after = content[here - 1 : here] if here else b"", content[end : end + 1]
    return not (before and before[0] in _LETTERS) and not (after and after[0] in _LETTERS)
