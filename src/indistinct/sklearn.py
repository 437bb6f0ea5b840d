"""A transformer of scikit-learn: a recoding that is found on training data recodes the rows of any data.

It gives features in the order of their rows, which is no release: row order links rows to people, and nothing is
verified. Use `anonymize` to publish.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
import pyarrow as pa

from indistinct.errors import MissingExtraError, ParameterError
from indistinct.hierarchy.value import Hierarchy
from indistinct.job.publishing import anonymize, apply
from indistinct.models import KAnonymity
from indistinct.models.registry import parse_model
from indistinct.recoding.codebook import LabelEntry, codebook_of
from indistinct.recoding.forgetting import forget_values
from indistinct.recoding.kinds import RecodedColumn
from indistinct.schema import Schema
from indistinct.tables.domain import Kind

try:
    from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError:
    raise MissingExtraError("scikit-learn", extra="ml", purpose="a transformer") from None

ROW = "indistinct row"
"""A column added to keep rows in their order."""
TARGET = "target"
"""The name of `y` in a model that protects it."""


class Anonymizer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Generalize features so that the training rows satisfy a privacy model.

    `fit` searches a recoding of the columns in `quasi`, or of all; `transform` applies it to the rows of any data,
    each by itself, and returns other columns unchanged. A `model` may protect `y` under the name target.

    `output="labels"` gives what is published. `output="middle"` gives the middle of the range of a number, and labels
    of other columns. A range without an end is taken to be as wide as the median of the ranges that have both ends, or
    1 where there are none; of all numbers (`*`) the middle is that of the lowest and the highest published end, or 0.

    What is kept after `fit`, and so what a pickle contains, are labels and no other values of the training data. An
    algorithm whose recoding needs them raises `ParameterError`. A text that the recoding does not cover raises
    `UnseenValueError`.

    >>> import numpy as np
    >>> rows = np.array([[20.0, 1.0], [22.0, 1.0], [40.0, 2.0], [44.0, 2.0]])
    >>> Anonymizer("k-anonymity:k=2").fit_transform(rows)[:, 0].tolist()
    [39.5, 39.5, 40.5, 40.5]
    """

    def __init__(
        self,
        model: str = "k-anonymity:k=5",
        *,
        quasi: Sequence[str] | None = None,
        algorithm: str = "mondrian:extent=region",
        hierarchies: Mapping[str, Hierarchy] | None = None,
        output: str = "middle",
    ) -> None:
        self.model = model
        self.quasi = quasi
        self.algorithm = algorithm
        self.hierarchies = hierarchies
        self.output = output

    def fit(self, X: Any, y: Any = None) -> "Anonymizer":  # noqa: N803 (as scikit-learn calls it)
        """Find a recoding of the columns of `X`; where the model protects `target`, that is `y`."""
        if self.output not in ("middle", "labels"):
            raise ParameterError(
                f"`output` of Anonymizer must be middle or labels; got {self.output!r}",
                hint="middle gives numbers, labels what is published",
            )
        table = self._table(X, reset=True)
        model = parse_model(self.model) if isinstance(self.model, str) else self.model
        named = list(table.column_names)
        quasi = named if self.quasi is None else [name for name in named if name in set(self.quasi)]
        strange = [name for name in self.quasi or () if name not in named]
        if strange:
            raise ParameterError(f"`quasi` names {', '.join(map(repr, strange))}, which is no column", hint="see X")
        others = [name for name in named if name not in quasi]
        protects = any(TARGET in key for key in model.keys)
        if protects:
            if y is None:
                raise ParameterError("the model protects target, which is `y`", hint="give y to fit")
            table = table.append_column(TARGET, pa.array(np.asarray(y).astype(str), pa.string()))
        schema = Schema(quasi=quasi, sensitive=[TARGET] if protects else [], insensitive=[ROW, *others])
        release = anonymize(
            _with_rows(table),
            schema,
            model=model,
            algorithm=self.algorithm,
            hierarchies=self.hierarchies,
            engine="memory",
        )
        if not release.recoding.reusable:
            raise ParameterError(
                f"{self.algorithm} assigns the rows of one table, and cannot recode other tables",
                hint="use mondrian:extent=region, or a full-domain algorithm",
            )
        self.release_certificate_ = release.certificate
        self.recoding_ = forget_values(release.recoding)
        self.protects_target_ = protects
        self.middles_ = {
            column.domain.column: _Middles.of(column)
            for column in self.recoding_.columns
            if column.domain.kind is Kind.NUMBER
        }
        return self

    def transform(self, X: Any) -> Any:  # noqa: N803 (as scikit-learn calls it)
        """Return the rows of `X` recoded, in their order."""
        check_is_fitted(self)
        table = self._table(X, reset=False)
        names = table.column_names
        if self.protects_target_:  # its values are not used, but the recoding has a column of that name
            table = table.append_column(TARGET, pa.array(["any"] * table.num_rows, pa.string()))
        made = apply(self.recoding_, _with_rows(table), model=KAnonymity(1), engine="memory", suppression=0)
        published = made.table.sort_by(ROW).select(names)
        columns = [self._column(published[name], name) for name in names]
        if all(column.dtype.kind == "f" for column in columns):
            return np.column_stack(columns)
        objects = np.empty((table.num_rows, len(names)), dtype=object)
        for index, column in enumerate(columns):
            objects[:, index] = column
        return objects

    def __sklearn_tags__(self) -> Any:
        """Return the accepted data: numbers and texts, with missing values as their own values."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.target_tags.required = False
        return tags

    def _table(self, X: Any, *, reset: bool) -> pa.Table:  # noqa: N803
        """Return data as a table, after scikit-learn's own checks; a frame keeps the types of its columns."""
        frame = X if hasattr(X, "columns") and hasattr(X, "dtypes") else None
        if frame is not None and any(getattr(kind, "kind", "") == "M" for kind in frame.dtypes):
            X = frame.astype(object)  # noqa: N806 (NumPy has no type for moments and numbers together)
        checked = validate_data(self, X, reset=reset, dtype=None, ensure_all_finite="allow-nan")
        names = [str(name) for name in getattr(self, "feature_names_in_", [f"x{i}" for i in range(checked.shape[1])])]
        if frame is not None and len(set(names)) == len(names):
            return pa.table({name: _array(np.asarray(frame[name])) for name in names})
        return pa.table({name: _array(checked[:, index]) for index, name in enumerate(names)})

    def _column(self, column: pa.ChunkedArray, name: str) -> Any:
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        if _is_number(kind):
            return column.cast(pa.float64(), safe=False).to_numpy()
        if self.output == "middle" and name in self.middles_:
            return self.middles_[name].of_labels(column)
        return np.asarray(column.cast(pa.string()).to_pylist(), dtype=object)


