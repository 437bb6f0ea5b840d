"""Whether a table can be the original of a release, by inexpensive comparisons.

Generalized columns are compared where classes are counted; here rows and unmodified columns are.
"""

import numpy as np
import pyarrow as pa

from indistinct.errors import InputError, OriginalError
from indistinct.figures import number, plural
from indistinct.frequencies.encode import encode_column
from indistinct.hierarchy.explicit import declared_order
from indistinct.recoding.columns import columns_of
from indistinct.release.verification.evidence import require_columns
from indistinct.reporting.subject import Subject
from indistinct.tables import open_table
from indistinct.tables.domain import Kind
from indistinct.view.read_back import read_column

UNDECLARED = "or say how its columns were transformed (--transform, transformations=, a policy)"
HINT = "give the table that the release was made from, or none: sections that need it then say so"


def require_original(subject: Subject) -> None:
    """Raise `OriginalError` for the original of another release; without an original nothing is compared."""
    original, schema = subject.published.original, subject.schema
    if original is None:
        return
    names = [name for name in schema.published if name in subject.published.columns]
    require_columns((*schema.person, *names), original.columns, table="original")
    rows, published = original.rows, subject.published.main.rows
    certified_rows = subject.published.certificate.get("original_rows")
    if isinstance(certified_rows, int) and certified_rows != rows:
        raise OriginalError(
            f"the original of this release has {number(certified_rows)} rows, as its certificate says; the table that "
            f"is given as the original has {number(rows)}",
            hint=HINT,
        )
    if published > rows:
        raise OriginalError(
            f"the release has {number(published)} rows, and the table that is given as the original {number(rows)}",
            hint=HINT,
        )
    whole = open_table(original).data
    _require_values(subject, whole)
    if subject.structure.whole_rows:
        _require_labels(subject, whole)


def _require_values(subject: Subject, whole: pa.Table) -> None:
    """Raise unless the original has every value of the unmodified columns at least as often."""
    data = subject.data
    for name in (*subject.schema.sensitive, *subject.schema.insensitive):
        if name in subject.published.untransformed:  # reported with the guarantees; the numbers of rows may differ
            continue
        if name in data.column_names and name in whole.column_names:
            surplus = _surplus(name, data[name], whole[name])
            if surplus:
                raise OriginalError(
                    "the table that is given as the original is that of another release: "
                    f"{plural(surplus, 'published row')} "
                    f"with a value of {name!r} that it does not have, or not so often",
                    hint=HINT if name in subject.published.transformations else f"{HINT}; {UNDECLARED}",
                )


def _require_labels(subject: Subject, whole: pa.Table) -> None:
    """Raise where a published label cannot come from the original, and nothing else explains it.

    Other explanations are numbers that are means, and labels of a hierarchy that was not given.
    """
    made_by = subject.published.made_by
    for name in subject.schema.quasi:
        means = made_by is None or made_by.numeric_forms.of(name) == "mean"
        hierarchy = subject.published.used_hierarchies.get(name)
        order = declared_order(hierarchy)
        domain = encode_column(name, whole[name], order=order).domain
        try:
            (column,) = columns_of([domain], {} if hierarchy is None else {name: hierarchy})
            read_column(subject.data, column, subject.schema)
        except InputError as error:
            textual = domain.kind is Kind.TEXT or not all(map(_is_number, error.values))
            if error.values and (hierarchy is not None if textual else not means):
                raise OriginalError(
                    f"labels of {name!r} cannot be read with the table that is given as the original: {error.message}",
                    hint=HINT,
                    values=error.values,
                ) from None


def _is_number(value: object) -> bool:
    """Return whether a value can be read as a number."""
    try:
        float(str(value))
    except ValueError:
        return False
    return True


def _surplus(name: str, published: pa.ChunkedArray, whole: pa.ChunkedArray) -> int:
    """Return how many published values the original does not have; 0 where they cannot be compared."""
    try:
        own, known = (encode_column(name, column, required=False) for column in (published, whole))
    except InputError:  # nested types, for example, are not compared
        return 0
    if own.domain.kind is not known.domain.kind:
        return 0
    codes = own.domain.translate(known.domain, empty=True)
    counts = np.bincount(codes[own.codes] + 1, minlength=len(known.domain) + 1)
    there = np.bincount(known.codes.astype(np.int64) + 1, minlength=len(known.domain) + 1)
    return int(np.maximum(counts - there, 0).sum())
