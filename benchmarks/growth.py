"""The growth campaign: every registered algorithm on tables of awkward shapes, from ten thousand rows to a million.

Each case is a process of its own, which is ended at a limit of CPU seconds; the exponent is that of CPU time between
the largest table that was done and one a tenth of it.
"""

import math
import multiprocessing
import resource
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

import indistinct as ind
from indistinct.algorithms.registry import ALGORITHMS, parse_algorithm
from indistinct.errors import IndistinctError

SIZES = (10_000, 31_623, 100_000, 316_228, 1_000_000)
# Above this the growth is not that of sorting, and the method must say why.
MOST = 1.3
# Smaller times say nothing of growth.
LEAST = 0.1
SENSITIVE = "s"
SPELLINGS = {
    "refine": "refine:rounds=2",
    "slicing": "slicing:l=2",
    "anatomy": "anatomy:l=2",
    "multiset": "multiset:l=2",
}
QUADRATIC = {
    "kaca": "the nearest class of every small class is looked for among all",
    "tds": "one node of a hierarchy after the other, each with a look at all cells",
    "value-suppression": "one value after the other, each with a look at all cells",
}


@dataclass(frozen=True)
class Shape:
    """A kind of table: its quasi-identifiers, the number of sensitive values, and the widths of intervals by column."""

    columns: Callable[[np.random.Generator, int], Mapping[str, np.ndarray[Any, Any]]]
    widths: tuple[int, ...] = (10, 100, 1000)
    values: int = 10


def _of(count: int, size: int) -> Callable[[np.random.Generator, int], Mapping[str, np.ndarray[Any, Any]]]:
    return lambda rng, rows: {f"q{j}": rng.integers(0, size, rows) for j in range(count)}


def _giant(rng: np.random.Generator, rows: int) -> Mapping[str, np.ndarray[Any, Any]]:
    return {f"q{j}": np.where(np.arange(rows) < 0.9 * rows, 7, rng.integers(0, 100, rows)) for j in range(4)}


SHAPES = {
    "1 column": Shape(_of(1, 1000)),
    "60 columns": Shape(_of(60, 4), widths=(2,)),
    "one class": Shape(lambda rng, rows: {f"q{j}": np.full(rows, 7) for j in range(4)}),
    "all distinct": Shape(lambda rng, rows: {f"q{j}": rng.permutation(rows) for j in range(2)}, widths=(100, 10_000)),
    "Zipf": Shape(lambda rng, rows: {f"q{j}": rng.zipf(1.5, rows).clip(0, 999) for j in range(4)}),
    "giant part": Shape(_giant),
    "100,000 sensitive values": Shape(_of(3, 50), values=100_000),
    "40 levels": Shape(
        lambda rng, rows: {"q0": rng.integers(0, 1 << 40, rows), "q1": rng.integers(0, 50, rows)},
        widths=tuple(1 << level for level in range(2, 41)),
    ),
    "10^9 nodes": Shape(_of(9, 256), widths=tuple(1 << level for level in range(1, 9))),
}


@dataclass(frozen=True)
class Case:
    """What an algorithm took for a shape: CPU seconds by rows, and how it ended."""

    algorithm: str
    shape: str
    seconds: Mapping[int, float]
    end: str

    @property
    def exponent(self) -> float | None:
        """The growth between the largest table and one a tenth of it, None where they take too little time."""
        done = [(rows, taken) for rows, taken in self.seconds.items() if taken >= LEAST]
        if len(done) < 2:
            return None
        (large, most) = done[-1]
        small, least = next(((rows, taken) for rows, taken in done if rows * 11 >= large), done[-2])
        return None if small == large else math.log(most / least) / math.log(large / small)

    def text(self) -> str:
        """Return the case as a line of the report."""
        times = " ".join(f"{self.seconds[rows]:7.2f}" if rows in self.seconds else "      –" for rows in SIZES)
        grown = self.exponent
        verdict = "" if grown is None or grown <= MOST else QUADRATIC.get(self.algorithm, "ABOVE")
        shown = "   –" if grown is None else f"{grown:4.2f}"
        return f"{self.algorithm:<19} {self.shape:<25} {times}  n^{shown}  {verdict} {self.end}".rstrip()


def growth_cases(names: list[str], *, limit: float) -> Iterator[Case]:
    """Measure some algorithms, all by default, on every shape; a case is stopped after `limit` CPU seconds."""
    for name in names or ALGORITHMS:
        for shape in SHAPES:
            yield measured(name, shape, limit=limit)


def measured(name: str, shape: str, *, limit: float) -> Case:
    """Return what an algorithm takes for a shape, size after size, in a process of its own."""
    context = multiprocessing.get_context("spawn")
    mine, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_run, args=(name, shape, theirs, limit), daemon=True)
    child.start()
    theirs.close()
    seconds: dict[int, float] = {}
    end = f"stopped after {limit:g} s of CPU time"
    while not end or end.startswith("stopped"):
        try:
            told = mine.recv()
        except EOFError:
            break
        if isinstance(told, str):
            end = told
        else:
            seconds[told[0]] = told[1]
    child.join()
    return Case(name, shape, seconds, "" if SIZES[-1] in seconds else end)


def _run(name: str, shape: str, pipe: Any, limit: float) -> None:
    """Anonymize tables of growing size and tell the CPU time of each; an error or the limit ends it."""
    try:
        for rows in (300, *SIZES):  # the first one compiles
            if rows == SIZES[0]:
                until = math.ceil(time.process_time() + limit)
                resource.setrlimit(resource.RLIMIT_CPU, (until, until))
            job = _job(name, SHAPES[shape], rows)
            began = time.process_time()
            job()
            if rows in SIZES:
                pipe.send((rows, time.process_time() - began))
    except IndistinctError as error:
        pipe.send(f"{type(error).__name__}: {str(error).splitlines()[0]}")
    except MemoryError:
        pipe.send("out of memory")
    pipe.close()


def _job(name: str, shape: Shape, rows: int) -> Callable[[], ind.Release]:
    rng = np.random.default_rng(1)
    columns = shape.columns(rng, rows)
    table = pa.table({**columns, SENSITIVE: rng.integers(0, shape.values, rows).astype(str)})
    schema = ind.Schema(quasi=list(columns), sensitive=[SENSITIVE])
    algorithm = parse_algorithm(SPELLINGS.get(name, name))
    options: dict[str, Any] = {} if algorithm.traits.buckets else {"model": ind.KAnonymity(k=5)}
    if algorithm.traits.hierarchies or name == "refine":
        options["hierarchies"] = {column: ind.Hierarchy.intervals(list(shape.widths)) for column in columns}
    if algorithm.traits.suppresses:
        options["suppression"] = 0.05
    return lambda: ind.anonymize(table, schema, algorithm=algorithm, **options)
