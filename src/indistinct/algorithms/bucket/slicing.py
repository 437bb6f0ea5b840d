"""Slicing: columns of dependent attributes are permuted inside buckets (Li, Li, Zhang, Molloy 2012).

Attributes are grouped into columns by their correlation, and tuples into buckets; inside a bucket every column is
permuted on its own. Values stay unmodified, sensitive values are l-diverse for every tuple, and the many combinations
that could have been rows hide who is in the table.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Annotated, Any, ClassVar

import numpy as np

from indistinct.algorithms.base import Algorithm, AlgorithmTraits, AlgorithmWords, Problem
from indistinct.algorithms.bucket.attributes import (
    Columns,
    check_sharing,
    explicit_columns,
    partition_attributes,
    share_by_correlation,
)
from indistinct.algorithms.bucket.bucketization import Bucketization
from indistinct.algorithms.bucket.correlation import correlations, put_into_bins
from indistinct.algorithms.bucket.diversity import TupleLinks, largest_diversity, links_of
from indistinct.algorithms.bucket.tuples import Rules, lines_of, partition_by_check, partition_by_kernel
from indistinct.algorithms.full_domain.optimal import Optimal
from indistinct.algorithms.parameters import BUCKET_SIZE, DIVERSITY, TRY_ALL_COLUMNS
from indistinct.algorithms.partition.mondrian import Mondrian
from indistinct.algorithms.partition.single_dimensional import SingleDimensional
from indistinct.errors import Feasible, InfeasibleError, ParameterError, SchemaError
from indistinct.frequencies.pieces import Pieces
from indistinct.frequencies.structure import CLASSES, Buckets, Form, Structure
from indistinct.machine.arrays import Codes, Floats
from indistinct.models.alpha_k import AlphaK
from indistinct.models.base import Model
from indistinct.models.k_anonymity import KAnonymity
from indistinct.models.l_diverse_links import LDiverseLinks
from indistinct.parameters import Choice, Parameter, Whole, check_parameters
from indistinct.recoding.assign import assign, project
from indistinct.recoding.columns import QuasiColumn
from indistinct.recoding.kinds import ByBucket, Recoding
from indistinct.schema import Schema
from indistinct.text_form import split

AUTO = "auto"
# Two columns for the other attributes, in addition to those of sensitive attributes: not even the known attributes can
# then be linked.
OTHER_COLUMNS = 2
# Mean number of rows of a value from which on an attribute may be taken over by another column.
ROWS_A_VALUE = 5
GENERALIZERS: Mapping[str, Algorithm] = MappingProxyType(
    {algorithm.name: algorithm for algorithm in (Mondrian(), SingleDimensional(), Optimal())}
)
"""Algorithms whose recodings map every vector to one class and suppress none."""


@dataclass(frozen=True, slots=True)
class Slicing(Bucketization):
    """Columns of dependent attributes, permuted inside buckets.

    `columns` is a number of columns, or the columns themselves (`age+sex|zipcode+disease`; from Python also lists of
    names), or `each` for one attribute a column, or `whole` for bucketization: all attributes that are not sensitive in
    one column. `alpha` is the number of attributes in the column of a sensitive attribute: itself and those that depend
    on it most; by default it takes one partner if the whole table stays l-diverse with it. `clustered` treats sensitive
    attributes like any other. `generalize` first generalizes each column, by the algorithm `generalizer`, until every
    value occurs at least that often. `size` is the least number of rows in a bucket; `try_all_dims` tries all
    attributes for a split and not only the widest. Ordered attributes are put into `bins` before their correlation is
    measured. `overlap` is how many attributes a column may have in common with another one: each column without a
    sensitive attribute takes over those of another column that it depends on most, and columns that are named may
    repeat attributes (`age+sex|sex+zipcode|zipcode+disease`). Published rows agree with every column.

    Guarantees: p(t, s) is at most 1 / l for every tuple t of the table and every sensitive value s; every column keeps
    its values in every bucket.

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
    >>> release = ind.anonymize(table, schema, algorithm=ind.Slicing(l=2))
    >>> release.table.column_names, release.certificate.holds
    (['bucket', 'age', 'disease'], True)
    """

    name: ClassVar[str] = "slicing"
    words: ClassVar[AlgorithmWords] = AlgorithmWords(
        "Columns that belong together, shuffled",
        "Keeps columns together that depend on each other, and shuffles the rest inside buckets.",
    )
    spelled: ClassVar[tuple[str, ...]] = ("columns",)
    traits: ClassVar[AlgorithmTraits] = AlgorithmTraits(local=True, reusable=False, buckets=True)
    l: Annotated[int | None, DIVERSITY] = None
    columns: Annotated[
        tuple[str, ...],
        Parameter(
            "Columns that stay together", "auto, each, whole, a number of columns, or sets such as age+sex|zip+disease."
        ),
    ] = (AUTO,)
    alpha: Annotated[
        int | None,
        Parameter(
            "Columns with a sensitive one",
            "Columns that share the slice of a sensitive column; by default one, where that is safe.",
            Whole(),
        ),
    ] = None
    clustered: Annotated[
        bool,
        Parameter("Cluster sensitive columns too", "Treat sensitive columns like others when columns are grouped."),
    ] = False
    size: Annotated[int, BUCKET_SIZE] = 1
    try_all_dims: Annotated[bool, TRY_ALL_COLUMNS] = False
    generalize: Annotated[
        int,
        Parameter(
            "Smallest count of a value",
            "Generalize values first so that each occurs this often; 1 changes nothing.",
            Whole(),
        ),
    ] = 1
    generalizer: Annotated[
        str,
        Parameter("Algorithm for that", "Algorithm that generalizes values first.", Choice(tuple(GENERALIZERS))),
    ] = "mondrian"
    bins: Annotated[
        int, Parameter("Bins", "Bins of an ordered column when dependence is measured; 10 is usual.", Whole(2))
    ] = 10
    overlap: Annotated[
        int,
        Parameter(
            "Shared columns",
            "Columns that a slice may have in common with another one; 0 keeps every column in one slice.",
            Whole(0),
        ),
    ] = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", _spell_columns(self.columns))
        check_parameters(self)
        if self.clustered and self.alpha is not None:
            raise ParameterError(
                "`alpha` and `clustered` of Slicing cannot be used together",
                parameter="alpha",
                hint="alpha builds the column of a sensitive attribute, clustered leaves it to the clustering",
            )
        if self.overlap and (self.generalize > 1 or self.columns in (("each",), ("whole",))):
            raise ParameterError(
                "`overlap` of Slicing needs columns of several attributes with exact values",
                parameter="overlap",
                hint="leave out generalize, and choose columns by their number or by name",
            )

    def promise(self) -> Model:
        """The guarantee: links have at most probability 1 / l, and buckets have at least `size` rows."""
        rows: Model = KAnonymity(self.size)
        if self.l is None:
            return rows
        return LDiverseLinks(self.l) & rows if self.size > 1 else LDiverseLinks(self.l)

    def structure(self, schema: Schema, certified: Structure = CLASSES) -> Buckets:
        """Return the slices: the columns given as a parameter, or those in the certificate."""
        fixed = self.fixed_columns((*schema.quasi, *schema.insensitive), schema.sensitive)
        slices = fixed or certified.slices
        if not slices:
            raise ParameterError(
                "the columns of the release are not known",
                hint="keep its certificate with it, or name them: slicing:l=5,columns=age+sex|zipcode+disease",
            )
        return Buckets("sliced", tuple(slices), certified.generalized if self.generalize > 1 else ())

    def publishes_hierarchy(self, column: QuasiColumn) -> bool:
        """Return whether the generalizer, if there is one, publishes labels of the column's hierarchy."""
        return self.generalize > 1 and GENERALIZERS[self.generalizer].publishes_hierarchy(column)

    def search(self, problem: Problem) -> ByBucket:
        """Return the recoding that slices the table."""
        return self.bucketed(problem, form="sliced")

    def bucketed(self, problem: Problem, *, form: Form) -> ByBucket:
        """Return the recoding whose buckets are published in the given form."""
        l = self._diversity(problem)
        sensitive = [column.name for column in problem.sensitive]
        slices = self._slices(problem, l)
        problem.progress(0.3)
        recodings, labels = generalize_slices(problem, slices, k=self.generalize, generalizer=self.generalizer)
        links = links_of(problem.frequencies, slices, sensitive=sensitive, class_ids=labels)
        _check_whole(links, l)
        class_ids = self._buckets(problem, links, l, generalized=bool(labels))
        pieces = Pieces.of(problem.frequencies)
        return ByBucket(
            (),
            tuple(column.domain for column in problem.columns),
            np.ascontiguousarray(problem.frequencies.vectors),
            pieces.cells,
            pieces.joint,
            class_ids[pieces.cells],
            pieces.counts,
            slices,
            recodings,
            form=form,
            l=l if sensitive else None,
            size=self.size,
        )

    def _diversity(self, problem: Problem) -> int:
        """Return l, 1 without a sensitive column; raise if the table cannot be sliced."""
        if len(problem.columns) + len(problem.sensitive) < 2:
            raise SchemaError(
                "slicing needs at least two published columns: with one there is no link to hide",
                hint="publish another column, or use an algorithm that generalizes, such as mondrian",
            )
        if problem.sensitive and self.l is None:
            raise ParameterError("slicing of a table with sensitive columns needs l", hint="for example slicing:l=5")
        if not problem.sensitive and self.l is not None:
            raise ParameterError.of(
                "slicing",
                "l",
                "applies to sensitive columns, but the schema names none",
                hint="give a column the role sensitive, or ask for buckets by size: slicing:size=10",
            )
        if not problem.sensitive and self.size < 2:
            raise ParameterError(
                "slicing without a sensitive column needs the size of its buckets", hint="for example slicing:size=10"
            )
        return self.l or 1

    def fixed_columns(self, known: Sequence[str], sensitive: Sequence[str]) -> Columns | None:
        """Return the columns that a parameter names, independent of the data.

        None where they are found by correlation.
        """
        names = [*known, *sensitive]
        match self.columns:
            case ("each",):
                return tuple((name,) for name in names)
            case ("whole",):
                if not sensitive:
                    raise ParameterError("bucketization (columns=whole) needs a sensitive column", hint="columns=each")
                return (tuple(known), *((name,) for name in sensitive))
            case (one,) if one == AUTO or one.isdigit():
                return None
            case given:
                columns = explicit_columns([_attributes(column) for column in given], names, overlap=self.overlap)
                check_sharing(columns, sensitive=sensitive, overlap=self.overlap)
                return columns

    def _slices(self, problem: Problem, l: int) -> Columns:
        """Divide the attributes into columns: as declared, or by correlation."""
        known = list(problem.frequencies.names)
        sensitive = [column.name for column in problem.sensitive]
        fixed = self.fixed_columns(known, sensitive)
        if fixed is not None:
            return fixed
        names = [*known, *sensitive]
        usual = min(len(sensitive) + OTHER_COLUMNS, len(names))
        count = usual if self.columns == (AUTO,) else int(self.columns[0])
        return self._columns_by_correlation(problem, names, sensitive, count=count, l=l)

    def _columns_by_correlation(
        self, problem: Problem, names: list[str], sensitive: list[str], *, count: int, l: int
    ) -> Columns:
        """Return columns grouped by correlation."""
        pieces = Pieces.of(problem.frequencies)
        by_name = {column.name: column for column in (*problem.columns, *problem.sensitive)}
        columns = [_codes_in_bins(by_name[name], self.bins)[pieces.column(problem.frequencies, name)] for name in names]
        correlated = correlations(columns, weights=pieces.counts, progress=lambda share: problem.progress(0.3 * share))
        slices = self._cluster(problem, names, correlated, sensitive, count=count, l=l)
        most = problem.frequencies.rows / ROWS_A_VALUE
        distinctive = [name for name in names if len(by_name[name].domain) > most]
        return share_by_correlation(
            names, correlated, slices, sensitive=sensitive, distinctive=distinctive, overlap=self.overlap
        )

    def _cluster(
        self, problem: Problem, names: list[str], values: Floats, sensitive: list[str], *, count: int, l: int
    ) -> Columns:
        """Return columns of attributes that depend on each other, each attribute in one."""
        if self.clustered or not sensitive or self.alpha is not None:
            alpha = self.alpha if sensitive else None
            return partition_attributes(names, values, sensitive=sensitive, columns=count, alpha=alpha)
        slices = partition_attributes(names, values, sensitive=sensitive, columns=count, alpha=1)
        if len(names) < 2 * len(sensitive) + (count - len(sensitive)):
            return slices
        paired = partition_attributes(names, values, sensitive=sensitive, columns=count, alpha=2)
        largest = largest_diversity(links_of(problem.frequencies, paired, sensitive=sensitive))
        return paired if largest is not None and largest >= l else slices

    def _buckets(self, problem: Problem, links: TupleLinks, l: int, *, generalized: bool) -> Codes:
        """Partition the tuples into buckets."""
        parts = problem.model.parts()
        size = max([self.size, *(model.smallest for model in parts if model.traits.sizes_only)])
        # Every split keeps the algorithm's own guarantee.
        models = tuple(m for m in parts if not m.traits.sizes_only and not m.of_links)
        if size > problem.frequencies.rows:
            raise InfeasibleError(
                f"buckets of {size:,} rows are asked for, and the table has {problem.frequencies.rows:,}",
                hint=f"ask for at most {problem.frequencies.rows:,}",
                feasible=Feasible({"size": problem.frequencies.rows}, of_algorithm=True),
            )
        if generalized and models:
            # Generalized tuples match several buckets. Each bucket is made diverse on its own, which a reader of the
            # release can check; the kernel does the same.
            models += tuple(AlphaK(column.name, Fraction(1, l), 1) for column in problem.sensitive)
        rules = Rules(l, size, self.try_all_dims, models)
        lines = lines_of(problem.columns, problem.frequencies.vectors)
        if models:
            class_ids, checks = partition_by_check(problem, lines, links, rules)
        else:
            class_ids, checks = partition_by_kernel(lines, links, rules)
        problem.counters["checks"] += checks
        return class_ids


