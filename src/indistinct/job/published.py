"""A release with all that its policy says of it: the one place that spreads a policy over a release."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

from indistinct.engines import open_source
from indistinct.errors import InputError, ParameterError
from indistinct.job.opening import transform
from indistinct.job.policy.reading import read_policy
from indistinct.job.policy.value import Policy
from indistinct.machine.arguments import with_checked_arguments
from indistinct.recoding.outputs import MAIN
from indistinct.release.published import Knowledge, Published, describe_release, is_given
from indistinct.release.verification.population import read_population
from indistinct.schema import Schema
from indistinct.tables.addresses import address_of
from indistinct.tables.domain import Kind
from indistinct.tables.value import Reading


@with_checked_arguments
def published(
    release: Any, schema: Schema | None = None, *, policy: Policy | str | Path | None = None, **known: Unpack[Knowledge]
) -> Published:
    """Describe a release: the published table, and the known facts about how it was made.

    Verbs that judge a release (`verify`, `assess`, `attack`, `measure`, `query`, `report` …) take the result.

    Parameters
    ----------
    release
        A `Release`, a `BucketTable`, or a published table: a path or a frame.
    schema
        Roles of the columns of the original; not needed for a `Release` or with a `policy`.
    policy
        Policy that made the release, or its path. It gives roles, model, hierarchies, masking, pseudonyms and
        population.
    **known
        Further facts, which replace those of policy and certificate.

        * ``original``: the table before publishing, unmodified; it is read as the policy or the recoding says;
        * ``model``, ``algorithm``: the privacy guarantee, and how the release was made;
        * ``hierarchies``, ``transformations``, ``pseudonyms``, ``suppression``: as given to `anonymize`;
        * ``recoding``: the saved recoding, or its path;
        * ``population``: the population that the original was drawn from;
        * ``reading``: how the published file is read;
        * ``engine``, ``memory``: where the work is done; ``database_table``: name of the table in a database.

    Returns
    -------
    Published
        The release with its context. Nothing is counted before it is asked for.

    Raises
    ------
    ParameterError
        If the roles are not known, or something given is not possible.
    InputError
        If a file cannot be read.
    PolicyError
        If the policy cannot be read.

    Examples
    --------
    >>> import pyarrow as pa
    >>> people = pa.table({"age": [20, 21, 30, 31], "ill": ["flu", "cold", "flu", "flu"]})
    >>> table = pa.table({"age": ["20-21"] * 2 + ["30-31"] * 2, "ill": ["flu", "cold", "flu", "flu"]})
    >>> given = published(table, Schema(quasi=["age"], sensitive=["ill"]), original=people, model="k-anonymity:k=2")
    >>> given.k, given.original.rows
    (2, 4)
    """
    return describe_by_policy(release, schema, policy, **known)


def describe_by_policy(
    release: Any,
    schema: Schema | None,
    policy: Policy | str | Path | None,
    *,
    trusting: bool = True,
    **known: Unpack[Knowledge],
) -> Published:
    """Return a release with what its policy says of it; who is not `trusting` takes no form from a certificate."""
    if policy is None:
        return describe_release(release, schema, trusting=trusting, **known)
    job = policy if isinstance(policy, Policy) else read_policy(policy)
    asked = {name: value for name, value in known.items() if is_given(value)}
    given: Knowledge = {**knowledge_of(job), **asked}  # type: ignore[typeddict-item]
    given["hierarchies"] = {**job.hierarchies, **(known.get("hierarchies") or {})}
    original = given.get("original")
    if isinstance(original, str | Path):
        engine, memory = given.get("engine") or "auto", given.get("memory")
        given["original"] = open_source(original, job.reading_at(original), engine=engine, memory=memory)[1]
    published = describe_release(release, schema or job.schema, trusting=trusting, **given)
    reading, marks = given.get("reading") or Reading(), (job.output.writing.decimal, job.input.reading.decimal)
    if reading.decimal is None and "," in marks and _has_texts_for_numbers(published):
        # Its numbers may be texts for another reason, which the comparison reports.
        with suppress(InputError, ParameterError):
            given["reading"] = replace(reading, decimal=",")
            return describe_release(release, schema or job.schema, trusting=trusting, **given)
    return published


def _has_texts_for_numbers(given: Published) -> bool:
    """Return whether a release has texts where its original has numbers, as where it writes these with commas."""
    original, main = given.raw, given.tables.sources[MAIN]
    if original is None or not given.tables.text or not main.rows:
        return False
    kept = (*given.schema.sensitive, *given.schema.insensitive)
    shared = [name for name in kept if name in main.columns and name in original.columns]
    return any(main.kinds[name] is Kind.TEXT and original.kinds[name] is Kind.NUMBER for name in shared)


def knowledge_of(policy: Policy) -> Knowledge:
    """Return what a policy declares about its releases, as arguments of `published`, without the original."""
    return {
        "model": policy.model,
        "algorithm": policy.algorithm,
        "hierarchies": policy.hierarchies,
        "transformations": policy.transformations,
        "pseudonyms": policy.declared_pseudonyms,
        "suppression": policy.suppression,
        "population": read_population_of(policy),
        "reading": reading_of_release(policy.input.reading),
    }


def reading_of_release(before: Reading, own: Reading | None = None) -> Reading:
    """Return the reading options of a release: its `own` notation; columns that were text before stay text."""
    how = own or Reading()
    texts = (name for name, kind in before.types.items() if kind == "text")
    text = tuple(dict.fromkeys((*how.text, *before.text, *texts)))
    return replace(how, header=how.header or before.header, text=text)


def read_population_of(policy: Policy) -> Any:
    """Return the population of a policy, read as its table is and not as the release; None if it has none."""
    path, reading = policy.population, policy.input.reading
    if path is None:
        return None
    address = address_of(path) or path
    return read_population(lambda how: open_source(address, how)[1], reading.about, policy.schema)


def transform_by_policy(source: Any, policy: Policy) -> Any:
    """Return a table with its columns transformed as in the releases of a policy."""
    return transform(source, policy.schema, policy.transformations, hierarchies=policy.hierarchies)
