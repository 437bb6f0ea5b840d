"""The public functions that ask: what a release answers to a query, and how far a workload's answers are off."""

import math
from pathlib import Path
from typing import Any, Unpack

from indistinct.engines import closes_sources
from indistinct.errors import ParameterError
from indistinct.machine.memory import needs_memory
from indistinct.metrics.queries.parse import parse_query
from indistinct.metrics.queries.value import Query
from indistinct.metrics.queries.workload import Workload
from indistinct.release.published import Beside, Knowledge, describe_release
from indistinct.schema import Schema
from indistinct.study.query.answer import Answer, answer
from indistinct.study.query.opening import rows_of_original, rows_of_published
from indistinct.study.query.workload import WorkloadErrors, errors_of


@closes_sources
@needs_memory("answering a query")
def query(release: Any, asked: Query | str, schema: Schema | None = None, **known: Unpack[Knowledge]) -> Answer:
    """Return what a release answers to a query: an estimate, bounds of the truth, and whether it is exact.

    `release` is a `Release` or a `Published`, or a published table from anywhere with the `schema` of its original: a
    path, a frame or a `BucketTable`, and what is `known` of it, as `published` takes it. Of such a one `original` or
    `recoding` tell which values its labels stand for; the file alone, with its `hierarchies`, tells less. The query is
    SQL such as "SELECT AVG(age) WHERE sex = 'Male'", or a `Query`.
    """
    wanted = parse_query(asked) if isinstance(asked, str) else asked
    return answer(rows_of_published(describe_release(release, schema, **known), (wanted,)), wanted)


@closes_sources
@needs_memory("answering a workload")
def workload_error(
    release: Any,
    original: Any = None,
    workload: Workload | str | Path | None = None,
    schema: Schema | None = None,
    *,
    sanity: float = 1.0,
    **known: Unpack[Beside],
) -> WorkloadErrors:
    """Return how far the answers of a release are from those of its original, over the queries of a workload.

    `release`, `schema` and what is `known` are as for `query`; a workload may be the path of one. The relative error is
    over the truth, or over `sanity` where the truth is smaller.
    """
    if isinstance(sanity, bool) or not isinstance(sanity, int | float) or not 0 < sanity < math.inf:
        raise ParameterError(f"`sanity` must be a number above 0; got {sanity!r}", hint="1 is usual for counts")
    if workload is None:
        raise ParameterError("no workload is given", hint="pass workload=…, a Workload or the path of one")
    asked = workload if isinstance(workload, Workload) else Workload.read(workload)
    published = describe_release(release, schema, original=original, **known)
    whole = published.require_original("workload_error")
    rows = rows_of_published(published, asked.queries)
    truth = rows_of_original(whole, published.schema, asked.queries, orders=published.used_hierarchies)
    return errors_of(rows, truth, asked, sanity=float(sanity))