@dataclass(frozen=True, slots=True)
class _Middles:
    """Numbers that replace the published ranges of a column, computed from its labels.

    `width` is used for a range with one open end, and `centre` for one with two.
    """

    width: float
    centre: float

    @classmethod
    def of(cls, column: RecodedColumn) -> "_Middles":
        """Return the middles for a column of a recoding."""
        entries = _entries_of(column.summary.published.outputs[0][1])
        ends = [float(end) for each in entries for end in (each.low, each.high) if end is not None]  # type: ignore[arg-type]
        pairs = [(each.low, each.high) for each in entries if None not in (each.low, each.high)]
        widths = [float(high) - float(low) for low, high in pairs if low != high]  # type: ignore[arg-type]
        return cls(float(np.median(widths)) if widths else 1.0, min(ends) / 2 + max(ends) / 2 if ends else 0.0)

    def of_labels(self, column: pa.ChunkedArray) -> Any:
        """Return the middle of the range of every row; missing values stay missing."""
        coded = column.cast(pa.string()).combine_chunks().dictionary_encode(null_encoding="encode")
        middles = {entry.label: self._of(entry) for entry in _entries_of(coded.dictionary)}
        own = np.array([middles[label] for label in coded.dictionary.to_pylist()], dtype=np.float64)
        return own[coded.indices.to_numpy(zero_copy_only=False)]

    def _of(self, entry: LabelEntry) -> float:
        if entry.kind == "missing":
            return np.nan
        low, high = (None if end is None else float(end) for end in (entry.low, entry.high))  # type: ignore[arg-type]
        if low is None and high is None:
            return self.centre
        if low is None or high is None:
            return low + self.width / 2 if low is not None else high - self.width / 2  # type: ignore[operator]
        return low / 2 + high / 2


def _entries_of(labels: pa.Array) -> tuple[LabelEntry, ...]:
    return codebook_of(pa.table({"label": labels.cast(pa.string())}), columns=["label"]).entries


def _array(values: Any) -> pa.Array:
    """Return the values of a feature as Arrow has them: numbers, moments or texts; NaN and NaT are missing.

    Texts stay texts, also those that could be read as numbers: a postal code such as 02138 is none.
    """
    if values.dtype.kind in "iufb":
        return pa.array(values.astype(np.float64), pa.float64(), from_pandas=True)
    if values.dtype.kind == "M":
        return pa.array(values.astype("datetime64[us]"), pa.timestamp("us"), from_pandas=True)
    cells = [None if _is_missing(value) else value for value in values.tolist()]
    if all(isinstance(cell, Real | Decimal) for cell in cells if cell is not None):
        return pa.array([None if cell is None else float(cell) for cell in cells], pa.float64())
    return pa.array([None if cell is None else str(cell) for cell in cells], pa.string())


def _is_missing(value: Any) -> bool:
    return value is None or type(value).__name__ == "NAType" or bool(value != value)  # pandas' NA equals nothing


def _with_rows(table: pa.Table) -> pa.Table:
    return table.append_column(ROW, pa.array(np.arange(table.num_rows)))


def _is_number(kind: pa.DataType) -> bool:
    return pa.types.is_floating(kind) or pa.types.is_integer(kind)
