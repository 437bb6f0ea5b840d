"""A page about a table that was looked at: its columns, and which few of them single people out, without a script."""

from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

from indistinct.drawing import page
from indistinct.figures import percent
from indistinct.release.writing.files import write_atomically
from indistinct.release.writing.staging import filled
from indistinct.study.inspect.patterns.safe_harbor import IDENTIFIERS, RULE
from indistinct.study.inspect.value import ColumnProfile, Inspection

# Columns up to which pairs are shown side by side.
WIDEST = 12
# From this share of all on, a set stands out.
MANY = 0.05


def write_inspection_page(
    found: Inspection, path: str | Path, *, name: str, values: bool = False, overwrite: bool = False
) -> Path:
    """Write the page about a table, for its owner alone; return the path. It holds no cell unless `values` asks."""
    place = Path(path)
    text = inspection_page(found, name=name, values=values)
    write_atomically(place, filled(text), overwrite=overwrite, private=True)
    return place


def inspection_page(found: Inspection, *, name: str, values: bool = False) -> str:
    """Return one page about a table of that name: combinations, columns and the HIPAA list; `values` adds values."""
    parts = [
        page.paragraph(
            f"{name}: {found.rows:,} rows"
            + (f" of {found.people:,} people" if found.people else "")
            + f", {len(found.columns):,} columns. For those who have the table: small groups are counted here."
        ),
        *(page.paragraph(f"{words}.") for words in found.sample_in_words),
        *_combinations(found),
        *_pairs(found),
        *_columns(found, values=values),
        *_safe_harbor(found),
    ]
    if values:
        rows = [
            (each.name, ", ".join(f"{value} ({rows:,})" for value, rows in each.frequent)) for each in found.columns
        ]
        parts += [page.heading("Most frequent values"), page.table(("column", "values"), rows)]
    return page.page("What is risky in this table", parts)


def _combinations(found: Inspection) -> Iterator[str]:
    together = found.combinations
    yield page.heading("Columns that single people out together")
    if not together.sets:
        yield page.paragraph(f"No set of up to {together.found.size} columns singles anybody out.")
        return
    yield page.paragraph(
        f"Whoever knows these values of somebody finds that one among {together.members:,} {together.unit}. The last "
        "column counts those of whom every one of these columns is needed: no part of them is enough."
    )
    rows = [
        (" + ".join(each.columns), f"{each.unique:,}", percent(together.share(each)), f"{each.minimal:,}")
        for each in together.sets
    ]
    many = [place for place, each in enumerate(together.sets) if together.share(each) >= MANY]
    heads = ("columns", f"{together.unit} alone", "share", "all columns needed")
    yield page.table(heads, rows, right=heads[1:], marked=many)
    yield page.paragraph(f"Marked: sets that single out {percent(MANY)} of all or more.", small=True)
    sizes = [(str(size), percent(count / together.looked_at)) for size, count in together.found.by_size.items()]
    yield page.table(
        ("columns needed", f"share of the {together.unit}"), sizes, right=("share of the " + together.unit,)
    )
    for note in together.notes:
        yield page.paragraph(note, small=True)


def _pairs(found: Inspection) -> Iterator[str]:
    """Yield which share each pair of columns singles out, of those that were looked at."""
    together = found.combinations
    names = together.columns
    if not 2 <= len(names) <= WIDEST or together.found.size < 2:
        return
    unique = {frozenset(each.columns): each.unique for each in together.found.sets if len(each.columns) <= 2}
    shares = {names_of: count / together.looked_at for names_of, count in unique.items()}
    rows = [(one, *(percent(shares[frozenset((one, other))]) for other in names)) for one in names]
    strong = [
        place
        for place, one in enumerate(names)
        if any(shares[frozenset(pair)] >= MANY for pair in combinations(names, 2) if one in pair)
    ]
    yield page.heading("Every pair of columns")
    yield page.paragraph(
        f"The share of the {together.unit} alone with their values; of one column where both are the same."
    )
    yield page.table(("", *names), rows, right=names, marked=strong)


def _columns(found: Inspection, *, values: bool) -> Iterator[str]:
    yield page.heading("Columns, and the roles that are suggested")
    for note in found.notes:
        yield page.paragraph(note)
    heads = ("column", "type", "distinct", "missing", "unique", "part of a set", "role", "why")
    yield page.table(heads, [_row(each, found) for each in found.columns], right=heads[2:6])
    yield page.paragraph(
        "Suggestions are where a decision begins; whoever publishes decides. Part of a set: the share of whom the "
        "column belongs to a smallest set that singles them out.",
        small=True,
    )
    told = found.labels_in_words(values=values)
    if told:
        yield page.heading("What columns and codes are called")
        yield page.listing(told)
    partly = [
        f"{each.name}: {percent(one.share)} of {one.judged:,} distinct values are {one.meaning}"
        for each in found.columns
        for one in each.partly
    ]
    if partly:
        yield page.heading("In some values")
        yield page.listing(partly)


def _row(column: ColumnProfile, found: Inspection) -> tuple[str, ...]:
    involved = found.combinations.involved(column.name)
    return (
        column.name,
        str(column.kind),
        f"{column.distinct:,}",
        f"{column.missing:,}",
        percent(column.unique_share),
        "–" if involved is None else percent(involved),
        str(column.role),
        f"{column.reason}; {column.figure}",
    )


def _safe_harbor(found: Inspection) -> Iterator[str]:
    listed = [(each.name, each.safe_harbor) for each in found.columns if each.safe_harbor is not None]
    if listed:
        yield page.heading("The HIPAA list")
        yield page.paragraph(f"What columns seem to hold of the identifiers in {RULE}, and what its safe harbor asks.")
        rows = [(name, f"({one.letter}) {IDENTIFIERS[one.letter]}", one.asks) for name, one in listed]
        yield page.table(("column", "identifier", "safe harbor"), rows)