def _check_whole(links: TupleLinks, l: int) -> None:
    """Raise if the whole table as one bucket is not l-diverse."""
    largest = largest_diversity(links)
    if largest is not None and largest < l:
        alone = all(int(part.max()) == 0 for part in links.parts)
        more = "" if alone else "; fewer attributes next to the sensitive one allow more"
        where = "this table allows" if alone else "these columns allow"
        little = ", which promises nothing" if largest == 1 else ""
        raise InfeasibleError(
            f"l = {l} cannot hold: the whole table as one bucket links a tuple to a sensitive value too strongly",
            hint=f"the largest l that {where} is {largest}{little}{more}",
            feasible=Feasible({"l": largest}, of_algorithm=True),
        )


def _codes_in_bins(column: QuasiColumn, bins: int) -> Codes:
    """Return the codes by which values of an attribute are compared: ordered ones in bins, missing as its own code."""
    codes = np.arange(len(column.domain))
    if not column.domain.ordered or not len(column.domain.values):
        return codes
    missing = int(column.domain.missing)
    codes[missing:] = put_into_bins(column.positions[missing:], bins) + missing
    return codes


def _attributes(text: str) -> list[str]:
    """Return the attributes in the text of a column, joined by `+`.

    A `+` or backslash in a name is escaped by a backslash.
    """
    names, literal = [""], False
    for letter in text:
        if literal or letter not in "+\\":
            names[-1] += letter
            literal = False
        elif letter == "+":
            names.append("")
        else:
            literal = True
    return names


