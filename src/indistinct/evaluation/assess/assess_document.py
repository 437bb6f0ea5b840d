"""An assessment as a document: the risk before and after, what classes tell, rules of practice, and the verdict.

Everything is read from the JSON of an assessment, so that a report that withholds a figure has a document without it.
"""

from collections.abc import Iterator, Mapping
from itertools import takewhile
from typing import Any

from indistinct.document.blocks import (
    Block,
    Cell,
    Document,
    Figure,
    Grid,
    JsonValues,
    Listing,
    Paragraph,
    Section,
    Words,
    grid,
    listing,
)
from indistinct.document.translation import Own
from indistinct.evaluation.verdict import verdict_blocks
from indistinct.evaluation.verdict_line import STATES
from indistinct.figures import number, percent, plural, short
from indistinct.frequencies.structure import unit_of, units_of

MIN_SHARE_SHOWN = 0.5
"""From this share of a sensitive value on, the classes that tell most of it are shown."""
MAX_SETS_SHOWN = 10
ONE_OF = {"rows": "row", "people": "person"}
RISKS: tuple[tuple[str, tuple[str, ...], Words], ...] = (
    ("rows", ("rows",), short),
    ("{groups}", ("classes",), short),
    ("{unit} in the smallest {group}", ("smallest_class",), short),
    ("unique {unit}", ("uniques",), short),
    ("prosecutor: highest risk", ("prosecutor", "highest"), percent),
    ("prosecutor: average risk", ("prosecutor", "average"), percent),
    ("prosecutor: share above {threshold}", ("prosecutor", "at_risk"), percent),
    ("journalist: highest risk", ("journalist", "highest"), percent),
    ("journalist: average risk", ("journalist", "average"), percent),
    ("journalist: share above {threshold}", ("journalist", "at_risk"), percent),
    ("marketer: average risk", ("marketer", "average"), percent),
    ("unique in the population (Dankar)", ("population_uniques", "dankar"), percent),
    ("expected to be found (weights)", ("individual", "expected"), short),
)
"""The figures of risk: what they are called, their path, and the form of the number."""
OPTIONAL = ("population_uniques", "individual")
"""Figures that have a row only where they were computed."""
SENSITIVE: tuple[tuple[str, tuple[str, ...], Words], ...] = (
    ("largest share of a value", ("largest_share",), percent),
    ("mean largest share", ("mean_share",), percent),
    ("{unit} whose {group} has one value", ("homogeneous",), percent),
    ("l, distinct", ("l", "distinct"), short),
    ("l, entropy", ("l", "entropy"), short),
    ("c, recursive for l = 2", ("l", "recursive"), short),
    ("t, equal distance", ("t", "equal"), short),
    ("t, ordered distance", ("t", "ordered"), short),
    ("t, hierarchical distance", ("t", "hierarchical"), short),
    ("β", ("beta",), short),
    ("δ", ("delta",), short),
)
UNBOUNDED = (("beta",), ("delta",))
"""Figures that are null where they are infinite."""


def assess_document(values: JsonValues, *, name: str = "", with_classes: bool = True) -> Document:
    """Return an assessment as a document; `name` is the table's. Classes are named only `with_classes`."""
    blocks: list[Block] = [*risk_blocks(values), *column_grids(values)]
    for side in ("before", "after") if values.at("before") is not None else ("",):
        blocks += _unique_sets(values, side)
    blocks += attribute_blocks(values, telling=MIN_SHARE_SHOWN if with_classes else None)
    blocks += practice_blocks(values)
    blocks += limit_grids(values)
    headline = size_in_words(values)
    return Document(
        f"{name}: {headline}" if name else f"Assessment of {headline}",
        (Section("", "", tuple(blocks)), Section("verdict", "Verdict", verdict_blocks(values.at("verdict")))),
    )


def words_of_groups(values: JsonValues) -> dict[str, str]:
    """Return the words for rows with equal quasi-identifiers, or for buckets, and for what is counted."""
    form = values.at("form")
    return {"group": unit_of(form), "groups": units_of(form), "unit": str(values.at("unit"))}


def size_in_words(values: JsonValues) -> str:
    """Describe the size of a table and of its smallest class in one line."""
    words, people = words_of_groups(values), values.at("unit") == "people"
    whose = f" of {plural(values.at('members'), 'person', 'people')}" if people else ""
    smallest = plural(values.at("smallest_class"), ONE_OF[words["unit"]], words["unit"])
    groups = plural(values.at("classes"), words["group"], words["groups"])
    return f"{plural(values.at('rows'), 'row')}{whose} in {groups}, the smallest of {smallest}"


