"""Checks of algorithms that publish buckets: published columns, true values, and hidden links.

Each check receives a case and a function that publishes it, and raises `AssertionError` where a release breaks its
guarantee. A case's model is required in addition to the algorithm's own diversity, with buckets as classes.
"""

import datetime
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from indistinct.algorithms.base import Algorithm
from indistinct.errors import InfeasibleError, InputError
from indistinct.frequencies.slices import joins_of
from indistinct.frequencies.structure import Structure
from indistinct.job.publishing import apply
from indistinct.models import KAnonymity, LDiverseLinks
from indistinct.release.release import Release
from indistinct.schema import BUCKET, COUNT, Schema
from indistinct.testing.bucket_reference import Shown, read_multisets, read_sliced
from indistinct.testing.checks.case import Case, Publish, expect, expect_refusal, project_rows, publish_case, turn_rows
from indistinct.testing.checks.shown import check_dictionaries, check_seed

EDGE_TEXTS = ["", " ", "a,b", '"', "{x}", "missing", "日本", "é", "🦄", "1:2", "22:2,33:1", "\n", "null", "a:b"]
EDGE_NUMBERS = [2**63 - 1, 2**63 - 2, -(2**63), -(2**63) + 1, 0, 1, 2**53 + 1, 2**53]
EDGE_DAYS = [datetime.date(2020, 1, 1) + datetime.timedelta(days=day) for day in range(8)]
EDGE_COLUMNS: Mapping[str, Any] = MappingProxyType(
    {
        "constant_column": [7] * 12,
        "all_unique": list(range(12)),
        "missing": [1, None, 3, None, 2, None, 5, 5],
        "odd_texts": EDGE_TEXTS * 2,
        "huge_numbers": pa.array(EDGE_NUMBERS * 2, pa.int64()),
        "dates": EDGE_DAYS,
    }
)


def check_bucket_columns(case: Case, *, publish: Publish = publish_case) -> None:
    """A release has the schema's columns without identifiers, a bucket column where its form has one, and no other."""
    release, buckets = _publish_buckets(case, publish)
    known = [*case.schema.quasi, *case.schema.insensitive]
    sensitive = list(case.schema.sensitive)
    listed = list(dict.fromkeys(name for join in joins_of(buckets.slices) for name in buckets.slices[join.index]))
    wanted = {
        "sliced": [BUCKET, *listed],
        "tables": [BUCKET, *known],
        "multiset": [name for name in case.table.column_names if name in (*known, *sensitive)],
    }[str(buckets.form)]
    expect(release.table.column_names == wanted, f"published {release.table.column_names}, wanted {wanted}")
    expect(sorted(listed) == sorted([*known, *sensitive]), "the slices do not name every attribute")
    hidden = [name for names in buckets.slices for name in names if name in sensitive]
    expect(sorted(hidden) == sorted(sensitive), "a sensitive attribute is in several slices")
    apart = {"sensitive": [BUCKET, *sensitive, COUNT]} if buckets.two_tables else {}
    expect({what: table.column_names for what, table in release.others.items()} == apart, "an unexpected table")


def check_bucket_metadata(case: Case, *, publish: Publish = publish_case) -> None:
    """No table carries metadata or shows the chunks of the original."""
    release = publish(case)
    for table in (release.table, *release.others.values()):
        expect(not table.schema.metadata, "a published table carries metadata")
        expect(not any(field.metadata for field in table.schema), "a published column carries metadata")
        expect(all(column.num_chunks <= 1 for column in table.columns), "chunks of the original table can be seen")


def check_diversity(case: Case, *, publish: Publish = publish_case) -> None:
    """No tuple of the original is linked to a sensitive value with more than 1 / l, by the slow reference."""
    release, buckets = _publish_buckets(case, publish)
    originals = case.rows
    if buckets.multisets:
        originals = [{**row, **_as_text(case, row)} for row in originals]
    strongest = _read(case, release, buckets).strongest(originals)
    promise = case.algorithm.promise() or case.model
    asked = [part.l for part in promise.parts() if isinstance(part, LDiverseLinks)]
    expect(asked and strongest * max(asked) <= 1, f"p(t, s) is {strongest}, l = {asked}")