def _spell_columns(columns: Any) -> tuple[str, ...]:
    """Return columns as texts, given a number, texts, or lists of names."""
    if isinstance(columns, int) and not isinstance(columns, bool):
        return (str(columns),)
    if isinstance(columns, str):
        return tuple(split(columns, "|"))
    try:
        return tuple(
            column if isinstance(column, str) else "+".join(re.sub(r"([+\\])", r"\\\1", name) for name in column)
            for column in columns
        )
    except TypeError:
        raise ParameterError(
            f"`columns` of Slicing must be lists of names, their number, or text; got {type(columns).__name__}",
            hint='for example columns=[["age", "sex"], ["zipcode", "disease"]]',
        ) from None


def generalize_slices(
    problem: Problem, slices: Sequence[Sequence[str]], *, k: int, generalizer: str
) -> tuple[tuple[Recoding, ...], dict[int, Codes]]:
    """Return recodings under which the known values of every slice occur at least `k` times in the table.

    The second part maps the index of each such slice to the class of every cell.
    """
    if k < 2:
        return (), {}
    frequencies = problem.frequencies
    if k > frequencies.rows:
        raise InfeasibleError(
            f"every value of a column is to occur {k:,} times, and the table has {frequencies.rows:,} rows",
            hint=f"generalize by at most {frequencies.rows:,}",
            feasible=Feasible({"generalize": frequencies.rows}, of_algorithm=True),
        )
    recodings, class_ids = [], {}
    for index, names in enumerate(slices):
        known = [name for name in frequencies.names if name in names]
        if not known:
            continue
        projected, cells = project(frequencies, known)
        columns = tuple(column for column in problem.columns if column.name in known)
        recoding = GENERALIZERS[generalizer].find(Problem(projected, columns, KAnonymity(k)))
        recodings.append(recoding)
        class_ids[index] = assign(projected, recoding).class_ids[cells]
    return tuple(recodings), class_ids


