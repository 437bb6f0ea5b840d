"""A transformer of scikit-learn: a recoding that is found on training data recodes the rows of any data.

What it gives are features, in the order of their rows, and no release: order tells whose row is whose, and nobody
verified it. `anonymize` publishes.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from indistinct.errors import MissingExtraError, ParameterError
from indistinct.hierarchy import Hierarchy
from indistinct.job.publishing import anonymize, apply
from indistinct.models import KAnonymity
from indistinct.models.registry import parse_model
from indistinct.recoding.intervals import RangeColumn, range_column
from indistinct.schema import Schema
from indistinct.tables.domain import Kind

try:
    from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError:
    raise MissingExtraError("scikit-learn", extra="ml", purpose="a transformer") from None

ROW = "indistinct row"
"""The column that keeps rows in their order, beside those that are recoded."""
TARGET = "target"
"""What a model calls `y`, where it protects that."""


class Anonymizer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Recode features so that every training row is among others that look alike.

    `fit` searches a recoding of the columns that `quasi` names, or of all; `transform` applies it to the rows of any
    data, each by itself, and leaves other columns as they are. A `model` may protect `y` by the name target. Of numbers
    `output="middle"` gives the middle of their range, where an open end is that of the training data, and
    `output="labels"` what is published. A text that the recoding does not cover raises `UnseenValueError`.

    >>> import numpy as np
    >>> rows = np.array([[20.0, 1.0], [22.0, 1.0], [40.0, 2.0], [44.0, 2.0]])
    >>> Anonymizer("k-anonymity:k=2").fit_transform(rows)[:, 0].tolist()
    [30.0, 30.0, 42.0, 42.0]
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
                f"{self.algorithm} speaks of the rows of one table, and cannot recode others",
                hint="use mondrian:extent=region, or a full-domain algorithm",
            )
        self.release_certificate_ = release.certificate
        self.recoding_ = release.recoding
        self.protects_target_ = protects
        self.ends_ = {name: _ends_of(table[name]) for name in quasi if _is_number(table.schema.field(name).type)}
        return self

    def transform(self, X: Any) -> Any:  # noqa: N803 (as scikit-learn calls it)
        """Return the rows of `X` recoded, in their order."""
        check_is_fitted(self)
        table = self._table(X, reset=False)
        names = table.column_names
        if self.protects_target_:  # nobody looks at it, but the recoding knows a column of that name
            table = table.append_column(TARGET, pa.array(["any"] * table.num_rows, pa.string()))
        made = apply(self.recoding_, _with_rows(table), model=KAnonymity(1), engine="memory", suppression=0)
        shown = made.table.sort_by(ROW).select(names)
        columns = [self._column(shown[name], name) for name in names]
        if all(column.dtype.kind == "f" for column in columns):
            return np.column_stack(columns)
        objects = np.empty((table.num_rows, len(names)), dtype=object)
        for place, column in enumerate(columns):
            objects[:, place] = column
        return objects

    def __sklearn_tags__(self) -> Any:
        """Say what data it takes: numbers and texts, and missing values as values of their own."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.target_tags.required = False
        return tags

    def _table(self, X: Any, *, reset: bool) -> pa.Table:  # noqa: N803
        """Return data as a table, after scikit-learn's own checks; a frame keeps the types of its columns."""
        frame = X if hasattr(X, "columns") and hasattr(X, "dtypes") else None
        checked = validate_data(self, X, reset=reset, dtype=None, ensure_all_finite="allow-nan")
        names = [str(name) for name in getattr(self, "feature_names_in_", [f"x{i}" for i in range(checked.shape[1])])]
        if frame is not None and len(set(names)) == len(names):
            return pa.table({name: _array(np.asarray(frame[name])) for name in names})
        return pa.table({name: _array(checked[:, place]) for place, name in enumerate(names)})

    def _column(self, column: pa.ChunkedArray, name: str) -> Any:
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        if _is_number(kind):
            return column.cast(pa.float64(), safe=False).to_numpy()
        ranges = range_column(column, name) if self.output == "middle" and name in self.ends_ else None
        if ranges is not None and ranges.kind is Kind.NUMBER:
            return _middles(ranges, *self.ends_[name])
        if self.output == "middle" and name in self.ends_:  # nothing but stars
            low, high = self.ends_[name]
            return np.full(len(column), low / 2 + high / 2)
        return np.asarray(column.cast(pa.string()).to_pylist(), dtype=object)


def _array(values: Any) -> pa.Array:
    """Return the values of a feature as Arrow has them: numbers, or texts; NaN is missing."""
    if values.dtype.kind in "iufb":
        return pa.array(values.astype(np.float64), pa.float64(), from_pandas=True)
    texts = [None if value is None or value != value else value for value in values.tolist()]
    try:
        return pa.array([None if text is None else float(text) for text in texts], pa.float64())
    except (TypeError, ValueError):
        return pa.array([None if text is None else str(text) for text in texts], pa.string())


def _with_rows(table: pa.Table) -> pa.Table:
    return table.append_column(ROW, pa.array(np.arange(table.num_rows)))


def _is_number(kind: pa.DataType) -> bool:
    return pa.types.is_floating(kind) or pa.types.is_integer(kind)


def _ends_of(column: pa.ChunkedArray) -> tuple[float, float]:
    values = column.drop_null().to_numpy()
    return (float(values.min()), float(values.max())) if len(values) else (0.0, 0.0)


def _middles(ranges: RangeColumn, low: float, high: float) -> Any:
    """Return the middle of every row's range; what is missing stays missing."""
    middles = np.full(len(ranges.entries), np.nan)
    for place, entry in enumerate(ranges.entries):
        if entry.kind != "missing":
            start, end = (low if entry.low is None else entry.low), (high if entry.high is None else entry.high)
            middles[place] = float(start) / 2 + float(end) / 2  # type: ignore[arg-type]
    return middles[ranges.codes]