def risk_blocks(values: JsonValues) -> list[Block]:
    """Return the risk table, the basis of the journalist risk, and a count for comparison with sdcMicro."""
    blocks: list[Block] = [risk_grid(values), *compatible_blocks(values)]
    basis = values.at("journalist", "basis")
    if values.at("form") is not None:
        blocks.append(Paragraph("Buckets are not compared with a population: both attackers have the same risk."))
    elif basis is not None:
        blocks.append(Paragraph(f"Risk of a journalist: {basis}."))
    return blocks


def compatible_blocks(values: JsonValues) -> list[Block]:
    """Return the count of sdcMicro, for comparison, where cells are suppressed."""
    least = values.at("fewest_compatible")
    if least is None:
        return []
    start = "Counted as sdcMicro does, where a suppressed cell matches everything"
    return [Paragraph(f"{start}, each row fits at least {plural(least, 'row')}; this is no guarantee.")]


def risk_grid(values: JsonValues) -> Grid:
    """Return the risk of a table and, where it is known, that of its original before it."""
    sides = ((), ("before",)) if values.at("before") is not None else ((),)
    words = words_of_groups(values) | {"threshold": percent(values.at("threshold"))}
    rows: list[tuple[Cell, ...]] = []
    for called, path, form in RISKS:
        if values.at(path[0]) is None or (path[0] in OPTIONAL and values.at(*path) is None):
            continue
        figures = [values.figure(*side, *path, words=_with_share(values, side, path, form)) for side in reversed(sides)]
        rows.append((called.format(**words), *figures))
    for size in values.at("class_sizes", "cumulative") or ():
        path = ("class_sizes", "cumulative", size)
        figures = [values.figure(*side, *path, words=percent) for side in reversed(sides)]
        rows.append((f"in {words['groups']} of at most {size}", *figures))
    headings = ("before", "after") if len(sides) > 1 else ("value",)
    return grid("Risk of re-identification", ("figure", *headings), rows, right=headings, most=len(rows))


def _with_share(values: JsonValues, side: tuple[str, ...], path: tuple[str, ...], form: Words) -> Words:
    """Return the form of a figure: with its share of all members, or with how it was estimated, where that is known."""
    members = values.at(*side, "members")
    match path:
        case ("uniques",) if members:
            return lambda value: f"{short(value)} ({percent(value / members)})"
        case ("population_uniques", _):
            used = values.at(*side, "population_uniques", "used")
            return lambda value: f"{percent(value)} ({used})"
        case ("individual", _):
            mean = values.at(*side, "individual", "mean")
            return lambda value: f"{number(round(value, 3))} ({percent(mean)})"
    return form


def column_grids(values: JsonValues) -> list[Grid]:
    """Return the risk without each column, and with the column published one level coarser."""
    columns = values.at("columns")
    if not columns:
        return []
    paths: tuple[tuple[tuple[str | int, ...], Words], ...] = (
        (("removed", "average"), percent),
        (("removed", "uniques"), short),
        (("levels", 0, "average"), percent),
    )
    rows = [(name, *(values.figure("columns", name, *path, words=form) for path, form in paths)) for name in columns]
    headings = ("average risk without it", f"unique {values.at('unit')} without it", "average risk one level up")
    return [grid("What each quasi-identifier adds to the risk", ("column", *headings), rows, right=headings)]


def _unique_sets(values: JsonValues, side: str) -> Iterator[Block]:
    """Yield which columns make people special uniques, and which sets of columns single out most of them."""
    start = ("before",) if side == "before" else ()
    prefix = f"{side}: " if side else ""
    special, sets = values.at(*start, "special_uniques"), values.at(*start, "unique_sets")
    if special is not None:
        yield Paragraph(
            f"{prefix}{special['special_uniques']:,} special uniques in up to {special['size']} columns, highest score "
            f"{short(special['highest_score'])}, highest DIS-SUDA {short(special['highest_dis_suda'])}"
        )
        shares = sorted(special["contributions"].items(), key=lambda each: -each[1])
        path = (*start, "special_uniques", "contributions")
        rows: list[tuple[Cell, ...]] = [(name, values.figure(*path, name, words=percent)) for name, _ in shares]
        caption = f"{prefix}part of each column in the scores of special uniques"
        yield grid(caption, ("column", "part of all scores"), rows, right=["part of all scores"])
    if sets is not None:
        unit = values.at(*start, "unit")
        least = ", ".join(f"{each['smallest']:,} of {each['size']}" for each in values.at(*start, "column_sets"))
        yield Paragraph(f"{prefix}the fewest {unit} that share values, by the number of columns: {least}")
        yield _set_grid(
            values, (*start, "unique_sets", "sets"), sets, f"{prefix}sets of columns that single out {unit}"
        )