@dataclass(frozen=True, slots=True)
class Multiset(Bucketization):
    """Buckets as slicing finds them, published as multisets such as `22:2,33:1,52:1`.

    `size` is the least number of rows in a bucket; `try_all_dims` tries all attributes for a split and not only the
    widest.

    Guarantees: every bucket is l-diverse, and its multisets are exact.
    """

    name: ClassVar[str] = "multiset"
    words: ClassVar[AlgorithmWords] = AlgorithmWords(
        "Values of each group, counted", "Publishes which values each bucket has, and how often."
    )
    traits: ClassVar[AlgorithmTraits] = AlgorithmTraits(local=True, reusable=False, buckets=True)
    l: Annotated[int, DIVERSITY]
    size: Annotated[int, BUCKET_SIZE] = 1
    try_all_dims: Annotated[bool, TRY_ALL_COLUMNS] = False

    def promise(self) -> Model:
        """The guarantee: buckets are l-diverse and have at least `size` rows."""
        return self._slicing().promise()

    def structure(self, schema: Schema, certified: Structure = CLASSES) -> Buckets:
        """Return one slice for each attribute."""
        names = (*schema.quasi, *schema.insensitive, *schema.sensitive)
        return Buckets("multiset", tuple((name,) for name in names))

    def _slicing(self) -> Slicing:
        """Return the slicing that makes the same buckets: every attribute in a slice of its own."""
        return Slicing(l=self.l, columns=("each",), size=self.size, try_all_dims=self.try_all_dims)

    def search(self, problem: Problem) -> ByBucket:
        """Return the recoding that publishes multisets."""
        if not problem.sensitive:
            raise SchemaError(
                "multiset generalization needs a sensitive column", hint="slicing works without one: slicing:size=10"
            )
        return self._slicing().bucketed(problem, form="multiset")
