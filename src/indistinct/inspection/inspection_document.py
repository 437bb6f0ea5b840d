"""An inspection as a document: columns and the roles that are suggested, and which few columns single people out."""

from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

from indistinct.document.blocks import Block, Cell, Document, Grid, JsonValues, Paragraph, Section, Words, grid, listing
from indistinct.document.html import page_html
from indistinct.figures import percent, plural, short
from indistinct.inspection.patterns.safe_harbor import IDENTIFIERS, RULE
from indistinct.release.writing.files import write_atomically
from indistinct.release.writing.staging import filled

if TYPE_CHECKING:
    from indistinct.inspection.value import Inspection

MAX_COLUMNS_OF_PAIRS = 12
"""Number of columns up to which pairs are shown."""
HIGH_SHARE = 0.05
"""Share of unique rows or people from which a set of columns is marked."""
MAX_SETS_SHOWN = 8
HEADINGS: dict[str, tuple[str, Words]] = {
    "role": ("role", lambda role: "quasi-identifier" if role == "quasi" else role),
    "type": ("type", str),
    "distinct": ("distinct", short),
    "missing": ("missing", short),
    "unique_share": ("unique", percent),
    "smallest_group": ("smallest class", short),
    "involved_share": ("part of unique sets", percent),
}
"""What is shown of a column: the heading and the form of each figure."""


def inspection_document(
    inspection: "Inspection", *, name: str = "", values: bool = False, pairs: bool = False
) -> Document:
    """Return an inspection as a document; `values` adds values of the table, `pairs` each pair of columns."""
    profile = JsonValues("inspect", inspection.to_json(values=values))
    rows = plural(inspection.rows, "row")
    people = f" of {plural(inspection.people, 'person', 'people')}" if inspection.people else ""
    size = f"{rows}{people} and {plural(len(inspection.columns), 'column')}"
    singling = (*_combination_blocks(profile, inspection), *(_pair_blocks(inspection) if pairs else ()))
    sections = [
        Section("columns", "Columns and suggested roles", (_column_grid(profile), *_notes(inspection))),
        Section("reasons", "Why these roles", tuple(_reason_blocks(inspection, values=values))),
        Section("sets", "Columns that single people out together", singling),
    ]
    if values:
        frequent = [f"{c.name}: {', '.join(f'{value} ({n:,})' for value, n in c.frequent)}" for c in inspection.columns]
        sections.append(Section("values", "Most frequent values", listing(frequent)))
    unique = f"{percent(inspection.unique_share)} of the rows are unique on the suggested quasi-identifiers"
    title = f"{name}: {size}" if name else f"Inspection of {size}: {unique}"
    return Document(title, tuple(sections))


def _column_grid(values: JsonValues) -> Grid:
    """Return the table of columns."""
    rows: list[tuple[Cell, ...]] = [
        (each["name"], *(values.figure("columns", index, key, words=words) for key, (_, words) in HEADINGS.items()))
        for index, each in enumerate(values.at("columns"))
    ]
    headings = tuple(heading for heading, _ in HEADINGS.values())
    return grid("Columns and suggested roles", ("column", *headings), rows, right=headings[2:], most=len(rows))


def _notes(inspection: "Inspection") -> Iterator[Block]:
    """Yield warnings and notes."""
    yield from listing((*inspection.warnings, *inspection.left_out, *inspection.notes))
    yield Paragraph(
        "Suggestions are where a decision begins; the publisher decides. Part of unique sets: the share of rows or "
        "people whom a smallest set of columns with this column singles out."
    )


def _reason_blocks(inspection: "Inspection", *, values: bool) -> Iterator[Block]:
    """Yield the reasons of the suggested roles."""
    if inspection.rows == 1:
        yield Paragraph("One row does not show which columns point at people: inspect a table with more rows.")
    else:
        yield from listing(f"{each.name}: {each.reason}; {each.figure}" for each in inspection.columns)
    called = inspection.labels_in_words(values=values)
    if called:
        yield Paragraph("What columns are called:")
        yield from listing(called)
    partly = [(column.name, each) for column in inspection.columns for each in column.partly]
    if partly:
        yield Paragraph("In some values:")
        yield from listing(
            f"{name}: {percent(each.share)} of {each.judged:,} distinct values are {each.meaning}"
            for name, each in partly
        )
    asked = [(each.name, each.safe_harbor) for each in inspection.columns if each.safe_harbor is not None]
    if asked:
        yield Paragraph(f"Identifiers of the HIPAA list, as a hint ({RULE}), and what its safe harbor asks:")
        groups = {one: [name for name, other in asked if other == one] for _, one in asked}
        yield from listing(
            f"({one.letter}) {IDENTIFIERS[one.letter]}: {', '.join(names)}: {one.asks}" for one, names in groups.items()
        )
    findings = [f"{column.name}: {finding}" for column in inspection.columns for finding in column.findings]
    if findings:
        yield Paragraph("How the file is written:")
        yield from listing(findings)


