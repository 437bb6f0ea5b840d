"""A release compared with earlier ones: together they must not reveal more about a person than about k people.

Each release may satisfy its guarantee while all together do not: an attacker who knows the people of each release looks
only among the people who share all classes of a person, and compares releases. So each person must share the history of
classes with as many as were ever guaranteed. An earlier release is known by its recoding and its table, or by what a
ledger remembers of it. People are those whom the schema's role `person` tells apart; names do not leave this module.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from indistinct.engines import open_source
from indistinct.engines.base import Source, transformed_source
from indistinct.errors import (
    Feasible,
    InfeasibleError,
    InputError,
    ParameterError,
    SchemaError,
    VerificationError,
    did_you_mean,
)
from indistinct.figures import Sentence, count_unit, plural, share_above
from indistinct.frequencies.value import PERSON
from indistinct.models.base import Model
from indistinct.models.registry import parse_model
from indistinct.recoding.assign import assign
from indistinct.recoding.kinds import Recoding
from indistinct.recoding.storage import recoding_of
from indistinct.release.certificate import Overlap
from indistinct.release.fit import Fit, fit
from indistinct.release.history.histories import (
    History,
    Standing,
    overlap_of,
    people_to_hold_back,
    rows_of_people,
    standing_of,
)
from indistinct.release.history.ledger import Ledger, Record, open_ledger, reserve, standings
from indistinct.release.promise import reading_again
from indistinct.release.pseudonyms.making import new_key
from indistinct.release.release import Publication, Release, publish
from indistinct.release.writing.places import IN_MEMORY, Destination
from indistinct.schema import Schema
from indistinct.suppression_limit import AnyBudget, parse_budget
from indistinct.tables.value import is_table

NO_SIZE = "no release promised a k, so that nothing was asked of the histories of people in earlier releases"
ONLY_SIZES = (
    "earlier releases were compared by class sizes only: guarantees about sensitive values hold for the people of "
    "this release alone"
)
FRESH = (
    "all unmodified columns were declared re-measured for this release: people missing from this or from other "
    "re-measured releases were not compared"
)
NO_SHARED_PEOPLE = (
    "no person is both in this table and in the earlier one: if that is unexpected, check that it is the right table "
    "and that person IDs are written the same way"
)


@dataclass(frozen=True, slots=True, eq=False)
class Earlier:
    """The earlier releases that a new one is compared with: one that was made again, those of a ledger, or both.

    All pseudonyms are made with `key`. `fresh` are the columns that were measured anew for the new release.
    """

    key: bytes
    again: Standing | None = None
    ledger: Path | None = None
    fresh: tuple[str, ...] = ()


def earlier_releases(history: History, *, schema: Schema, suppression: AnyBudget | None = None) -> Earlier | None:
    """Return the earlier releases to compare with; None where none is given.

    Rows that an earlier recoding does not cover were suppressed, if they are no more than it was allowed, or
    `suppression`. Raises where one of recoding and table is given without the other, where they do not belong together,
    or where people are not known by the columns that identify people now.
    """
    _check_fresh(history.fresh, schema)
    if history.previous is None and history.previous_input is None and history.ledger is None:
        return None
    if not schema.person:
        raise SchemaError(
            "people of several releases are compared by the columns that identify people, and none has the role person",
            hint="give the column that identifies people the role person: --person COLUMN, or `person` in a schema, "
            "when a recoding is searched",
        )
    ledger = None if history.ledger is None else Path(history.ledger)
    key = new_key() if ledger is None else open_ledger(ledger, create=True).key
    again = None
    if history.previous is not None or history.previous_input is not None:
        again = _made_again(history, schema=schema, suppression=suppression, key=key)
    return Earlier(key, again, ledger, tuple(history.fresh))


def _check_fresh(fresh: Sequence[str], schema: Schema) -> None:
    """Raise unless columns that are declared fresh are published unmodified."""
    if isinstance(fresh, str):
        raise ParameterError("`fresh` must be a list of column names; got one string", hint=f"fresh=[{fresh!r}]")
    others = (*schema.sensitive, *schema.insensitive)
    for name in fresh:
        if name not in others:
            raise SchemaError(
                f"{name!r} is declared fresh, but is not a column that is published unmodified",
                hint=did_you_mean(name, others) or f"these are: {', '.join(others) or 'none'}",
            )


def _is_fresh(schema: Schema, fresh: Sequence[str]) -> bool:
    """Return whether every unmodified column was re-measured; there must be at least one."""
    return bool(fresh) and {*schema.sensitive, *schema.insensitive} <= set(fresh)


def _made_again(history: History, *, schema: Schema, suppression: AnyBudget | None, key: bytes) -> Standing:
    """Recompute the classes of an earlier release from its recoding and its input."""
    previous, previous_input, fresh = history.previous, history.previous_input, history.fresh
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
    recoding = _stored(previous)
    roles = _roles(recoding, schema)
    require_whole(recoding, "the earlier release")
    engine, source = open_source(previous_input, reading_again(recoding))
    roles.check(source.columns, decided=True)
    source, _ = transformed_source(source, recoding.transformations or {})
    made = fit(engine, source, recoding, keys=((PERSON,),))
    budgets = (recoding.budget, parse_budget(suppression or 0))
    if made.uncovered_members > max(budget.allows(made.members) for budget in budgets):
        raise InputError(
            f"the earlier recoding does not cover {made.uncovered_rows:,} of {made.rows:,} rows of the earlier table: "
            f"{made.describe()}",
            hint="check that the earlier release was made from this table; a larger `suppression` (--suppression) lets "
            "it have lost these rows",
            values=made.values,
        )
    k = 1 if recoding.promise is None else parse_model(recoding.promise).smallest
    return standing_of(engine, source, made.assignment, schema=roles, key=key, k=k, fresh=_is_fresh(roles, fresh))


def _stored(previous: Recoding | str | Path) -> Recoding:
    """Read the recoding of an earlier release."""
    try:
        return recoding_of(previous)
    except InputError as error:
        raise InputError(
            f"the recoding of the earlier release cannot be used: {error.message}",
            hint="give what --save-recoding wrote when it was made; a release alone does not show which class a "
            "person is in",
        ) from None


def _roles(recoding: Recoding, schema: Schema) -> Schema:
    """Return the roles of an earlier table, which must have the same person columns."""
    if recoding.schema is None:
        raise ParameterError(
            "the earlier recoding does not say which roles the columns have", hint="use a release's recoding"
        )
    _require_same(tuple(recoding.schema.person), tuple(schema.person), "the earlier release")
    return recoding.schema


def _require_same(earlier: tuple[str, ...], now: tuple[str, ...], what: str) -> None:
    """Raise unless both releases identify people by the same columns."""
    if earlier != now:
        columns = ", ".join(map(repr, earlier)) or "no column"
        raise SchemaError(
            f"people are identified by {', '.join(map(repr, now))} now, and by {columns} in {what}",
            hint="use the same person columns in both",
        )


def require_whole(recoding: Recoding, what: str) -> None:
    """Raise for a recoding that sends rows with equal values to several classes: the class of a person is unknown."""
    if not recoding.reusable:
        raise ParameterError(
            f"{what} sends rows with equal values to different classes, so that people cannot be followed",
            hint="compare releases of algorithms whose recodings can be applied again, such as mondrian",
        )


def publish_beside(
    earlier: Earlier | None,
    job: Publication,
    *,
    accept: bool,
    destination: Destination = IN_MEMORY,
    counters: Mapping[str, float] | None = None,
) -> Release:
    """Publish a job that is sound with earlier releases, while the ledger is locked."""
    kept = None if destination.save_recoding is None else Path(destination.save_recoding)
    ledger = None if earlier is None else earlier.ledger
    with nullcontext() if ledger is None else reserve(ledger):
        return publish(compared(job, earlier, accept=accept, kept=kept), destination, counters=counters)


def compared(job: Publication, earlier: Earlier | None, *, accept: bool, kept: Path | None = None) -> Publication:
    """Compare a job with earlier releases; raise if people have fewer candidates than guaranteed.

    With `accept` it is not refused; a warning is in the certificate instead. Where there is a ledger, the job says
    what that is to remember, with the path at which the recoding is `kept`.
    """
    if earlier is None:
        return job
    ledger = None if earlier.ledger is None else open_ledger(earlier.ledger)
    job, standing, before = _standings(job, earlier, ledger)
    record = None if ledger is None else Record(ledger, standing, kept, ledger.newest)
    job = replace(job, record=record)
    if not before:
        return job
    overlap = overlap_of(standing, before)
    broken = _broken(overlap)
    if broken and not accept:
        raise _refusal(broken, overlap, standing, before)
    return replace(job, overlap=overlap, warnings=(*job.warnings, *_cautions(standing, job.model, overlap), *broken))


def hold_people_back(
    fitted: Fit, job: Publication, earlier: Earlier | None, prepare: Callable[[Source, int], tuple[Fit, Publication]]
) -> tuple[Fit, Publication]:
    """Withhold the people who would have too few candidates compared with earlier releases.

    `prepare` makes a job of a source from which a number of people were withheld. Where it suppresses more for that,
    more are held back.
    """
    withheld = 0
    while more := _people_held_back(job, earlier):
        withheld += more[1]
        fitted, job = prepare(more[0], withheld)
    if not withheld:
        return fitted, job
    warning = Sentence(
        "{people_held:person was|people were} withheld: compared with earlier releases, they or the people without "
        "them would have been among too few; they count as if they were not in the original",
        people_held=withheld,
    )
    return fitted, replace(job, warnings=(*job.warnings, warning))


def held_within(withheld: int, allowed: int, members: int) -> int:
    """Return how many people may still be suppressed after `withheld` were withheld; raise where it is too many."""
    if withheld > allowed:
        share = share_above(withheld, members)
        raise InfeasibleError(
            f"{withheld:,} of {count_unit(members, 'people')} would be withheld because of earlier releases; "
            f"{allowed:,} may be suppressed",
            hint=f"`suppression={share}` (--suppression {share}) allows them; coarser classes need fewer",
            feasible=Feasible(share=share),
        )
    return allowed - withheld


def _people_held_back(job: Publication, earlier: Earlier | None) -> tuple[Source, int] | None:
    """Return the source of a job without the people who must be withheld, and how many; None if there are none."""
    if earlier is None:
        return None
    if not is_table(job.source):
        raise ParameterError(
            f"people are held back of a table in memory, and a {type(job.source).__name__} stays where it lies",
            hint="use the engine memory, or leave these people out of the table by a query",
        )
    ledger = None if earlier.ledger is None else open_ledger(earlier.ledger)
    _, standing, before = _standings(job, earlier, ledger)
    withheld = people_to_hold_back(standing, before) if before else np.zeros(0, dtype=np.int64)
    if len(withheld) in (0, len(standing)):  # if no person is left, the comparison says why
        return None
    rows = rows_of_people(job.source, standing.people[withheld], schema=job.schema, key=earlier.key)
    return replace(job.source, data=job.source.data.filter(pa.array(~rows))), len(withheld)


def _standings(
    job: Publication, earlier: Earlier, ledger: Ledger | None
) -> tuple[Publication, Standing, list[Standing]]:
    """Return a job with its assignment, and the classes of each person in it and in earlier releases."""
    require_whole(job.recoding, "the new release")
    assignment = job.assignment or assign(job.counted.frequencies, job.recoding)
    # Keyed pseudonyms show who is missing, whatever was measured anew.
    fresh = _is_fresh(job.schema, earlier.fresh) and all(
        not each.kind.startswith("keyed") for each in job.pseudonyms.values()
    )
    k, schema, key = job.model.smallest, job.schema, earlier.key
    standing = standing_of(job.engine, job.source, assignment, schema=schema, key=key, k=k, fresh=fresh)
    # One that was made again may repeat the values of any other, unless it is fresh: it is the last of them.
    before = ([] if ledger is None else _remembered(ledger)) + ([] if earlier.again is None else [earlier.again])
    for old in before:
        _require_same_people(standing, old)
    return replace(job, assignment=assignment), standing, before


def _remembered(ledger: Ledger) -> list[Standing]:
    """Return the releases that a ledger records."""
    return standings(ledger) if ledger.entries else []


def _require_same_people(new: Standing, old: Standing) -> None:
    """Raise unless both releases identify people by the same columns of the same types."""
    _require_same(tuple(old.person), tuple(new.person), "an earlier release")
    for name, kind in new.person.items():
        if old.person[name] != kind:
            raise InputError(
                f"column {name!r}, which identifies people, is read as {kind} now and as {old.person[name]} in the "
                "earlier table",
                hint=f"read both as text (--text {name})",
            )


def _cautions(new: Standing, model: Model, overlap: Overlap) -> list[str]:
    """Return warnings on the limits of the comparison."""
    warnings = [] if overlap.shared_people else [NO_SHARED_PEOPLE]
    if overlap.shared_people and overlap.k <= 1:
        warnings.append(NO_SIZE)
    if new.fresh:
        warnings.append(FRESH)
    if any(part.keys != ((PERSON,),) for part in model.parts()):
        warnings.append(ONLY_SIZES)
    if overlap.people_before:
        warnings.append(
            Sentence(
                "{people_before:person of earlier releases shares|people of earlier releases share} their history with "
                "fewer than was promised, since a release that was accepted all the same; this one says nothing more "
                "of them",
                people_before=overlap.people_before,
            )
        )
    return warnings


def _broken(overlap: Overlap) -> list[str]:
    """Return in words what all releases together make too small."""
    if not overlap.people_below:
        return []
    what = "the earlier release" if overlap.releases == 1 else f"{overlap.releases:,} earlier releases"
    return [
        Sentence(
            f"together with {what} {{people_below:person shares|people share}} their history of classes with fewer "
            f"than {overlap.k:,}: {{people_joined:is|are}} in this release alone, {{people_left}} in earlier ones "
            "alone, and {people_other} in both, in other company; the smallest history has {people_smallest}",
            people_below=overlap.people_below,
            people_joined=overlap.people_joined,
            people_left=overlap.people_left,
            people_other=overlap.people_below - overlap.people_joined - overlap.people_left,
            people_smallest=overlap.smallest_history,
        )
    ]


def _refusal(broken: Sequence[str], overlap: Overlap, new: Standing, before: Sequence[Standing]) -> VerificationError:
    """Return the error of a release with too few candidates, and how many people to withhold instead."""
    withheld = len(people_to_hold_back(new, before))
    would_do = f"leaving out {plural(withheld, 'person', 'people')} of {len(new):,} would do "
    would_do += "(`hold_back`, or --hold-back, of `apply`)"
    would_do = would_do if withheld < len(new) else "no person of this release would be left"
    return VerificationError(
        "; ".join(broken),
        hint=f"publish by the recoding of the earlier releases (`apply`), in coarser classes; hold people back until "
        f"{overlap.k:,} of them join or leave a class together: {would_do}; or declare columns `fresh` (--fresh) that "
        "are measured anew each time. `accept_overlap` (--accept-overlap) publishes it all the same, with a warning in "
        "the certificate. Only sizes were compared: models of sensitive values are judged on the new release alone",
        overlap=overlap,
        hold_back=withheld,
    )
