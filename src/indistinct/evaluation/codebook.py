"""What the labels of a release mean, for its readers: a codebook of a release, a file or any table."""

import io
import json
from pathlib import Path
from typing import Any, Unpack

import pyarrow.csv

from indistinct.errors import ParameterError
from indistinct.machine.arguments import with_checked_arguments
from indistinct.machine.memory import needs_memory
from indistinct.recoding.codebook import Codebook, codebook_of
from indistinct.release.published import Knowledge, Published, describe_release, is_release
from indistinct.release.sources import closes_sources
from indistinct.schema import Schema
from indistinct.tables.frames import is_frame
from indistinct.tables.opening import open_table


@with_checked_arguments
@closes_sources
@needs_memory("reading labels")
def intervals(release: Any, schema: Schema | None = None, **known: Unpack[Knowledge]) -> Codebook:
    """List what every published label means: the ends of a range, the members of a set, a group, or a value.

    Nothing of the original enters: members of a group are listed only where declared hierarchies name them.

    Parameters
    ----------
    release
        A `Release`, a `Published`, or a published table from any tool: a path or a frame.
    schema
        Roles of the columns, which limit the codebook to quasi-identifiers. Without them every column that shows labels
        is read.
    **known
        Further facts, as `published` takes them, such as ``hierarchies`` and ``reading``.

    Returns
    -------
    Codebook
        One entry for each label of each column.

    Raises
    ------
    ParameterError
        If `release` is no release, path or table, or a release in buckets, which has no labels.
    InputError
        If the table cannot be read.

    Examples
    --------
    >>> import pyarrow as pa
    >>> book = intervals(pa.table({"age": ["[18-21]", "[22-]", "*"], "town": ["{Bergen, Oslo}", "Oslo", "021**"]}))
    >>> [(entry.label, entry.kind, entry.low, entry.high) for entry in book.of("age")]
    [('*', 'everything', None, None), ('[18-21]', 'range', 18, 21), ('[22-]', 'range', 22, None)]
    >>> [(entry.kind, entry.values) for entry in book.of("town")]
    [('group', ()), ('value', ('Oslo',)), ('set', ('Bergen', 'Oslo'))]
    """
    if is_release(release) or schema is not None:
        return _of_published(describe_release(release, schema, **known))
    if not isinstance(release, str | Path) and not is_frame(release):
        raise ParameterError(
            f"`release` of intervals must be a release, a path or a table; got {type(release).__name__}",
            hint="give what `anonymize` returned, the path of a published file, or a frame",
        )
    table = open_table(release, reading=known.get("reading"), published=True)
    return codebook_of(table.data, hierarchies=known.get("hierarchies"), labels=table.labels)


def _of_published(given: Published) -> Codebook:
    """Return the codebook of a release's quasi-identifiers, without values that only the recoding knows."""
    columns = given.structure.labeled(given.schema)
    declared = given.hierarchies if given.release is None else given.release.declared
    table = open_table(given.main, published=True)
    labels = given.release.labels if given.release is not None else table.labels
    return codebook_of(table.data, columns=columns, hierarchies=declared, labels=labels)


FORMS = (".csv", ".json")
"""What the name of a codebook may end in."""


def check_form(form: str) -> None:
    """Raise `ParameterError` for an ending that no codebook has."""
    if form.lower() not in FORMS:
        raise ParameterError(
            f"a codebook is written as {' or '.join(FORMS)}; got {form!r}", hint="for example -o codebook.csv"
        )


def text_of_codebook(book: Codebook, form: str) -> str:
    """Return a codebook as the text of a file: .csv has one line a label, .json the labels of each column.

    >>> import pyarrow as pa
    >>> print(text_of_codebook(intervals(pa.table({"age": ["[18-21]"]})), ".csv").splitlines()[1])
    "age","[18-21]","range","18","21","true",,"false",
    """
    check_form(form)
    if form.lower() == ".json":
        return json.dumps(book.to_json(), ensure_ascii=False, indent=2) + "\n"
    sink = io.BytesIO()
    pyarrow.csv.write_csv(book.table, sink)
    return sink.getvalue().decode()
