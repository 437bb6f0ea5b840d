"""How much detail is lost: the global certainty penalty of published labels, and the seconds that it took.

The judge reads labels alone, as anybody could who has the release and the original: numbers by the length of their
range, names by the number of values that occur. Other tools' figures are those of the same judge on the same table.
"""

import csv
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

import indistinct as ind
from benchmarks.data import QUASI, census
from benchmarks.timing import Line, best
from indistinct.algorithms.base import Problem
from indistinct.algorithms.registry import parse_algorithm
from indistinct.engines import count_source
from indistinct.errors import InputError
from indistinct.frequencies.count import Request
from indistinct.metrics import GCP
from indistinct.recoding.assign import assign
from indistinct.recoding.columns import columns_of
from indistinct_papers.adult import ADULT_QUASI, _find, adult_hierarchies, load_adult_arx

KS = (2, 5, 10)
BEST_OTHER = (0.0134, 0.0390, 0.0636)
# Hierarchies, form, what it had before, and the goal as a share of that.
CASES: tuple[tuple[str, str, tuple[float, ...], float], ...] = (
    ("none", "mondrian", BEST_OTHER, 1.4),
    ("none", "mondrian:choose=loss,positions=1", BEST_OTHER, 0.9),
    ("none", "mondrian:choose=loss", BEST_OTHER, 0.9),
    ("none", "refine:seconds=2", (0.0073, 0.0251, 0.0469), 1.0),
    ("names", "mondrian", (0.0327, 0.1095, 0.1885), 1.0),
    ("names", "mondrian:choose=loss", (0.0327, 0.1095, 0.1885), 0.5),
    ("names", "mondrian:choose=loss,trees=set", (0.0327, 0.1095, 0.1885), 0.5),
    ("all", "two-level", (0.0281, 0.0662, 0.0964), 1.01),
    ("all", "refine:seconds=2", (0.0226, 0.0570, 0.0838), 1.0),
)


def loss_lines() -> Iterator[Line]:
    """The penalty of each form on Adult, against what it is to beat; then the time of Mondrian by loss."""
    try:
        table, hierarchies = load_adult_arx(), adult_hierarchies("arx")
    except InputError:
        return
    table = table.select(list(ADULT_QUASI))
    table = table.set_column(0, "age", pc.cast(table["age"], pa.int64()))
    charges = {name: _judge(table, name) for name in ADULT_QUASI}
    for which, form, known, goal in CASES:
        used = {name: each for name, each in hierarchies.items() if name in ADULT_QUASI}
        used = {} if which == "none" else {name: used[name] for name in used if which == "all" or name != "age"}
        publish = partial(ind.anonymize, table, ind.Schema(quasi=ADULT_QUASI), algorithm=form, hierarchies=used)
        publish(model="k-anonymity:k=10")
        for k, figure in zip(KS, known, strict=True):
            began = time.perf_counter()
            release = publish(model=f"k-anonymity:k={k}")
            seconds = time.perf_counter() - began
            shown = {name: Counter(map(str, release.table[name].to_pylist())) for name in ADULT_QUASI}
            total = sum(charges[name](label) * n for name, labels in shown.items() for label, n in labels.items())
            penalty = total / len(table) / len(ADULT_QUASI)
            # In hundredths: a line has two digits.
            yield Line(
                f"{form}, hierarchies: {which}, k = {k}, {seconds:.1f} s", 100 * penalty, "%", 100 * figure, goal
            )


def loss_growth_lines(rows: int) -> Iterator[Line]:
    """A million census rows: seconds against the paper's rule, and what a minute of refine leaves of the penalty."""
    counted = count_source(ind.open(census(rows)).data, Request(QUASI))
    problem = Problem(counted.frequencies, columns_of(counted.domains, {}), ind.KAnonymity(k=5))
    forms = {form: parse_algorithm(form) for form in ("mondrian", "mondrian:choose=loss", "refine:seconds=60")}
    times, losses = {}, {}
    for form, algorithm in forms.items():
        if "refine" not in form:
            times[form] = best(partial(algorithm.search, problem), clock=time.process_time)
        losses[form] = GCP().value(assign(problem.frequencies, algorithm.find(problem)))
    by_loss = "mondrian:choose=loss"
    yield Line(f"{by_loss}, {rows:,} rows, CPU", times[by_loss], "mondrian", times["mondrian"], 10)
    yield Line(f"{by_loss}, {rows:,} rows, GCP in %", 100 * losses[by_loss], "mondrian", 100 * losses["mondrian"], None)
    for form, goal in (("mondrian", None), (by_loss, 1)):
        ours = 100 * losses["refine:seconds=60"]
        yield Line(f"refine:seconds=60, {rows:,} rows, GCP in %", ours, form, 100 * losses[form], goal)


def _judge(table: pa.Table, name: str) -> Callable[[str], float]:
    """Return what a published label of a column loses, read from the label alone."""
    values = set(map(str, table[name].to_pylist()))
    if name == "age":
        low, high = min(map(int, values)), max(map(int, values))

        def ranged(label: str) -> float:
            ends = [min(max(int(end), low), high) for end in re.findall(r"\d+", label)]
            return (max(ends) - min(ends)) / (high - low) if ends else 1.0

        return ranged
    below: dict[str, set[str]] = {"*": values}
    with Path(_find(f"adult-arx/{name}.csv", None)).open() as file:
        for row in csv.reader(file, delimiter=";"):
            for label in row if row[0] in values else ():
                below.setdefault(label, set()).add(row[0])

    def named(label: str) -> float:
        members = {label} if label in values else below.get(label) or set(label.strip("{}").split(", "))
        return 0.0 if len(members) == 1 else len(members) / len(values)

    return named