def check_preserved(case: Case, *, publish: Publish = publish_case) -> None:
    """Every slice shows the rows of the original, no more and no less, whatever bucket they are in."""
    release, buckets = _publish_buckets(case, publish)
    release_read = _read(case, release, buckets)
    rows = case.rows if buckets.form != "multiset" else [{**row, **_as_text(case, row)} for row in case.rows]
    for index, names in enumerate(release_read.slices):
        published = Counter(tuple(e[name] for name in names) for bucket in release_read.buckets for e in bucket[index])
        expect(published == Counter(project_rows(rows, names)), f"the column of {', '.join(names)} changed")


def check_links(case: Case, *, publish: Publish = publish_case) -> None:
    """In a bucket of all rows, slices are in random orders that reveal nothing, drawn again for each release."""
    if case.algorithm.name == "anatomy":  # its groups are small whatever a model requires
        return
    whole = replace(case, model=KAnonymity(case.table.num_rows))
    release, buckets = _publish_buckets(whole, publish)
    if buckets.form != "sliced":  # values of multisets and of two tables have no order
        return
    home = next(names for names in buckets.slices if case.key in names)
    keys = release.table[case.key].to_pylist()
    again = publish(replace(whole)).table[case.key].to_pylist()
    expect(keys != case.table[case.key].to_pylist() and keys != sorted(keys), "rows are in an order that tells")
    expect(keys != again, "rows are in the same order in every release")
    by_key = {row[case.key]: row for row in case.rows}
    for names in buckets.slices:
        if names == home or len(set(project_rows(case.rows, names))) < case.table.num_rows // 2:
            continue
        beside = [tuple(by_key[key][name] for name in names) for key in keys]
        expect(beside != project_rows(release.table.to_pylist(), names), "a slice is still next to its own rows")


def check_bucket_certificate(case: Case, *, publish: Publish = publish_case) -> None:
    """The certificate counts rows and buckets, names form and slices, and holds no data value."""
    release, buckets = _publish_buckets(case, publish)
    certificate = release.certificate
    release_read = _read(case, release, buckets)
    expect(certificate.holds, "the certificate says that the promise is broken")
    expect(certificate.rows == case.table.num_rows, "the certificate miscounts rows")
    expect(certificate.classes == len(release_read.buckets), "the certificate miscounts buckets")
    expect(certificate.columns == buckets.slices and certificate.form == buckets.form, "it hides the form")
    text = certificate.to_text().replace(case.model.spec(), "")
    telling = {value for row in case.rows for value in row.values() if isinstance(value, str) and len(value) > 3}
    expect(not any(value in text for value in telling), "the certificate holds a data value")


def check_bucket_sizes(case: Case, *, publish: Publish = publish_case) -> None:
    """Buckets have as many rows as a model of class sizes asks for."""
    release, buckets = _publish_buckets(case, publish)
    smallest = min(len(bucket[0]) for bucket in _read(case, release, buckets).buckets)
    wanted = max(part.smallest for part in case.model.parts() if part.traits.sizes_only or part.name == "k-anonymity")
    expect(smallest >= wanted, f"a bucket has {smallest} row(s), {wanted} were asked for")


def check_bucket_infeasible(case: Case, *, publish: Publish = publish_case) -> None:
    """An l that no grouping can reach is an `InfeasibleError` with a hint."""
    given = {field.name for field in fields(case.algorithm)}  # type: ignore[arg-type]
    if "l" not in given:
        return
    harder = replace(case.algorithm, l=case.table.num_rows + 1)  # type: ignore[type-var]
    try:
        publish(replace(case, algorithm=harder))
    except InfeasibleError as error:
        expect(error.hint, "the error does not say what would be feasible")
        return
    raise AssertionError("an l above the number of rows was published")


def check_bucket_row_order(case: Case, *, publish: Publish = publish_case) -> None:
    """The buckets do not depend on the order of the original rows, if nothing is drawn at random."""
    first, second = (_contents(each, publish) for each in (case, turn_rows(case)))
    expect(first == second, "the buckets depend on the order of the original rows")


