"""The public functions that ask: what a release answers to a query, and how far a workload's answers are off."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from indistinct.answers.answer import Answer, answer
from indistinct.answers.opening import rows_of_original, rows_of_release, rows_of_table
from indistinct.answers.workload import WorkloadErrors, errors_of
from indistinct.errors import ParameterError
from indistinct.hierarchy import Hierarchy
from indistinct.memory import needs_memory
from indistinct.queries.parse import parse_query
from indistinct.queries.slices import PublishedRows
from indistinct.queries.value import Query
from indistinct.queries.workload import Workload
from indistinct.recoding.kinds import Recoding
from indistinct.recoding.storage import read_recoding
from indistinct.release.release import Release
from indistinct.schema import Schema, require_schema


@needs_memory("answering a query")
def query(
    release: Any,
    asked: Query | str,
    schema: Schema | None = None,
    *,
    original: Any = None,
    recoding: Recoding | str | Path | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
) -> Answer:
    """Return what a release answers to a query: an estimate, bounds of the truth, and whether it is exact.

    `release` is a `Release`, or a published table from anywhere with the `schema` of its original: a path, a frame or a
    `BucketTable`. Of such a one `original` or `recoding` tell which values its labels stand for; the file alone, with
    its `hierarchies`, tells less. The query is SQL such as "SELECT AVG(age) WHERE sex = 'Male'", or a `Query`.
    """
    wanted = parse_query(asked) if isinstance(asked, str) else asked
    return answer(_rows(release, (wanted,), schema, original, recoding, hierarchies), wanted)


@needs_memory("answering a workload")
def workload_error(
    release: Any,
    original: Any,
    workload: Workload | str | Path,
    schema: Schema | None = None,
    *,
    recoding: Recoding | str | Path | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    sanity: float = 1.0,
) -> WorkloadErrors:
    """Return how far the answers of a release are from those of its original, over the queries of a workload.

    `release`, `schema`, `recoding` and `hierarchies` are as for `query`; a workload may be the path of one. The
    relative error is over the truth, or over `sanity` where the truth is smaller.
    """
    if isinstance(sanity, bool) or not isinstance(sanity, int | float) or not 0 < sanity < math.inf:
        raise ParameterError(f"`sanity` must be a number above 0; got {sanity!r}", hint="1 is usual for counts")
    asked = workload if isinstance(workload, Workload) else Workload.read(workload)
    roles = release.check.schema if isinstance(release, Release) else schema
    published = _rows(release, asked.queries, schema, original, recoding, hierarchies)
    known = {**(release.hierarchies if isinstance(release, Release) else {}), **(hierarchies or {})}
    assert roles is not None  # noqa: S101  (it was asked for)
    return errors_of(
        published, rows_of_original(original, roles, asked.queries, orders=known), asked, sanity=float(sanity)
    )


def _rows(
    release: Any,
    queries: tuple[Query, ...],
    schema: Schema | None,
    original: Any,
    recoding: Recoding | str | Path | None,
    hierarchies: Mapping[str, Hierarchy] | None,
) -> PublishedRows:
    if isinstance(release, Release):
        return rows_of_release(release, queries)
    if schema is None:
        raise ParameterError("the roles of the columns are not known", hint="pass schema=…")
    require_schema(schema)
    made = read_recoding(recoding) if isinstance(recoding, str | Path) else recoding
    return rows_of_table(release, schema, queries, original=original, recoding=made, hierarchies=hierarchies)
