"""Numbers as text for people, in one form on the screen, in warnings, in policies and in pictures."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

# Shares nearer to 0 or 100 % than this number of percentage points are written as "less than" or "more than" it.
MIN_PERCENT_SHOWN = 0.01
# Numbers below this are written as smaller than it.
SMALLEST = 0.0001
HIDDEN = "[hidden]"
"""The text in place of a count that readers of a release must not see."""
SINGULAR = {"rows": "row", "people": "person", "classes": "class"}


def number(value: float) -> str:
    """Return a number: whole ones whole up to a quadrillion, others to six digits.

    >>> number(1234.0), number(0.12345678)
    ('1,234', '0.123457')
    """
    return f"{int(value):,}" if float(value).is_integer() and abs(value) < 1e15 else f"{value:.6g}"


def short(value: float) -> str:
    """Return a number with three digits, or more where three would round it to 0 or 1.

    >>> short(0.0833333), short(12345.678), short(1.42917e-06), short(0.9998), short(1234.0), short(11.9955)
    ('0.0833', '12,346', '< 0.0001', '0.9998', '1,234', '12.0')
    """
    if float(value).is_integer() or value != value or abs(value) == float("inf"):
        return number(value) if float(value).is_integer() else f"{value:g}"
    if abs(value) < SMALLEST:
        return f"{'< ' if value > 0 else '> -'}{SMALLEST:.4f}"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    digits = f"{value:.3g}"
    if not float(digits).is_integer() or abs(value) >= 100:
        return digits
    return f"{value:.1f}" if abs(float(digits)) > 1 else f"{value:.6g}"


def percent(share: float) -> str:
    """Return a share in percent; small shares are not written as 0 %, and large ones not as 100 %.

    >>> percent(0.9996), percent(0.999999), percent(1), percent(0.00001), percent(0.0625)
    ('99.96 %', '> 99.99 %', '100 %', '< 0.01 %', '6.25 %')
    """
    hundredths = 100 * share
    if 0 < hundredths < MIN_PERCENT_SHOWN:
        return f"< {MIN_PERCENT_SHOWN} %"
    if 100 - MIN_PERCENT_SHOWN < hundredths < 100:
        return f"> {100 - MIN_PERCENT_SHOWN} %"
    if hundredths >= 1000:
        return f"{hundredths:,.0f} %"
    short = f"{hundredths:.3g}"
    return f"{hundredths:.2f} %" if short == "100" and share < 1 else f"{short} %"


def plural(count: int, one: str, several: str | None = None) -> str:
    """Return a number with its noun.

    >>> plural(1, "row"), plural(2000, "category", "categories")
    ('1 row', '2,000 categories')
    """
    return f"{count:,} {one if count == 1 else several or one + 's'}"


def count_unit(count: int, unit: str) -> str:
    """Return a number of rows, people or classes with its noun.

    >>> count_unit(1, "people"), count_unit(3, "rows")
    ('1 person', '3 rows')
    """
    return plural(count, SINGULAR.get(unit, unit), unit)


def rows_of_all(some: int, rows: int) -> str:
    """Return a number of rows as number and share of all rows.

    >>> rows_of_all(3871, 4000)
    '3,871 of 4,000 rows (96.8 %)'
    """
    return f"{some:,} of {rows:,} rows ({percent(some / rows if rows else 0.0)})"


def share_above(rows: int, total: int) -> float:
    """Return the smallest share with few digits that allows `rows` rows.

    >>> share_above(1, 3), share_above(20, 1000)
    (0.4, 0.02)
    """
    for digits in range(1, 12):
        share = -(-rows * 10**digits // total) / 10**digits
        if share * total < rows + max(total / 1000, 1):
            return share
    return rows / total


class Sentence(str):
    """A sentence with counts, which can be written again without them: a small count may be confidential.

    The name of a count begins with what is counted: rows, people or classes. A count may choose the words after it:
    the first for one, the second for several. `kind` names the subject of the sentence, for programs.

    >>> sentence = Sentence("{rows} row(s) are suppressed, {rows_age} of them for 'age'", rows=1200, rows_age=3)
    >>> sentence
    "1,200 row(s) are suppressed, 3 of them for 'age'"
    >>> hide_counts(sentence, ["rows"])
    "[hidden] row(s) are suppressed, [hidden] of them for 'age'"
    >>> Sentence("{people:person is|people are} unique", people=1)
    '1 person is unique'
    """

    template: str
    kind: str
    counts: dict[str, int]

    def __new__(cls, template: str, kind: str = "", /, **counts: int) -> "Sentence":  # noqa: D102 (as the class says)
        sentence = super().__new__(cls, template.format(**{name: _Count(count) for name, count in counts.items()}))
        sentence.template, sentence.kind, sentence.counts = template, kind, counts
        return sentence

    def __getnewargs_ex__(self) -> tuple[tuple[str, str], dict[str, int]]:
        return (self.template, self.kind), self.counts


def kind_of(text: str) -> str:
    """Return the kind of a sentence, empty if it has none."""
    return text.kind if isinstance(text, Sentence) else ""


def counts_of(text: str) -> Mapping[str, int]:
    """Return the counts of a sentence by name."""
    return text.counts if isinstance(text, Sentence) else {}


def hide_counts(text: str, units: Collection[str]) -> str:
    """Return a sentence without the counts of some units; counts of 0 are kept."""
    if not isinstance(text, Sentence):
        return text
    counts = {name: _Count(count, hidden=bool(count) and unit_of(name) in units) for name, count in text.counts.items()}
    return text.template.format(**counts)


@dataclass(frozen=True, slots=True)
class _Count:
    """A count in a template: alone, or followed by the words for one or for several."""

    count: int
    hidden: bool = False

    def __format__(self, words: str) -> str:
        text = HIDDEN if self.hidden else f"{self.count:,}"
        one, _, several = words.partition("|")
        return f"{text} {one if self.count == 1 and not self.hidden else several}" if words else text


def unit_of(name: str) -> str:
    """Return the unit of a count from its name.

    >>> unit_of("rows_age")
    'rows'
    """
    return name.partition("_")[0]


def literal(text: str) -> str:
    """Return a text escaped for the template of a sentence, such as the name of a column.

    >>> str(Sentence(f"column {literal('{a}')} in {{rows}} row(s)", rows=2))
    'column {a} in 2 row(s)'
    """
    return text.replace("{", "{{").replace("}", "}}")
