"""What the command line says of membership disclosure: figures and a chart."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from indistinct.cli.screen import grid, note
from indistinct.errors import InputError, OutOfMemoryError, ParameterError, SchemaError
from indistinct.figures import number, percent

if TYPE_CHECKING:
    from rich.table import Table

    from indistinct.release.published import Published
    from indistinct.study.assess.membership import Membership


def measured_members(given: "Published") -> "dict[str, Membership]":
    """Return the membership disclosure of a release for each kind of tuples; nothing but a note where there is none."""
    from indistinct.study.assess.membership import membership_by_kind

    try:
        return membership_by_kind(given)
    except SchemaError:
        raise
    except (InputError, OutOfMemoryError) as error:
        note(f"membership is not measured: {error.message}")
        return {}


def members_table(members: "Mapping[str, Membership]", *, buckets: bool) -> "Table":
    """Return the figures of each kind of tuples, side by side."""
    one, many = _words_of_groups(buckets)
    table = grid("membership", *members, right=list(members))
    rows: dict[str, Callable[[Membership], str]] = {
        "candidate tuples": lambda each: number(round(each.candidates)) + ("" if each.exact else " (estimated)"),
        "between, with a confidence of 95 %": lambda each: "–" if each.exact else _between(*each.interval),
        "original tuples": lambda each: number(each.originals),
        "fake tuples": lambda each: number(round(each.fake)) + ("" if each.exact else " (estimated)"),
        f"originals with one matching {one}": lambda each: percent(each.unique_share),
        f"matching {many} of an original, mean": lambda each: number(each.mean_matching_original),
        f"matching {many} of a fake, mean": lambda each: number(each.mean_matching_fake) if each.fake else "–",
    }
    if all(each.exact for each in members.values()):
        del rows["between, with a confidence of 95 %"]
    for words, value in rows.items():
        table.add_row(words, *(value(each) for each in members.values()))
    return table


def _words_of_groups(buckets: bool) -> tuple[str, str]:
    """Return what tuples match in a release, one of them and many."""
    return ("bucket", "buckets") if buckets else ("class", "classes")


def _between(low: float, high: float) -> str:
    return f"{number(round(low))} to {number(round(high))}"


def draw_members(members: "Mapping[str, Membership]", *, buckets: bool) -> str:
    """Return the histograms of the first kind of tuples, drawn."""
    from indistinct.study.assess.membership import draw_matching

    if not members:
        raise ParameterError("there is nothing to draw: membership was not measured", hint="leave --chart out")
    matched = _words_of_groups(buckets)
    title = f"{matched[1].capitalize()} that match original and fake tuples"
    kind, first = next(iter(members.items()))
    return draw_matching(first, title=title, matched=matched, kind=kind)