def _set_grid(values: JsonValues, path: tuple[str, ...], sets: Mapping[str, Any], caption: str) -> Grid:
    """Return the table of column sets with their uniques."""
    rows: list[tuple[Cell, ...]] = [
        (", ".join(each["columns"]), *(values.figure(*path, index, key) for key in ("unique", "minimal")))
        for index, each in enumerate(sets["sets"])
    ]
    headings = ("unique", "unique in no part of them")
    several = plural(len(rows), "set")
    title = f"{caption}, of up to {sets['size']} ({several})"
    return grid(title, ("columns", *headings), rows, right=headings, most=MAX_SETS_SHOWN)


def attribute_blocks(values: JsonValues, *, telling: float | None) -> list[Block]:
    """Return tables on attribute disclosure; classes with a share of at least `telling` are listed, None for none."""
    columns = values.at("sensitive")
    if not columns:
        return []
    blocks: list[Block] = [sensitive_grid(values)]
    for name, each in columns.items():
        if telling is not None and each.get("worst") and each["largest_share"] >= telling:
            blocks.append(worst_grid(values, name))
    return blocks


def sensitive_grid(values: JsonValues, *, side: str | None = None) -> Grid:
    """Return the table of attribute disclosure by sensitive column; `side="before"` is the original."""
    start = () if side is None else (side,)
    columns: Mapping[str, Any] = values.at(*start, "sensitive") or {}
    words = words_of_groups(values)
    rows: list[tuple[Cell, ...]] = []
    for called, path, form in SENSITIVE:
        cells = [_sensitive_figure(values, (*start, "sensitive", name), path, form) for name in columns]
        if any(cell.value is not None or path in UNBOUNDED for cell in cells):
            rows.append((called.format(**words), *cells))
    caption = f"What a {words['group']} reveals about sensitive columns" + (" in the original" if side else "")
    return grid(caption, ("figure", *columns), rows, right=tuple(columns))


def _sensitive_figure(values: JsonValues, start: tuple[str, ...], path: tuple[str, ...], form: Words) -> Figure:
    """Return one figure of attribute disclosure."""
    if path == ("l", "recursive"):
        each_l = values.at(*start, *path) or ()
        index = next((index for index, each in enumerate(each_l) if each["l"] == 2), len(each_l))
        return values.figure(*start, *path, index, "c", words=form)
    return values.figure(*start, *path, words=form, **({"absent": "unbounded"} if path in UNBOUNDED else {}))


def worst_grid(values: JsonValues, name: str) -> Grid:
    """Return the table of the classes with the largest share of one sensitive value."""
    worst = values.at("sensitive", name, "worst")
    unit = str(values.at("unit"))
    rows: list[tuple[Cell, ...]] = []
    for index, each in enumerate(worst):
        cells = ["missing" if value is None else Own(value) for value in each["values"].values()]
        path = ("sensitive", name, "worst", index)
        figures = (values.figure(*path, "members"), values.figure(*path, "largest_share", words=percent))
        rows.append((*cells, *figures, values.figure(*path, "distinct")))
    counted = (unit, "largest share", "distinct values")
    caption = f"The classes that tell most of {name}, by what they publish"
    return grid(caption, (*worst[0]["values"], *counted), rows, right=counted)


def practice_blocks(values: JsonValues) -> list[Block]:
    """Return the rules of regulators and data holders, notes on those that are not passed, and their sources."""
    rules = values.at("practice") or ()
    rows: list[tuple[Cell, ...]] = [
        (
            rule["rule"],
            rule["asks"],
            values.figure("practice", index, "value"),
            values.figure("practice", index, "status", words=_status),
        )
        for index, rule in enumerate(rules)
    ]
    headings = ("rule", "asks for", "found", "verdict")
    table = grid("Rules of regulators and data holders", headings, rows, right=["found"], most=len(rows))
    notes = [f"{rule['rule']}: {rule['note']}" for rule in rules if rule["note"] and _needs_note(rule)]
    return [table, *listing(notes), Paragraph("Sources of these rules:"), Listing(_practice_sources(values))]


