"""An assessment as tables to read: the risk before and after, what classes tell, and the rules of practice."""

from collections.abc import Mapping
from itertools import takewhile
from typing import Any

from indistinct.figures import percent, short
from indistinct.markup import Cell, Document, Figure, Grid, grid

# The figures of a table: what they are called, where they stand, and whether they are shares.
RISKS: tuple[tuple[str, tuple[str, ...], bool], ...] = (
    ("rows", ("rows",), False),
    ("{groups}", ("classes",), False),
    ("{unit} in the smallest of them", ("smallest_class",), False),
    ("{unit} alone in one of them", ("uniques",), False),
    ("prosecutor: highest risk", ("prosecutor", "highest"), True),
    ("prosecutor: average risk", ("prosecutor", "average"), True),
    ("prosecutor: above {threshold}", ("prosecutor", "at_risk"), True),
    ("journalist: highest risk", ("journalist", "highest"), True),
    ("journalist: average risk", ("journalist", "average"), True),
    ("journalist: above {threshold}", ("journalist", "at_risk"), True),
    ("marketer: average risk", ("marketer", "average"), True),
)
SENSITIVE: tuple[tuple[str, tuple[str, ...], bool], ...] = (
    ("largest share of a value", ("largest_share",), True),
    ("mean largest share", ("mean_share",), True),
    ("members whose {group} has one value", ("homogeneous",), True),
    ("l, distinct", ("l", "distinct"), False),
    ("l, entropy", ("l", "entropy"), False),
    ("t, equal distance", ("t", "equal"), False),
    ("t, ordered distance", ("t", "ordered"), False),
    ("t, hierarchical distance", ("t", "hierarchical"), False),
    ("β", ("beta",), False),
    ("δ", ("delta",), False),
)


def risk_grid(found: Document) -> Grid:
    """Return the risk of a table and, where it is known, that of its original before it."""
    both = found.at("before") is not None
    words = {
        "threshold": short(found.at("threshold")),
        "unit": found.at("unit"),
        "groups": "classes" if found.at("form") is None else "buckets",
    }
    rows: list[tuple[Cell, ...]] = []
    for called, path, share in RISKS:
        if found.at(path[0]) is None:  # an edition for others leaves some out
            continue
        how = percent if share else short
        before = (found.figure("before", *path, words=how),) if both else ()
        rows.append((called.format(**words), *before, found.figure(*path, words=how)))
    for size in found.at("class_sizes", "cumulative") or ():
        path = ("class_sizes", "cumulative", size)
        before = (found.figure("before", *path, words=percent),) if both else ()
        rows.append((f"in {words['groups']} of at most {size}", *before, found.figure(*path, words=percent)))
    headings = ("before", "after") if both else ("value",)
    return grid("Risk of being found", ("figure", *headings), rows, right=headings)


def sensitive_grid(found: Document, *, side: str | None = None) -> Grid:
    """Return what classes tell of every sensitive column, of the table or of its original: `side` is "before"."""
    place = () if side is None else (side,)
    columns: Mapping[str, Any] = found.at(*place, "sensitive") or {}
    group = "class" if found.at("form") is None else "bucket"
    rows: list[tuple[Cell, ...]] = []
    for called, path, share in SENSITIVE:
        cells = [
            found.figure(*place, "sensitive", name, *path, words=percent if share else short, absent=_absent(path))
            for name in columns
        ]
        if any(cell.value is not None or cell.text != "–" for cell in cells):
            rows.append((called.format(group=group), *cells))
    caption = f"What a {group} tells of sensitive columns" + (" in the original" if side else "")
    return grid(caption, ("figure", *columns), rows, right=tuple(columns))


def practice_grid(found: Document) -> Grid:
    """Return the rules of regulators and data holders, each passed, failed or not checkable."""
    rows: list[tuple[Cell, ...]] = [
        (
            rule["rule"],
            rule["asks"],
            found.figure("practice", index, "value"),
            Figure((found.name, "practice", index, "status"), rule["status"], _status(rule["status"])),
            rule["note"] or "",
        )
        for index, rule in enumerate(found.at("practice") or ())
    ]
    headings = ("rule", "asks for", "found", "verdict", "note")
    return grid("Figures of regulators and data holders", headings, rows, right=("found",))


def practice_sources(found: Document) -> tuple[str, ...]:
    """Return where rules come from, each source once, behind the first words of its rules."""
    names: dict[str, list[str]] = {}
    for rule in found.at("practice") or ():
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


def _absent(path: tuple[str, ...]) -> str:
    """Return what stands where a figure is null: beta and delta are null where they are infinite."""
    return "unbounded" if path in (("beta",), ("delta",)) else "–"
