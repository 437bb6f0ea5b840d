"""What the screen shows of an assessment: figures of the original and the release side by side."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from indistinct.cli.screen import grid
from indistinct.figures import number, percent, plural

if TYPE_CHECKING:
    from rich.table import Table

    from indistinct.study.assess.assessment import Assessment, TableRisk
    from indistinct.study.assess.attribute_disclosure import AttributeDisclosure
    from indistinct.study.assess.practice import PracticeFinding

# From such a share on, classes are named on the screen.
TELLING = 0.5
# So many sets of columns are shown.
MOST_SETS = 10
ALIKE = "the journalist's figures are the prosecutor's: "


def parts(found: "Assessment", *, name: str) -> "Iterator[str | Table]":
    """Yield the figures of a table, most important first, and the verdict at last."""
    from indistinct.algorithms.full_domain.stars import say_fewest_compatible
    from indistinct.study.assess.assessment import NO_POPULATION

    yield f"{name}: {_headline(found)}\n"
    yield _figures(found)
    yield ""
    if found.risk.population.basis == NO_POPULATION:
        yield ALIKE + (NO_POPULATION if found.form is None else "buckets are not compared with a population")
        yield ""
    if found.risk.fewest_compatible is not None:
        yield say_fewest_compatible(found.risk.fewest_compatible)
        yield ""
    if found.risk.columns:
        yield _columns(found)
        yield ""
    for name, risk in (("before", found.before), ("after", found.risk)):
        if risk is not None:
            yield from _singled_out(risk, "" if found.before is None else f"{name}: ")
    if found.risk.sensitive:
        yield _sensitive(found)
        yield ""
    for each in found.risk.sensitive:
        if each.worst and each.largest_share >= TELLING:
            yield f"classes that tell most about {each.column!r}:"
            yield _worst(each)
            yield ""
    yield _practice(found)
    yield ""
    yield from (f"{each.rule}: {each.note}" for each in found.practice if each.note and _wants_a_word(each))
    yield ""
    yield from (f"{rule}: {source}" for rule, source in _sources(found))
    yield ""
    if found.gate is not None:
        yield f"profile {found.gate.profile.spec()}"
        yield _gate(found)
        yield ""
    yield f"verdict: {found.verdict.headline}"
    yield from found.verdict.sentences


def _headline(found: "Assessment") -> str:
    risk, groups = found.risk, ("class", "classes") if found.form is None else ("bucket", "buckets")
    people = risk.unit == "people"
    whose = f" of {plural(risk.members, 'person', 'people')}" if people else ""
    smallest = plural(risk.smallest, *(("person", "people") if people else ("row",)))
    return f"{plural(risk.rows, 'row')}{whose} in {plural(risk.classes, *groups)}, the smallest of {smallest}"


def _figures(found: "Assessment") -> "Table":
    sides = [("before", found.before), ("after", found.risk)] if found.before is not None else [("", found.risk)]
    heads = [name or "value" for name, _ in sides]
    table = grid("figure", *heads, right=heads)
    for words, value in _rows(found).items():
        table.add_row(words, *(value(side) for _, side in sides if side is not None))
    return table


def _rows(found: "Assessment") -> "dict[str, Callable[[TableRisk], str]]":
    above = f"above {found.threshold:g}"
    rows: dict[str, Callable[[TableRisk], str]] = {
        "rows": lambda each: number(each.rows),
        "smallest class": lambda each: number(each.smallest),
        "alone in their class": lambda each: _of(each.uniques, each.members),
        "prosecutor, highest risk": lambda each: percent(each.prosecutor.highest),
        "prosecutor, average": lambda each: percent(each.prosecutor.average),
        f"prosecutor, {above}": lambda each: percent(each.prosecutor.at_risk),
        "journalist, highest risk": lambda each: percent(each.journalist.highest),
        "journalist, average": lambda each: percent(each.journalist.average),
        f"journalist, {above}": lambda each: percent(each.journalist.at_risk),
        "marketer, average": lambda each: percent(each.marketer),
    }
    if found.risk.population.estimates is not None:
        rows["unique in the population (Dankar)"] = _estimate
    if found.risk.individual is not None:
        rows["expected to be found (weights)"] = _expected
    for size in found.risk.sizes.cumulative:
        rows[f"in classes of at most {size}"] = lambda each, size=size: percent(each.sizes.cumulative[size])  # type: ignore[misc]
    return rows


def _of(some: int, members: int) -> str:
    return f"{some:,} ({percent(some / members if members else 0.0)})"


def _estimate(risk: "TableRisk") -> str:
    estimates = risk.population.estimates
    return "–" if estimates is None else f"{percent(estimates.dankar)} ({estimates.used})"


def _expected(risk: "TableRisk") -> str:
    each = risk.individual
    return "–" if each is None else f"{number(round(each.expected, 3))} ({percent(each.mean)})"


def _columns(found: "Assessment") -> "Table":
    """Return the risk without each column, and with it one level coarser."""
    heads = ("average risk without it", "alone without it", "average risk one level up")
    table = grid("column", *heads, right=heads, names=("column",))
    for each in found.risk.columns:
        coarser = percent(each.levels[0].prosecutor.average) if each.levels else "–"
        table.add_row(each.column, percent(each.removed.prosecutor.average), number(each.removed.uniques), coarser)
    return table


def _singled_out(risk: "TableRisk", side: str) -> "Iterator[str | Table]":
    """Yield what makes people special uniques, and which columns single out most of them."""
    special, sets = risk.special, risk.unique_sets
    if special is not None:
        told = special.to_json()
        yield (
            f"{side}{special.special:,} special uniques in up to {special.size} columns, highest score "
            f"{number(told['highest_score'])}, highest DIS-SUDA {number(told['highest_dis_suda'])}"
        )
        table = grid("column", "part of all scores", right=("part of all scores",), names=("column",))
        for name, share in sorted(special.contributions.items(), key=lambda each: -each[1]):
            table.add_row(name, percent(share))
        yield table
        yield ""
    if sets is not None:
        least = ", ".join(f"{each.smallest:,} of {each.size}" for each in risk.column_sets)
        yield f"{side}the fewest {risk.unit} that share values, by the number of columns: {least}"
        shown = sets.singling_out()
        yield f"{side}{len(shown):,} sets of up to {sets.size} columns single somebody out; most do:"
        table = grid("columns", "unique", "unique in no part of them", right=("unique", "unique in no part of them"))
        for each in shown[:MOST_SETS]:
            table.add_row(", ".join(each.columns), number(each.unique), number(each.minimal))
        yield table
        yield ""


def _sensitive(found: "Assessment") -> "Table":
    heads = [each.column for each in found.risk.sensitive]
    table = grid("of a class, the", *heads, right=heads, names=heads)
    rows: dict[str, Callable[[AttributeDisclosure], str]] = {
        "largest share of a value": lambda each: percent(each.largest_share),
        "mean largest share": lambda each: percent(each.mean_share),
        "members in classes with one value": lambda each: percent(each.homogeneous),
        "l, distinct": lambda each: number(each.distinct_l),
        "l, entropy": lambda each: number(each.entropy_l),
        "c, recursive for l = 2": lambda each: number(each.recursive[2]) if 2 in each.recursive else "–",
        "t, equal distance": lambda each: number(each.t["equal"]),
        "t, ordered distance": lambda each: number(each.t["ordered"]) if "ordered" in each.t else "–",
        "t, hierarchical distance": lambda each: number(each.t["hierarchical"]) if "hierarchical" in each.t else "–",
        "beta": lambda each: number(each.beta),
        "delta": lambda each: number(each.delta),
    }
    for words, value in rows.items():
        table.add_row(words, *map(value, found.risk.sensitive))
    return table


def _worst(disclosure: "AttributeDisclosure") -> "Table":
    names = list(disclosure.worst[0].values)
    table = grid(*names, "members", "largest share", right=("members", "largest share"))
    for each in disclosure.worst:
        shown = ("missing" if value is None else value for value in each.values.values())
        table.add_row(*shown, number(each.members), percent(each.largest_share))
    return table


def _practice(found: "Assessment") -> "Table":
    table = grid("used in practice", "asks for", "found", "verdict", right=("found",))
    for each in found.practice:
        value = "–" if each.value is None else number(each.value)
        table.add_row(each.rule, each.asks, value, "FAILED" if each.status == "failed" else each.status)
    return table


def _wants_a_word(finding: "PracticeFinding") -> bool:
    """Return whether a verdict says too little by itself: which columns were looked at, and why one cannot tell."""
    return finding.rule.startswith(("safe-harbor", "wp216")) and finding.status != "passed"


def _sources(found: "Assessment") -> Iterator[tuple[str, str]]:
    """Yield who asks for the rules of practice, under the words that their names share."""
    seen: dict[str, str] = {}
    for each in found.practice:
        seen.setdefault(each.source, each.rule.rpartition("-")[0] if "wp216" not in each.rule else "wp216")
    shortened = {"ema-0.09": "ema", "health-canada-0.09": "health-canada"}
    yield from ((shortened.get(rule, rule), source) for source, rule in seen.items())


def _gate(found: "Assessment") -> "Table":
    from indistinct.study.verdict import STATES

    table = grid("limit", "at most", "found", "verdict", right=("at most", "found"))
    for line in () if found.gate is None else found.gate.lines:
        value = "not known" if line.value is None else number(line.value)
        table.add_row(line.figure, number(float(line.limit)), value, STATES[line.state])
    return table
