"""What the command line says of membership disclosure: figures, JSON and a chart."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from indistinct.cli.screen import grid, note, number, percent
from indistinct.errors import InputError, ParameterError, SchemaError
from indistinct.schema import Schema

if TYPE_CHECKING:
    from rich.table import Table

    from indistinct.risks.membership import Membership

# What tuples match in a release, one of them and many.
BUCKETS = ("bucket", "buckets")
CLASSES = ("class", "classes")


def measured_members(
    kinds: Mapping[str, Mapping[str, Any]], published: Any, schema: Schema, *, original: Any
) -> "dict[str, Membership]":
    """Return the membership disclosure of a release for each kind of tuples; nothing but a note where there is none."""
    from indistinct.risks.membership_of_release import membership_of

    try:
        return {
            words: membership_of(published, schema, original=original, **options) for words, options in kinds.items()
        }
    except SchemaError:
        raise
    except InputError as error:
        note(f"membership is not measured: {error.message}")
        return {}


def members_table(found: "Mapping[str, Membership]", matched: tuple[str, str]) -> "Table":
    """Return the figures of each kind of tuples, side by side."""
    one, many = matched
    table = grid("membership", *found, right=list(found))
    rows: dict[str, Callable[[Membership], str]] = {
        "candidate tuples": lambda each: number(round(each.candidates)) + ("" if each.exact else " (estimated)"),
        "between, with a confidence of 95 %": lambda each: "–" if each.exact else _between(*each.interval),
        "original tuples": lambda each: number(each.originals),
        "fake tuples": lambda each: number(round(each.fake)) + ("" if each.exact else " (estimated)"),
        f"originals with one matching {one}": lambda each: percent(each.unique_share),
        f"matching {many} of an original, mean": lambda each: number(each.mean_matching_original),
        f"matching {many} of a fake, mean": lambda each: number(each.mean_matching_fake) if each.fake else "–",
    }
    if all(each.exact for each in found.values()):
        del rows["between, with a confidence of 95 %"]
    for words, value in rows.items():
        table.add_row(words, *(value(each) for each in found.values()))
    return table


def _between(low: float, high: float) -> str:
    return f"{number(round(low))} to {number(round(high))}"


def members_document(found: "Mapping[str, Membership]") -> dict[str, Any]:
    """Return the figures of each kind of tuples as plain JSON values."""
    return {words.replace(" ", "_").replace("-", "_"): each.to_json() for words, each in found.items()}


def draw_members(found: "Mapping[str, Membership]", chart: Path, matched: tuple[str, str], *, overwrite: bool) -> None:
    """Draw the histograms of the first kind of tuples."""
    from indistinct.release.staging import filled
    from indistinct.release.writing import write_atomically
    from indistinct.report.histograms import draw_matching

    if not found:
        raise ParameterError("there is nothing to draw: membership was not measured", hint="leave --chart out")
    title = f"{matched[1].capitalize()} that match original and fake tuples"
    kind, first = next(iter(found.items()))
    text = draw_matching(first, title=title, matched=matched, kind=kind)
    write_atomically(chart, filled(text), overwrite=overwrite)
