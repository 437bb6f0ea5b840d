"""A release beside earlier ones: people who are in several stand in the intersection of their classes.

Each release may keep its promise while all together do not: whoever knows that somebody is in several looks only among
the people who share all of these classes. An earlier release is known by its recoding and its table, or by what a
ledger remembers of it. People are those whom the schema's role `person` tells apart; nobody's name leaves this module.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from indistinct.engines import open_source
from indistinct.engines.transformed import transformed_source
from indistinct.errors import InputError, ParameterError, SchemaError, VerificationError
from indistinct.figures import Told
from indistinct.frequencies.value import PERSON
from indistinct.recoding.assign import assign
from indistinct.recoding.kinds import Recoding
from indistinct.recoding.storage import read_recoding
from indistinct.release.certificate import Overlap
from indistinct.release.comparison import overlap_of
from indistinct.release.fit import fit
from indistinct.release.kinds import reading_again
from indistinct.release.ledger import Ledger, Record, open_ledger, reserved, standings
from indistinct.release.pipeline import Destination, Job, publish
from indistinct.release.pseudonyms import new_key
from indistinct.release.release import Release
from indistinct.release.signatures import compared_columns
from indistinct.release.standing import Standing, standing_of
from indistinct.schema import Schema

NO_SIZE = "the promise names no k, so that no size was asked of the intersections with the earlier release"
SOME_LEFT_OUT = (
    "somebody stands in so many combinations of classes that not all earlier releases were looked at together: "
    "intersections may be smaller than it says"
)
NOBODY = (
    "nobody is both in this table and in the earlier one: if that is strange, the earlier table is another one, or "
    "people are written in another way there"
)


@dataclass(frozen=True, slots=True, eq=False)
class Earlier:
    """The earlier releases that a new one is compared with: one that was made again, those of a ledger, or both.

    All pseudonyms are made with `key`.
    """

    key: bytes
    again: Standing | None = None
    ledger: Path | None = None


def earlier_releases(
    previous: Any, previous_input: Any, ledger: str | Path | None, *, schema: Schema, suppression: float | None = None
) -> Earlier | None:
    """Return what a release is to be compared with; None where nothing is given.

    `previous` is a recoding, `previous_input` the table that it published. Rows that it does not cover were suppressed,
    if they are no more than it was allowed, or `suppression`. Raises where one is given without the other, where they
    do not belong together, or where people are not known by the columns that tell people apart now.
    """
    if previous is None and previous_input is None and ledger is None:
        return None
    if not schema.person:
        raise SchemaError(
            "people of several releases are compared by the columns that tell people apart, and none has the role "
            "person",
            hint="give such a column the role person (--person, or `person` in a schema) when a recoding is searched",
        )
    place = None if ledger is None else Path(ledger)
    key = new_key() if place is None else open_ledger(place, create=True).key
    again = None
    if previous is not None or previous_input is not None:
        again = _made_again(previous, previous_input, schema=schema, suppression=suppression, key=key)
    return Earlier(key, again, place)


def _made_again(
    previous: Any, previous_input: Any, *, schema: Schema, suppression: float | None, key: bytes
) -> Standing:
    if previous is None:
        raise ParameterError(
            "an earlier release is known by its recoding, which is missing",
            hint="give `previous` (--previous): what --save-recoding wrote when it was made",
        )
    if previous_input is None:
        raise ParameterError(
            "an earlier release is known by the table it was made from, which is missing",
            hint="give `previous_input` (--previous-input): the original of the earlier release",
        )
    recoding = previous if isinstance(previous, Recoding) else _stored(previous)
    roles = _roles(recoding, schema)
    require_whole(recoding, "the earlier release")
    engine, source = open_source(previous_input, reading_again(recoding))
    roles.check(source.columns, decided=True)
    source, _ = transformed_source(source, recoding.transformations or {})
    made = fit(engine, source, recoding, keys=((PERSON,),))
    if made.uncovered_members > max(recoding.suppression, suppression or 0) * made.members:
        raise InputError(
            f"the earlier recoding does not cover {made.uncovered_rows:,} of {made.rows:,} rows of the earlier table: "
            f"{made.describe()}",
            hint="check that the earlier release was made from this table; a larger `suppression` (--suppression) lets "
            "it have lost these rows",
            values=made.values,
        )
    return standing_of(engine, source, made.assignment, schema=roles, key=key)


def _stored(path: str | Path) -> Recoding:
    try:
        return read_recoding(path)
    except InputError as error:
        raise InputError(
            f"the recoding of the earlier release cannot be used: {error.message}",
            hint="give what --save-recoding wrote when it was made; a release alone does not tell who is where",
        ) from None


def _roles(recoding: Recoding, schema: Schema) -> Schema:
    """Return the roles of an earlier table, in which the same columns must tell people apart."""
    if recoding.schema is None:
        raise ParameterError(
            "the earlier recoding does not say which roles the columns have", hint="use a release's recoding"
        )
    _require_same(tuple(recoding.schema.person), tuple(schema.person), "the earlier release")
    return recoding.schema


def _require_same(earlier: tuple[str, ...], now: tuple[str, ...], what: str) -> None:
    if earlier != now:
        told = ", ".join(map(repr, earlier)) or "no column"
        raise SchemaError(
            f"people are told apart by {', '.join(map(repr, now))} now, and by {told} in {what}",
            hint="the same columns must tell people apart in both",
        )


def require_whole(recoding: Recoding, what: str) -> None:
    """Raise for a recoding that sends rows with equal values to several classes: nobody knows who is where."""
    if not recoding.reusable:
        raise ParameterError(
            f"{what} sends rows with equal values to different classes, so that people cannot be followed",
            hint="compare releases of algorithms whose recodings can be applied again, such as mondrian",
        )


def publish_beside(
    earlier: Earlier | None,
    job: Job,
    *,
    accept: bool,
    destination: Destination | None = None,
    counters: Mapping[str, float] | None = None,
) -> Release:
    """Publish a job that is sound beside earlier releases; nobody else compares with the ledger meanwhile."""
    kept = None if destination is None else next(iter(destination.private), None)
    with reserved(None if earlier is None else earlier.ledger):
        return publish(compared(job, earlier, accept=accept, kept=kept), destination, counters=counters)


def compared(job: Job, earlier: Earlier | None, *, accept: bool, kept: Path | None = None) -> Job:
    """Return a job with what it and earlier releases tell together; raise if that is less than promised.

    With `accept` it is not refused; a warning stands in the certificate instead. Where there is a ledger, the job says
    what that is to remember, with the path at which the recoding is `kept`.
    """
    if earlier is None:
        return job
    require_whole(job.recoding, "the new release")
    assignment = job.assignment or assign(job.counted.frequencies, job.recoding)
    standing = standing_of(job.engine, job.source, assignment, schema=job.schema, key=earlier.key)
    ledger = None if earlier.ledger is None else open_ledger(earlier.ledger)
    before = ([] if earlier.again is None else [earlier.again]) + ([] if ledger is None else _remembered(ledger))
    record = None if ledger is None else Record(ledger, standing, kept, ledger.newest)
    job = replace(job, assignment=assignment, record=record)
    if not before:
        return job
    for old in before:
        _require_same_people(standing, old)
    found = overlap_of(standing, before, k=job.model.smallest, linked=_linked(job, earlier, ledger, before))
    told = _broken(found)
    if told and not accept:
        raise VerificationError(
            "; ".join(told),
            hint=("random pseudonyms link no releases; " if found.people_linked else "")
            + "search with a larger k, or leave out who was in the earlier release; `accept_overlap` "
            "(--accept-overlap) publishes it all the same, with a warning in the certificate",
            overlap=found,
        )
    return replace(job, overlap=found, warnings=(*job.warnings, *_cautions(standing, before, found), *told))


def _linked(job: Job, earlier: Earlier, ledger: Ledger | None, before: list[Standing]) -> list[Standing] | None:
    """Return the earlier releases that keyed pseudonyms link with a new one; None where it has none.

    Nobody knows which key an earlier one had, or whether one that was made again had pseudonyms: they count as linked.
    """
    if not any(each.kind == "keyed" for each in job.pseudonyms.values()):
        return None
    again = 0 if earlier.again is None else 1
    shown = [] if ledger is None else [bool(entry.pseudonyms) for entry in ledger.entries]
    remembered = [each for each, keyed in zip(before[again:], shown, strict=True) if keyed]
    return [*before[:again], *remembered] or None


def _remembered(ledger: Ledger) -> list[Standing]:
    return standings(ledger) if ledger.entries else []


def _require_same_people(new: Standing, old: Standing) -> None:
    _require_same(tuple(old.person), tuple(new.person), "an earlier release")
    for name, kind in new.person.items():
        if old.person[name] != kind:
            raise InputError(
                f"column {name!r}, which tells people apart, is read as {kind} now and as {old.person[name]} in the "
                "earlier table",
                hint=f"read both as text (--text {name})",
            )


def _cautions(new: Standing, before: list[Standing], found: Overlap) -> list[str]:
    """Return what limits the comparison."""
    told = [] if found.shared_people else [NOBODY]
    if found.shared_people and found.k < 2:
        told.append(NO_SIZE)
    if not found.complete:
        told.append(SOME_LEFT_OUT)
    left_out = {name: None for old in before for name in new.signatures if name not in compared_columns(new, old)}
    if left_out:
        names = ", ".join(map(repr, left_out))
        told.append(f"values of {names} were not compared with every earlier release, which has other columns or types")
    return told


def _broken(found: Overlap) -> list[str]:
    """Return in words what all releases together make too small."""
    what = "the earlier release" if found.releases == 1 else f"{found.releases:,} earlier releases"
    told: list[str] = []
    if found.people_below:
        told.append(
            Told(
                f"together with {what} {{people_below}} of {{people_shared}} shared people stand among fewer than "
                f"{found.k:,}; the smallest intersection of classes has {{people_smallest}}",
                people_below=found.people_below,
                people_shared=found.shared_people,
                people_smallest=found.smallest_intersection,
            )
        )
    if found.people_isolated:
        told.append(
            Told(
                f"whoever takes {what} from this one learns what changed for {{people_isolated}} people who joined, "
                f"left or changed, in groups of fewer than {found.k:,}; the smallest has {{people_smallest}}",
                people_isolated=found.people_isolated,
                people_smallest=found.smallest_difference,
            )
        )
    if found.people_linked:
        told.append(
            Told(
                f"keyed pseudonyms link {what} and this one: {{people_linked}} people stand in a combination of "
                f"classes that fewer than {found.k:,} share; the smallest is shared by {{people_smallest}}",
                people_linked=found.people_linked,
                people_smallest=found.smallest_combination,
            )
        )
    if found.people_certain:
        told.append(
            Told(
                f"the classes of {{people_certain}} of {{people_shared}} shared people have one sensitive value in "
                f"common with {what}, which is theirs",
                people_certain=found.people_certain,
                people_shared=found.shared_people,
            )
        )
    return told
