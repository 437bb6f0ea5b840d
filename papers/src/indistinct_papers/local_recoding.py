"""Time, distortion and discernibility of four local recoding algorithms: the charts and claims of Verma (2013).

The thesis prints curves without numbers and leaves out most of its hierarchies, so what can be compared is what it says
of them. It describes its table in two ways that exclude each other, so there are two settings: the rows in which its
numbers of values occur, and as many rows as it counts, with trees as high as its own.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from indistinct.algorithms.base import Problem, Progress
from indistinct.algorithms.registry import parse_algorithm
from indistinct.drawing.charts import altair, draw
from indistinct.drawing.lines import Scale, line_charts
from indistinct.engines import count_source
from indistinct.errors import InputError
from indistinct.frequencies.count import Counted, Request
from indistinct.hierarchy import Hierarchy
from indistinct.metrics import Discernibility, Distortion
from indistinct.models import KAnonymity
from indistinct.recoding.assign import assign
from indistinct.recoding.columns import columns_of
from indistinct.samples import census_hierarchies, generate_census
from indistinct_papers._adult_taxonomy import UNKNOWN, table_rows
from indistinct_papers.adult import WHERE, adult_hierarchies, load_adult
from indistinct_papers.base import Cell, Claim, Reproduction, cpu_seconds, judge, unite_parts

TITLE = "Local recoding: time, distortion and discernibility"
SHORT_SOURCE = "Verma (2013)"
KACA, TOP_DOWN, BOTH, THESIS, OURS = "kaca", "top-down", "top-down-kaca", "two-level:rule=literal", "two-level"
# The thesis prints KACA so that whole classes merge; its text of a second case is lost.
KACA_PRINTED, BOTH_PRINTED = "kaca:stub=false", "top-down-kaca:stub=false"
# Global recoding: whole columns, subtrees of their hierarchies, and siblings that may stay.
FULL_DOMAIN, SUBTREE, SIBLING = (
    "optimal:metric=distortion",
    "tds:score=distortion",
    "tds:score=distortion,siblings=true",
)
GLOBAL = (FULL_DOMAIN, SUBTREE, SIBLING)
LOCAL = (KACA, KACA_PRINTED, TOP_DOWN, BOTH, BOTH_PRINTED, OURS, THESIS)
ALGORITHMS = (*LOCAL, *GLOBAL)
READINGS: Mapping[str, Mapping[str, str]] = {
    "whole classes merge, as printed": {KACA: KACA_PRINTED, BOTH: BOTH_PRINTED},
    "with stubs, as its source has them": {},
}
SETTING: dict[str, Any] = {
    "setting": "Adult, 32,561 rows, k = 2, 5 and 10, curves without numbers",
    "ours": "Adult in two readings of table 4.1 or a census, k = 2, 5 and 10",
}
KS = (2, 5, 10)
TIME, DISTORTION, DISCERNIBILITY, RELATIVE = "cpu seconds", "distortion", "discernibility", "discernibility / kaca"
# Discernibility is drawn relative to KACA's: large classes that no algorithm recodes are most of it in every release.
MEASURES: Mapping[str, Scale] = {TIME: "log", DISTORTION: "linear", RELATIVE: "ratio"}
HEADINGS = ("setting", "size", "cells", "k", "algorithm", TIME, DISTORTION, DISCERNIBILITY, RELATIVE)
ADULT_ORDER = ("workclass", "education", "marital-status", "race", "sex", "age", "occupation")
CENSUS_ORDER = ("workclass", "education", "marital", "race", "sex", "age", "occupation")
# As many as Adult's training rows without unknowns.
CENSUS_ROWS = 30_162
OWN = "two-level clustering by the cheapest lifts"
DIFFERS = "trees and implementation are ours; TopDown-KACA's size of a part, which its source leaves open, is ours"
# What *slightly more* and *similar* are taken for, and how many quasi-identifiers are few.
SLIGHT, SIMILAR, FEW = 1.25, 0.05, 4
TAKEN_FOR_SIMILAR = f"similar is taken for within {SIMILAR:.0%}"
# The k of which the thesis speaks together.
SMALL, LARGE = (2, 5), (10,)


@dataclass(frozen=True, slots=True)
class Setting:
    """A table, the trees above its columns in the order in which they are added, and a name."""

    name: str
    table: pa.Table
    hierarchies: Mapping[str, Hierarchy]


def reproduce_local_recoding(sizes: tuple[int, ...], progress: Progress) -> Reproduction:
    """Search with each algorithm for the first quasi-identifiers, by number, and every k, and measure what it found."""
    settings, data = _settings()
    rows = list[tuple[Cell, ...]]()
    # So that no search is timed with the compilation of its kernels.
    measure_algorithms(settings[0], min(sizes))
    steps = [(setting, size) for setting in settings for size in sizes]
    for index, (setting, size) in enumerate(steps):
        rows += measure_algorithms(setting, size)
        progress((index + 1) / len(steps))
    return Reproduction(
        title=TITLE,
        source="M. Verma (2013). k-Anonymity using two level clustering. Thesis. Curves, no numbers.",
        data=data,
        headings=HEADINGS,
        rows=tuple(rows),
        findings=(),
        facts={"settings": len(steps) * len(KS)},
        claims=claims(rows),
        differs=(
            "the thesis counts 32,561 rows but 7 work classes; that number occurs only among the 30,162 rows without "
            "unknowns, which are the first setting; the second has all 32,561 rows, and unknown is a value of its own",
            "the thesis prints two of its trees and the heights of all in table 4.1, 3, 4, 3, 2, 1, 2 and 1; the "
            "second setting has trees of our own making of these heights, the first the reference ones",
            "its machine and its Java are not ours: times are CPU seconds of searches over cells, in memory",
            "its algorithm 1, KACA, merges whole classes as printed (stub=false); the text of a second case is lost, "
            "which in Li et al. (2006) takes only the rows that are missing (stub=true). Verdicts are of the first "
            "reading; figures have both",
            "its algorithm is two-level:rule=literal; two-level alone is our own rule, which tries every lift",
        ),
        picture=partial(_picture, rows, data),
    )


def measure_algorithms(setting: Setting, size: int) -> list[tuple[Cell, ...]]:
    """Return a row for every k and algorithm on the first quasi-identifiers, by number."""
    columns = tuple(setting.hierarchies)[:size]
    counted = count_source(setting.table, Request(columns, (), setting.hierarchies))
    rows = list[tuple[Cell, ...]]()
    for k in KS:
        measured = {name: _measure(counted, setting.hierarchies, name, k) for name in ALGORITHMS}
        for name, (seconds, distortion, discernibility) in measured.items():
            relative = round(discernibility / measured[KACA][2], 4)
            figures = (float(f"{seconds:.3g}"), round(distortion, 2), discernibility, relative)
            rows.append((setting.name, size, len(counted.frequencies), k, name, *figures))
    return rows


def _measure(
    counted: Counted, hierarchies: Mapping[str, Hierarchy], algorithm: str, k: int
) -> tuple[float, float, int]:
    problem = Problem(counted.frequencies, columns_of(counted.domains, hierarchies), KAnonymity(k))
    seconds, recoding = cpu_seconds(lambda: parse_algorithm(algorithm).find(problem))
    assignment = assign(counted.frequencies, recoding)
    return seconds, Distortion().value(assignment), int(Discernibility().value(assignment))


def claims(rows: Sequence[tuple[Cell, ...]]) -> tuple[Claim, ...]:
    """Return what the thesis says of its curves, sentence by sentence."""
    compare = partial(_compare, rows)
    own = _claims_of_two_level(partial(compare, one=OURS))
    loses = _claim_of_local_recoding(compare, (OURS,))
    found = (
        *_claims_of_two_level(partial(compare, one=THESIS)),
        *_claims_of_others(compare),
        *(_of_our_own(each, "two-level clustering") for each in own),
        _of_our_own(loses, "local recoding"),
    )
    return tuple(replace(each, differs="; ".join(filter(None, (each.differs, DIFFERS)))) for each in found)


def _of_our_own(claim: Claim, subject: str) -> Claim:
    """Return a sentence as one of our own variant of two-level clustering."""
    return replace(claim, text=claim.text.replace(subject, OWN, 1), own=True)


def _claims_of_two_level(compare: Callable[..., Claim]) -> tuple[Claim, ...]:
    """Return what the thesis says about two-level clustering, each sentence with its parts."""
    at_ten = partial(compare, ks=LARGE, others=(KACA, BOTH), measure=DISCERNIBILITY)
    similar = partial(compare, "abstract", ks=KS, holds=_similar, differs=TAKEN_FOR_SIMILAR)
    return (
        unite_parts(
            "two-level clustering gives distortion and discernibility similar to those of other local recoding "
            "algorithms",
            {
                DISTORTION: similar(measure=DISTORTION, others=(KACA, TOP_DOWN, BOTH)),
                DISCERNIBILITY: similar(measure=DISCERNIBILITY, others=(KACA, TOP_DOWN, BOTH)),
            },
        ),
        unite_parts(
            "two-level clustering distorts less than KACA and TopDown at k = 2 and 5, and a little more at k = 10",
            {
                "k = 2 and 5": compare("4.2.1", DISTORTION, (KACA, TOP_DOWN), SMALL),
                "k = 10": compare(
                    *("4.2.1", DISTORTION, (KACA, TOP_DOWN, BOTH), LARGE),
                    holds=lambda ratio: 1 < ratio <= SLIGHT,
                    differs=f"a little is taken for up to {SLIGHT - 1:.0%}",
                ),
            },
        ),
        replace(
            compare("4.2.2", TIME, (KACA, BOTH), KS),
            text="two-level clustering takes less time than KACA and TopDown-KACA",
        ),
        unite_parts(
            "two-level clustering has a lower discernibility cost than KACA and TopDown-KACA at k = 2 and 5, and at "
            "k = 10 with few quasi-identifiers; else a similar one",
            {
                "k = 2 and 5": compare("4.2.3", DISCERNIBILITY, (KACA, BOTH), SMALL),
                "k = 10, few": at_ten(
                    "4.2.3", chosen=lambda size: size <= FEW, differs=f"few is taken for at most {FEW}"
                ),
                "k = 10, more": at_ten(
                    "4.2.3",
                    chosen=lambda size: size > FEW,
                    holds=_similar,
                    differs=TAKEN_FOR_SIMILAR,
                ),
            },
        ),
        *_claims_of_the_conclusion(compare),
    )


def _claims_of_the_conclusion(compare: Callable[..., Claim]) -> tuple[Claim, ...]:
    """Return what the conclusion says of two-level clustering."""
    return (
        replace(
            compare(
                *("conclusion", TIME, (KACA, BOTH), KS),
                holds=lambda ratio: ratio <= 0.5,
                differs="half or less is taken for almost half",
            ),
            text="two-level clustering takes almost half the time of KACA and TopDown-KACA",
        ),
        replace(
            unite_parts(
                "two-level clustering gives better discernibility and distortion than KACA and TopDown-KACA for most "
                "numbers of quasi-identifiers",
                {measure: compare("conclusion", measure, (KACA, BOTH), KS) for measure in (DISCERNIBILITY, DISTORTION)},
            ),
            rule="often",
        ),
    )


def _claims_of_others(compare: Callable[..., Claim]) -> tuple[Claim, ...]:
    """Return what is claimed about the algorithms that the thesis compares with, and of kinds of recoding."""

    def more(ratio: float) -> bool:
        return ratio > 1

    def half(ratio: float) -> bool:
        return ratio <= 0.5

    return (
        unite_parts(
            "TopDown-KACA takes less time than KACA, and has more distortion and a higher discernibility cost",
            {
                "time": compare("conclusion", TIME, (KACA,), KS, one=BOTH),
                "distortion": compare("conclusion", DISTORTION, (KACA,), KS, one=BOTH, holds=more),
                "discernibility": compare("conclusion", DISCERNIBILITY, (KACA,), KS, one=BOTH, holds=more),
            },
        ),
        unite_parts(
            "TopDown takes less time than KACA, and distorts more",
            {
                "time": compare("2.2.3", TIME, (KACA,), KS, one=TOP_DOWN),
                "distortion": compare("2.2.3", DISTORTION, (KACA,), KS, one=TOP_DOWN, holds=more),
            },
        ),
        unite_parts(
            "TopDown-KACA takes much less time than KACA, and distorts less than TopDown",
            {
                "time": compare(
                    "2.2.3",
                    TIME,
                    (KACA,),
                    KS,
                    one=BOTH,
                    holds=lambda ratio: ratio <= 0.5,
                    differs="much less is taken for half",
                ),
                "distortion": compare("2.2.3", DISTORTION, (TOP_DOWN,), KS, one=BOTH),
            },
        ),
        *_claims_of_recoding(compare),
    )


def _claims_of_recoding(compare: Callable[..., Claim]) -> tuple[Claim, ...]:
    """Return what is claimed about local and global recoding, and of generalization schemes."""
    return (
        _claim_of_local_recoding(compare, (KACA_PRINTED, TOP_DOWN, THESIS)),
        replace(
            compare(
                "generalization schemes, 2",
                DISTORTION,
                (SUBTREE, FULL_DOMAIN),
                KS,
                one=SIBLING,
                holds=lambda ratio: ratio <= 1,
            ),
            text="sibling generalization distorts less than subtree and full-domain generalization",
            differs="not more is taken for less, as equal recodings are found; both are searched top down",
        ),
    )


def _claim_of_local_recoding(compare: Callable[..., Claim], algorithms: Sequence[str]) -> Claim:
    """Return what is claimed about local recoding, of some algorithms."""
    return unite_parts(
        "local recoding loses less than global recoding, and takes more time",
        {
            f"{name}, {measure}": compare("abstract and conclusion", measure, GLOBAL, KS, one=name, holds=holds)
            for name in algorithms
            for measure, holds in ((DISTORTION, lambda ratio: ratio < 1), (TIME, lambda ratio: ratio > 1))
        },
    )


def _compare(
    rows: Sequence[tuple[Cell, ...]],
    place: str,
    measure: str,
    others: Sequence[str],
    ks: Sequence[int],
    *,
    one: str,
    holds: Callable[[float], bool] = lambda ratio: ratio < 1,
    chosen: Callable[[int], bool] = lambda size: True,
    differs: str = "",
) -> Claim:
    """Return a claim about one algorithm over some others, each of which it is compared with in every setting."""
    column = HEADINGS.index(measure)
    by_setting: dict[tuple[Cell, ...], dict[str, float]] = {}
    for row in rows:
        if row[3] in ks and chosen(int(row[1] or 0)):
            by_setting.setdefault((row[0], row[1], row[3]), {})[str(row[4])] = float(row[column] or 0)
    if not by_setting:
        return Claim(
            "", SHORT_SOURCE, 0, 0, "these sizes leave nothing to compare with", differs, place=place, **SETTING
        )

    def compare_with(name: str, reading: Mapping[str, str]) -> tuple[int, int, str]:
        counts, words = list[int](), list[str]()
        for other in others:
            named = [(own[reading.get(name, name)], own[reading.get(other, other)]) for own in by_setting.values()]
            ratios = [_ratio(*pair) for pair in named]
            counts.append(sum(map(holds, ratios)))
            span = f"{_short(min(ratios))} to {_short(max(ratios))}"
            words.append(f"{span} of {other} (so in {counts[-1]} of {len(ratios)})")
        return sum(counts), len(others) * len(by_setting), ", ".join(words)

    concerned = {one, *others} & {KACA, BOTH}
    readings = READINGS if concerned else {"": dict[str, str]()}
    judged = {words: compare_with(one, reading) for words, reading in readings.items()}
    parts = [
        f"{words}: {figures} ({judge(held, tested)})" if words else figures
        for words, (held, tested, figures) in judged.items()
    ]
    held, tested, _ = next(iter(judged.values()))
    return Claim("", SHORT_SOURCE, held, tested, "; ".join(parts), differs, place=place, **SETTING)


def _similar(ratio: float) -> bool:
    return abs(ratio - 1) <= SIMILAR


def _short(ratio: float) -> str:
    """Return a ratio in few digits; one near 1 keeps what tells it from 1."""
    return f"{ratio:.3f}" if abs(ratio - 1) < 0.01 else f"{ratio:.2f}"


def _ratio(one: float, other: float) -> float:
    return one / other if other else 1.0 if not one else math.inf


def _picture(rows: Sequence[tuple[Cell, ...]], data: str) -> str:
    """Return nine charts for each setting: a measure in each row, a k in each column."""
    groups = []
    for name in dict.fromkeys(str(row[0]) for row in rows):
        measures = {f"{measure}, {name}": scale for measure, scale in MEASURES.items()}
        named = [
            {HEADINGS[index] if index < 5 else f"{HEADINGS[index]}, {name}": cell for index, cell in enumerate(row)}
            for row in rows
            if row[0] == name and row[4] in LOCAL
        ]
        groups.append(
            line_charts(named, x=("size", "quasi-identifiers"), across="k", lines="algorithm", measures=measures)
        )
    return draw(altair().vconcat(*groups), title=TITLE, notes=[data])


def _settings() -> tuple[list[Setting], str]:
    """Return the settings of Adult, or where it is not at hand a generated census of the same shape."""
    try:
        table, trees = load_adult(training_only=True), adult_hierarchies()
        whole = load_adult(training_only=True, drop_missing=False)
    except InputError:
        census, known = generate_census(CENSUS_ROWS, seed=1), census_hierarchies()
        some = Setting(f"{census.num_rows:,} rows", census, {name: known[name] for name in CENSUS_ORDER})
        return [some], (
            f"generated census, {census.num_rows:,} rows; the second setting, 32,561 rows and the heights of table "
            f"4.1, has the values of Adult and is left out; for Adult {WHERE}"
        )
    higher: dict[str, Hierarchy] = {name: Hierarchy.from_rows(rows) for name, rows in table_rows().items()}
    filled = pa.table({name: pc.fill_null(whole[name], UNKNOWN) for name in higher})
    return [
        Setting(f"{table.num_rows:,} rows", table, {name: trees[name] for name in ADULT_ORDER}),
        Setting(f"{filled.num_rows:,} rows", filled, higher),
    ], (
        f"Adult: {table.num_rows:,} training rows without unknowns, reference hierarchies; and table 4.1, "
        f"{filled.num_rows:,} rows, heights 3, 4, 3, 2, 1, 2, 1"
    )
