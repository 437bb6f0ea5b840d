"""Anatomy: exact quasi-identifiers in one table, sensitive values by bucket in another (Xiao and Tao 2006).

Rows are put into groups of at least l rows with pairwise distinct sensitive values. The release shows the group of each
row and the sensitive values of each group, so a value is linked to a person with a probability of at most 1 / l.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, ClassVar, Literal

import numpy as np

from indistinct.algorithms.base import AlgorithmTraits, AlgorithmWords, Problem
from indistinct.algorithms.bucket import _kernels
from indistinct.algorithms.bucket.bucketization import Bucketization
from indistinct.algorithms.parameters import DIVERSITY
from indistinct.errors import Feasible, InfeasibleError, SchemaError
from indistinct.figures import plural
from indistinct.frequencies.encode import distinct_codes
from indistinct.frequencies.pieces import Pieces
from indistinct.frequencies.structure import CLASSES, Buckets, Form, Structure
from indistinct.machine.arrays import Codes, empty_large, narrowest, repeat_values, run_starts, starts_of
from indistinct.machine.ordering import sort_words
from indistinct.machine.randomness import shuffle_runs
from indistinct.models.base import Model
from indistinct.models.l_diverse_links import LDiverseLinks
from indistinct.parameters import Parameter
from indistinct.recoding.kinds import ByBucket
from indistinct.schema import Schema

# Random streams of a seed: of each hundred the search uses the fourth; engines use others.
RANDOM_STREAM, STREAMS_PER_SEED = 3, 100
# Number of draws before the search gives up because the groups are not diverse in a further sensitive column.
MAX_DRAWS = 20


@dataclass(frozen=True, slots=True)
class Anatomy(Bucketization):
    """Groups of `l` rows with distinct sensitive values.

    Of several sensitive columns the one with the most frequent value is made distinct; in the others the drawn groups
    must be l-diverse; the sensitive values of a row stay together. `form` is what is published: `tables`, the
    quasi-identifiers with their group and, apart from them, the sensitive values with theirs; or `permuted`, one table
    in which the sensitive values of a group are in random order.

    Guarantees: every group has l to 2l - 1 rows with distinct sensitive values; there are rows / l groups; the
    reconstruction error is the least that any grouping with that l has if l divides the number of rows. (With several
    sensitive columns this holds for the one that is made distinct.)

    Raises
    ------
    ParameterError
        If a parameter has a value that it does not take.

    Examples
    --------
    >>> import indistinct as ind
    >>> import pyarrow as pa
    >>> table = pa.table({"age": [21, 22, 23, 41, 42, 44], "disease": ["flu", "cold", "flu", "cold", "flu", "cold"]})
    >>> schema = ind.Schema(quasi=["age"], sensitive=["disease"])
    >>> release = ind.anonymize(table, schema, algorithm=ind.Anatomy(l=2))
    >>> list(release.tables), release.certificate.holds
    (['', 'sensitive'], True)
    """

    name: ClassVar[str] = "anatomy"
    words: ClassVar[AlgorithmWords] = AlgorithmWords(
        "Exact values, sensitive ones apart",
        "Publishes exact values, and sensitive ones apart from them, in buckets of l different values.",
    )
    traits: ClassVar[AlgorithmTraits] = AlgorithmTraits(
        local=True, splits=True, reusable=False, buckets=True, own_promise=True, draws=True
    )
    l: Annotated[int, DIVERSITY]
    form: Annotated[
        Literal["tables", "permuted"],
        Parameter("Published form", "tables: two tables; permuted: one table, shuffled inside buckets."),
    ] = "tables"

    def promise(self) -> Model:
        """The guarantee: groups have l distinct values."""
        return LDiverseLinks(self.l)

    def structure(self, schema: Schema, certified: Structure = CLASSES) -> Buckets:
        """Return two slices: the known columns, and the sensitive ones."""
        form: Form = "tables" if self.form == "tables" else "sliced"
        return Buckets(form, ((*schema.quasi, *schema.insensitive), tuple(schema.sensitive)))

    def search(self, problem: Problem) -> ByBucket:
        """Return a recoding that puts each row into a group, drawn among the groups of its value."""
        if not problem.sensitive:
            raise SchemaError(
                "anatomy needs a sensitive column; the schema names none", hint="slicing works without: slicing:size=10"
            )
        _check_group_size(problem, self.l)
        pieces = Pieces.of(problem.frequencies)
        sensitive = tuple(column.name for column in problem.sensitive)
        columns = {name: pieces.column(problem.frequencies, name) for name in sensitive}
        counts = {name: np.bincount(codes, weights=pieces.counts).astype(np.int64) for name, codes in columns.items()}
        chosen = max(sensitive, key=lambda name: int(counts[name].max()))
        rows = {name: repeat_values(_narrow(codes), pieces.counts) for name, codes in columns.items()}
        singles = Pieces(
            repeat_values(pieces.cells, pieces.counts),
            None if pieces.joint is None else repeat_values(_narrow(pieces.joint), pieces.counts),
            repeat_values(np.ones(1, dtype=np.int32), np.array([problem.frequencies.rows])),
            empty_large(problem.frequencies.rows, np.int32),
        )
        rules = _rules(problem, singles, {name: codes for name, codes in rows.items() if name != chosen}, self.l)
        _draw(rows[chosen], counts[chosen], self.l, seed=problem.seed, rules=rules, class_ids=singles.class_ids)
        problem.progress(0.9)
        problem.counters["groups"] += problem.frequencies.rows // self.l
        return ByBucket(
            (),
            tuple(column.domain for column in problem.columns),
            problem.frequencies.vectors,
            singles.cells,
            singles.joint,
            singles.class_ids,
            singles.counts,
            (problem.frequencies.names, sensitive),
            form="tables" if self.form == "tables" else "sliced",
            l=self.l,
        )


def anatomize(values: Codes, l: int) -> Codes:
    """Return the group of every row, given its sensitive value: groups of `l` distinct values, by largest counts.

    Of values with equally many rows left the smaller comes first, and of a value's rows the first. Raises
    `InfeasibleError` if a value has more than rows / l of them.

    >>> anatomize(np.array([1, 2, 2, 0, 2, 1, 1, 3]), 2).tolist()
    [0, 0, 1, 2, 3, 1, 2, 3]
    """
    counts = np.bincount(values)
    class_ids = np.empty(len(values), dtype=np.int32)
    _kernels.deal_labels(values, starts_of(counts)[:-1].copy(), _sequence(counts, l), class_ids)
    return class_ids


def _narrow(codes: Codes) -> Codes:
    """Cast codes to the narrowest type that holds them."""
    return codes.astype(narrowest(int(codes.max(initial=0)) + 1))


def _sequence(counts: Codes, l: int) -> Codes:
    """Return for each value, in order, the ascending list of groups that get one of its rows, concatenated."""
    rows, largest = int(counts.sum()), int(counts.max())
    if largest * l > rows:
        raise InfeasibleError(
            f"l = {l} cannot hold: the most frequent sensitive value has {largest:,} of {rows:,} rows, more than one "
            f"in {l}",
            hint=f"the largest l that this table allows is {rows // largest}",
            feasible=Feasible({"l": rows // largest}, of_algorithm=True),
        )
    starts, sequence = starts_of(counts), np.full(rows, -1, dtype=np.int32)
    heap, taken = np.empty(len(counts), dtype=np.int64), np.empty(l, dtype=np.int64)
    groups = _kernels.draw_groups(starts, l, heap, taken, sequence)
    if not _kernels.place_leftovers(starts, sequence, groups):
        raise AssertionError("an eligible table has a group for every row")
    return sequence


def _check_group_size(problem: Problem, l: int) -> None:
    """Raise `InfeasibleError` if a group must be smaller than the model allows; done before anything is drawn."""
    rows, groups = problem.frequencies.rows, max(problem.frequencies.rows // l, 1)
    model = max(problem.model.parts(), key=lambda part: part.smallest)
    if rows >= l and model.smallest > rows // groups:
        raise InfeasibleError(
            f"anatomy with l = {l} makes groups of {plural(rows // groups, 'row')}, and {model.spec()} asks for "
            f"{model.smallest} in each",
            hint=f"l = {model.smallest} makes groups that are large enough, and slicing makes buckets of any size",
            feasible=Feasible({"l": model.smallest}, of_algorithm=True),
        )


Rules = dict[str, Callable[[], int]]
"""Rules that groups must satisfy beyond their own column; each function counts the groups that break its rule."""


def _rules(problem: Problem, rows: Pieces, others: Mapping[str, Codes], l: int) -> Rules:
    """Return functions that each count the groups that violate one rule, given groups in `rows.class_ids`."""
    rules: Rules = {
        f"1 / {l} in column {name!r}": partial(_exceeding, rows.class_ids, codes, l) for name, codes in others.items()
    }
    rules |= {
        part.spec(): partial(_violating, problem, rows, part)
        for part in problem.model.parts()
        if not (part.of_links or part.traits.sizes_only) or part.smallest > l
    }
    return rules


def _violating(problem: Problem, rows: Pieces, model: Model) -> int:
    """Return the number of groups that violate a model; known columns that the model looks at divide the groups."""
    frequencies = problem.frequencies
    problem.counters["checks"] += 1
    if any(name in frequencies.names for key in model.keys for name in key):
        words = rows.class_ids.astype(np.int64) * len(frequencies) + rows.cells
        rows = replace(rows, class_ids=distinct_codes(words)[1])
    return int(np.count_nonzero(model.violations(rows.classes(frequencies, rows.size))))


def _draw(values: Codes, counts: Codes, l: int, *, seed: int | None, rules: Rules, class_ids: Codes) -> None:
    """Write to `class_ids` the first of several drawn assignments that satisfies all rules.

    Taking a value's rows in canonical order would line the groups up with the quasi-identifiers, and a reader who knows
    how these correlate with the sensitive values could infer a value with more than 1 / l.
    """
    broken: dict[str, int] = {}
    starts, sequence = starts_of(counts), _sequence(counts, l)
    for draw in range(MAX_DRAWS):
        shuffle_runs(sequence, starts, seed, stream=RANDOM_STREAM + STREAMS_PER_SEED * draw)
        _kernels.deal_labels(values, starts[:-1].copy(), sequence, class_ids)
        broken = {rule: count() for rule, count in rules.items()}
        if not any(broken.values()):
            return
    worst = max(broken, key=broken.__getitem__)
    raise InfeasibleError(
        f"none of {MAX_DRAWS} groupings satisfies {worst}; the last one violates it in "
        f"{plural(broken[worst], 'group')}",
        hint="slicing looks at every sensitive column and at any model; or ask for less, or for one sensitive column",
    )


def _exceeding(class_ids: Codes, values: Codes, l: int) -> int:
    """Return the number of groups in which a value has a share above 1 / l."""
    sizes, width = np.bincount(class_ids), int(values.max()) + 1
    words = sort_words(class_ids.astype(np.uint64) * np.uint64(width) + values.astype(np.uint64))
    starts = run_starts(words)
    groups = (words[starts[:-1]] // np.uint64(width)).astype(np.int64)
    exceeding = np.zeros(len(sizes), dtype=bool)
    exceeding[groups[l * np.diff(starts) > sizes[groups]]] = True
    return int(exceeding.sum())
