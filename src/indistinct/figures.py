"""Numbers as people read them, spelled the same on the screen, in warnings, in policies and in pictures.

What a recoding costs, or what a model counted, must not be rounded to none or to all.
"""

# So many hundredths from none or from all, a share says only on which side it lies.
FINEST = 0.01


def number(value: float) -> str:
    """Return a number: whole ones whole up to a quadrillion, others to six digits.

    >>> number(1234.0), number(0.12345678)
    ('1,234', '0.123457')
    """
    return f"{int(value):,}" if float(value).is_integer() and abs(value) < 1e15 else f"{value:.6g}"


def percent(share: float) -> str:
    """Return a share: few are not none, and almost all are not all.

    >>> percent(0.9996), percent(0.999999), percent(1), percent(0.00001), percent(0.0625)
    ('99.96 %', '> 99.99 %', '100 %', '< 0.01 %', '6.25 %')
    """
    hundredths = 100 * share
    if 0 < hundredths < FINEST:
        return f"< {FINEST} %"
    if 100 - FINEST < hundredths < 100:
        return f"> {100 - FINEST} %"
    short = f"{hundredths:.3g}"
    return f"{hundredths:.2f} %" if short == "100" and share < 1 else f"{short} %"


def rows_of_all(some: int, rows: int) -> str:
    """Return how many of all rows, in numbers and as a share.

    >>> rows_of_all(3871, 4000)
    '3,871 of 4,000 rows (96.8 %)'
    """
    return f"{some:,} of {rows:,} rows ({percent(some / rows if rows else 0.0)})"