def check_other_tables(case: Case, *, publish: Publish = publish_case) -> None:
    """A recoding publishes its own table again, and refuses another one."""
    recoding = publish(case).recoding
    again = apply(recoding, case.table, hierarchies=case.hierarchies)
    expect(again.certificate.holds, "a stored recoding breaks its promise on its own table")
    try:
        apply(recoding, pa.concat_tables([case.table, case.table]), hierarchies=case.hierarchies)
    except InputError:
        return
    raise AssertionError("a recoding of the rows of one table was applied to another one")


BUCKET_CHECKS: Mapping[str, Callable[..., None]] = MappingProxyType(
    {
        check.__name__.removeprefix("check_"): check
        for check in (
            check_bucket_columns,
            check_bucket_metadata,
            check_dictionaries,
            check_seed,
            check_diversity,
            check_preserved,
            check_links,
            check_bucket_certificate,
            check_bucket_sizes,
            check_bucket_infeasible,
            check_bucket_row_order,
            check_other_tables,
        )
    }
)
"""Every check of releases in buckets by its name; each is given a case."""


def _publish_buckets(case: Case, publish: Publish) -> tuple[Release, Structure]:
    release = publish(case)
    expect(not release.structure.whole_rows, "an algorithm that declares buckets published none")
    return release, release.structure


def _read(case: Case, release: Release, buckets: Structure) -> Shown:
    """Read the buckets of a release by a slow reference."""
    rows, sensitive = release.table.to_pylist(), list(case.schema.sensitive)
    if buckets.multisets:
        return read_multisets(rows, sensitive=sensitive)
    apart = release.others["sensitive"].to_pylist() if buckets.two_tables else None
    slices = [buckets.slices[join.index] for join in joins_of(buckets.slices)]
    return read_sliced(rows, slices=slices, sensitive=sensitive, apart=apart)


def _contents(case: Case, publish: Publish) -> Counter[Any]:
    """Return the buckets of a release by what they hold, slice by slice."""
    release, buckets = _publish_buckets(case, lambda given: publish(given, seed=7))
    release_read = _read(case, release, buckets)
    return Counter(
        tuple(tuple(sorted(repr(tuple(entry.values())) for entry in entries)) for entries in bucket)
        for bucket in release_read.buckets
    )


def _as_text(case: Case, row: Mapping[str, Any]) -> dict[str, str]:
    """Return the attributes of a row that are not sensitive as a multiset writes them."""
    known = (*case.schema.quasi, *case.schema.insensitive)
    texts = {name: pa.array([row[name]], case.table.schema.field(name).type).cast(pa.string())[0] for name in known}
    return {name: "missing" if text.as_py() is None else str(text.as_py()) for name, text in texts.items()}


def edge_one_row(algorithm: Algorithm, *, publish: Publish = publish_case) -> None:
    """One row cannot be diverse."""
    expect_refusal(_edge_case([5], algorithm), InfeasibleError, publish)


def edge_without_values(algorithm: Algorithm, *, publish: Publish = publish_case) -> None:
    """No rows, no value in any of them, and a value without an order are errors."""
    for values in ([1.0, float("nan"), 2.0, 3.0], [None] * 4, []):
        expect_refusal(_edge_case(pa.array(values, pa.float64()), algorithm), InputError, publish)


def _edge_of(column: Any) -> Callable[..., None]:
    """Return a check of bucket algorithms on a column with edge values."""

    def edge(algorithm: Algorithm, *, publish: Publish = publish_case) -> None:
        case = _edge_case(column, algorithm)
        release = publish(case)
        for check in (check_bucket_columns, check_bucket_metadata, check_diversity, check_preserved):
            check(case, publish=lambda _case: release)

    return edge


BUCKET_EDGES: Mapping[str, Callable[..., None]] = MappingProxyType(
    {
        "one_row": edge_one_row,
        "without_values": edge_without_values,
        **{name: _edge_of(column) for name, column in EDGE_COLUMNS.items()},
    }
)
"""Every edge of releases in buckets by its name; each is given an algorithm."""


def _edge_case(column: Sequence[Any] | pa.Array, algorithm: Algorithm) -> Case:
    rows = len(column)
    table = pa.table({"a": column, "s": [f"ill {row % 4}" for row in range(rows)], "key": list(range(rows))})
    schema = Schema(quasi=["a"], sensitive=["s"], insensitive=["key"])
    return Case(table, schema, KAnonymity(1), algorithm)