def _needs_note(rule: Mapping[str, Any]) -> bool:
    """Return whether a rule is answered by columns, or not at all: the note then says which columns, or why."""
    return rule["rule"].startswith(("safe-harbor", "wp216")) and rule["status"] != "passed"


def _practice_sources(values: JsonValues) -> tuple[str, ...]:
    """Return the source of rules, each once, behind the first words of its rules."""
    names: dict[str, list[str]] = {}
    for rule in values.at("practice") or ():
        names.setdefault(rule["source"], []).append(rule["rule"])
    return tuple(f"{_beginning(rules)}: {source}" for source, rules in names.items())


def _beginning(rules: list[str]) -> str:
    """Return the words that names begin with, or all names where they have none in common.

    >>> _beginning(["safe-harbor-ages", "safe-harbor-dates"]), _beginning(["cms-cells"])
    ('safe-harbor', 'cms-cells')
    """
    together = zip(*(rule.split("-") for rule in rules), strict=False)
    same = [parts[0] for parts in takewhile(lambda parts: len(set(parts)) == 1, together)]
    return "-".join(same) or ", ".join(rules)


def _status(status: str) -> str:
    return "FAILED" if status == "failed" else status


OWN = "the profile itself"
WITHOUT_LIMIT = ("promise", "identifiers", "sensitive-column", "identifying-values", "attack")
"""The kinds of lines of a verdict that fail without a limit of the profile."""


def limit_grids(values: JsonValues) -> list[Grid]:
    """Return each limit of the profile that a table was assessed by, and what was found; nothing without one.

    What fails without a limit, such as a sensitive column that points at rows, is a row too.
    """
    gate = values.at("profile")
    if gate is None:
        return []
    rows: list[tuple[Cell, ...]] = [
        (
            line["meaning"],
            values.figure("profile", "lines", index, "limit", words=percent),
            values.figure("profile", "lines", index, "value", words=percent, absent="not known"),
            values.figure("profile", "lines", index, "state", words=lambda state: STATES[state]),
            line["source"] or "a limit of your own",
        )
        for index, line in enumerate(gate["lines"])
    ]
    rows += [
        (
            line["words"],
            "",
            "",
            values.figure("verdict", "lines", index, "state", words=lambda state: STATES[state]),
            OWN,
        )
        for index, line in enumerate(values.at("verdict")["lines"])
        if line["state"] == "failed" and line["kind"] in WITHOUT_LIMIT
    ]
    headings = ("limit", "at most", "found", "verdict", "source")
    return [grid(f"Limits of the profile {gate['profile']}", headings, rows, right=("at most", "found"))]


def membership_grid(values: JsonValues, *, groups: str) -> Grid:
    """Return how many tuples a release makes possible, for each kind; `groups` are classes or buckets."""
    kinds, group = list(values.content), "class" if groups == "classes" else "bucket"
    lines: tuple[tuple[str, str], ...] = (
        ("candidate tuples", "candidates"),
        ("between, with a confidence of 95 %", "interval"),
        ("original tuples among them", "originals"),
        ("fake tuples", "fake"),
        ("fake tuples for each original one", "fake_per_original"),
        (f"originals that match one {group}", "unique_original"),
        (f"matching {groups} of an original, mean", "mean_matching_original"),
        (f"matching {groups} of a fake, mean", "mean_matching_fake"),
    )
    exact = all(values.at(kind, "exact") for kind in kinds)
    rows: list[tuple[Cell, ...]] = [
        (called, *(values.figure(kind, key, words=_membership_words(values, kind, key)) for kind in kinds))
        for called, key in lines
        if key != "interval" or not exact
    ]
    return grid("Tuples that the release makes possible", ("tuples", *kinds), rows, right=kinds)


def _membership_words(values: JsonValues, kind: str, key: str) -> Words:
    """Return the function that writes a figure of membership disclosure."""
    estimated = "" if values.at(kind, "exact") else " (estimated)"
    originals = values.at(kind, "originals")
    match key:
        case "candidates" | "fake":
            return lambda value: f"{number(round(value))}{estimated}"
        case "interval":
            return lambda ends: f"{number(round(ends[0]))} to {number(round(ends[1]))}"
        case "unique_original" if originals:
            return lambda value: f"{short(value)} ({percent(value / originals)})"
    return short
