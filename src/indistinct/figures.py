"""Numbers as people read them, spelled the same on the screen, in warnings, in policies and in pictures.

What a recoding costs, or what a model counted, must not be rounded to none or to all.
"""

from collections.abc import Collection

# So many hundredths from none or from all, a share says only on which side it lies.
FINEST = 0.01
HIDDEN = "[hidden]"
"""What stands in a sentence for others where a count was."""


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


def plural(count: int, one: str, several: str | None = None) -> str:
    """Return a number with its noun.

    >>> plural(1, "row"), plural(2000, "category", "categories")
    ('1 row', '2,000 categories')
    """
    return f"{count:,} {one if count == 1 else several or one + 's'}"


def rows_of_all(some: int, rows: int) -> str:
    """Return how many of all rows, in numbers and as a share.

    >>> rows_of_all(3871, 4000)
    '3,871 of 4,000 rows (96.8 %)'
    """
    return f"{some:,} of {rows:,} rows ({percent(some / rows if rows else 0.0)})"


class Told(str):
    """A sentence with counts, which can be told again without them: a count may be too small for others.

    The name of a count begins with what is counted: rows, people or classes.

    >>> told = Told("{rows} row(s) are suppressed, {rows_age} of them for 'age'", rows=1200, rows_age=3)
    >>> told
    "1,200 row(s) are suppressed, 3 of them for 'age'"
    >>> told.hiding(["rows"])
    "[hidden] row(s) are suppressed, [hidden] of them for 'age'"
    """

    template: str
    counts: dict[str, int]

    def __new__(cls, template: str, **counts: int) -> "Told":  # noqa: D102 (as the class says)
        told = super().__new__(cls, template.format(**{name: f"{count:,}" for name, count in counts.items()}))
        told.template, told.counts = template, counts
        return told

    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, int]]:
        return (self.template,), self.counts

    def hiding(self, units: Collection[str]) -> str:
        """Return the sentence without the counts of some units, but for those that are 0."""
        shown = {
            name: HIDDEN if count and unit_of(name) in units else f"{count:,}" for name, count in self.counts.items()
        }
        return self.template.format(**shown)


def unit_of(name: str) -> str:
    """Return what a count of that name counts.

    >>> unit_of("rows_age")
    'rows'
    """
    return name.partition("_")[0]


def literal(text: str) -> str:
    """Return a text as it stands in the template of a sentence, such as the name of a column.

    >>> str(Told(f"column {literal('{a}')} in {{rows}} row(s)", rows=2))
    'column {a} in 2 row(s)'
    """
    return text.replace("{", "{{").replace("}", "}}")