def _combination_blocks(values: JsonValues, inspection: "Inspection") -> Iterator[Block]:
    """Yield the column sets with uniques."""
    together = inspection.combinations
    unit = together.unit
    if not together.found.size:
        yield Paragraph("No sets of columns were searched: no column has more than one value.")
    elif not together.sets:
        yield Paragraph(f"No set of up to {together.found.size} columns singles out any of the {unit}.")
    else:
        yield _set_grid(values, inspection)
        yield Paragraph(
            f"An attacker who knows these values of a person singles that person out among {together.members:,} "
            f"{unit}. The last column counts those for whom no part of the columns is enough. "
            f"{len(together.found.singling_out()):,} sets of up to {together.found.size} columns single out {unit}."
        )
        rows: list[tuple[Cell, ...]] = [
            (size, values.figure("combinations", "by_size", size, words=percent))
            for size in values.at("combinations", "by_size")
        ]
        share = f"share of the {unit}"
        yield grid(f"How many columns single out {unit}", ("columns needed", share), rows, right=[share])
    yield from listing(together.notes)
    if inspection.schema.quasi:
        yield Paragraph(
            f"On {', '.join(inspection.schema.quasi)} together {inspection.unique_rows:,} rows "
            f"({percent(inspection.unique_share)}) are unique; the smallest class has {inspection.smallest_class:,}."
        )


def _set_grid(values: JsonValues, inspection: "Inspection") -> Grid:
    """Return the table of column sets."""
    together = inspection.combinations
    rows: list[tuple[Cell, ...]] = []
    for index, each in enumerate(together.sets):
        path = ("combinations", "sets", index)
        share = values.figure(*path, "unique_share", words=percent)
        rows.append((" + ".join(each.columns), values.figure(*path, "unique"), share, values.figure(*path, "minimal")))
    marked = [index for index, each in enumerate(together.sets) if together.share(each) >= HIGH_SHARE]
    headings = ("columns together", f"unique {together.unit}", "share", "all needed")
    caption = f"Sets of columns, those with {percent(HIGH_SHARE)} or more marked"
    return grid(caption, headings, rows, right=headings[1:], marked=marked, most=MAX_SETS_SHOWN)


def _pair_blocks(inspection: "Inspection") -> Iterator[Block]:
    """Yield which share each pair of columns singles out, of those that were looked at."""
    together = inspection.combinations
    names = together.columns
    if not 2 <= len(names) <= MAX_COLUMNS_OF_PAIRS or together.found.size < 2:
        return
    unique = {frozenset(each.columns): each.unique for each in together.found.sets if len(each.columns) <= 2}
    shares = {pair: count / together.looked_at for pair, count in unique.items()}
    rows = [(one, *(percent(shares[frozenset((one, other))]) for other in names)) for one in names]
    strong = [
        index
        for index, one in enumerate(names)
        if any(shares[frozenset(pair)] >= HIGH_SHARE for pair in combinations(names, 2) if one in pair)
    ]
    yield Paragraph(
        f"Of each pair of columns, the share of the {together.unit} unique on both; of one column where both are equal:"
    )
    yield grid("Every pair of columns", ("", *names), rows, right=names, marked=strong)


def write_inspection_page(
    inspection: "Inspection", path: str | Path, *, name: str, values: bool = False, overwrite: bool = False
) -> Path:
    """Write the page about a table, readable by its owner alone; it has no cell values without `values`."""
    target = Path(path)
    text = inspection_page(inspection, name=name, values=values)
    write_atomically(target, filled(text), overwrite=overwrite, private=True)
    return target


def inspection_page(inspection: "Inspection", *, name: str, values: bool = False) -> str:
    """Return one page about a table of that name: columns, roles and combinations; `values` adds values."""
    whole = inspection_document(inspection, name=name, values=values, pairs=True)
    return page_html(whole, byline="For those who have the table: small groups are counted here.")
