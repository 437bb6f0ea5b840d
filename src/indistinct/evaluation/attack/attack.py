"""Attack a release, ours or from anywhere: what an attacker would learn of the people in it."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Unpack, overload

from indistinct.document.blocks import Document, JsonValues, document
from indistinct.document.result import Result
from indistinct.errors import InputError, ParameterError
from indistinct.evaluation.attack.base import Attack, Outcome, Progress, Target, outcome_blocks
from indistinct.evaluation.attack.crowd import is_sampled, register_of, table_of
from indistinct.evaluation.attack.matching import require_contained
from indistinct.evaluation.attack.registry import ATTACKS, parse_attack
from indistinct.figures import plural
from indistinct.machine.arguments import with_checked_arguments
from indistinct.release.published import Knowledge, Published, describe_release
from indistinct.release.sources import Source, closes_sources, open_source
from indistinct.release.verification.evidence import require_columns, require_rows
from indistinct.schema import Schema

EVERY = "all"
"""The name of all attacks that apply."""
SECONDS = 60.0
"""Default time limit of all attacks together, in seconds."""


@dataclass(frozen=True, slots=True, repr=False)
class Outcomes(Result):
    """What several attacks achieved, the worst first; which did not apply and why; and which were left out for time.

    `sample` is how many rows of the original were attacked, about, where not all were.
    """

    in_json: ClassVar[str] = "outcomes refused left_out succeeds seconds sample"
    outcomes: tuple[Outcome, ...]
    refused: Mapping[str, str] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    seconds: float = 0.0
    sample: int | None = None

    def document(self) -> Document:
        """Return a line for each attack, what it means, and which did not apply or were left out."""
        succeeding = sum(outcome.succeeds for outcome in self.outcomes)
        beat = "beats" if succeeding == 1 else "beat"
        title = f"{plural(len(self.outcomes), 'attack')}, {succeeding:,} of which {beat} chance"
        return document(title, *outcome_blocks(JsonValues("attack", self.to_json())))

    @property
    def succeeds(self) -> bool:
        """Whether any attack does better than chance, with a confidence of 95 %."""
        return any(outcome.succeeds for outcome in self.outcomes)


class OthersKnowledge(Knowledge, total=False):
    """Knowledge about a release, and further inputs of an attacker or a judge, as `target_of` takes them."""

    external: Any
    control: Any
    earlier: Any
    earlier_original: Any
    seed: int | None
    sample: int | None


class AttackKnowledge(OthersKnowledge, total=False):
    """What an attack knows, and whom it tells how far it is."""

    progress: Progress | None


@overload
def attack(
    attack: Literal["all"],
    release: Any,
    schema: Schema | None = None,
    *,
    seconds: float | None = None,
    **known: Unpack[AttackKnowledge],
) -> Outcomes: ...


@overload
def attack(
    attack: Attack | str,
    release: Any,
    schema: Schema | None = None,
    *,
    seconds: float | None = None,
    **known: Unpack[AttackKnowledge],
) -> Outcome: ...


@with_checked_arguments
@closes_sources
def attack(
    attack: Attack | str,
    release: Any,
    schema: Schema | None = None,
    *,
    seconds: float | None = None,
    **known: Unpack[AttackKnowledge],
) -> Outcome | Outcomes:
    """Run an attack on a release and measure how often it succeeds.

    Parameters
    ----------
    attack
        Name of an attack such as ``"record-linkage:errors=0.05"``, an `Attack`, or ``"all"`` for every attack that
        applies (see `attack_all`). The names: record-linkage, homogeneity, background-knowledge, skewness, similarity,
        membership, unsorted-matching, intersection, definetti, downcoding, combinatorial-refinement, minimality and
        predictable-seed.
    release
        A `Release`, a `Published`, a `BucketTable`, or a published table: a path or a frame.
    schema
        Roles of the columns of the original; not needed for a `Release` or a `Published`.
    seconds
        Time limit; by default none for one attack, and 60 seconds for all together.
    **known
        Further inputs of attacker and judge, and those of `published`.

        * ``original``: the table before publishing, without which successes cannot be counted;
        * ``external``: a table that the attacker knows of people;
        * ``control``: people who are not in the release, for the success that would be had without it;
        * ``earlier``, ``earlier_original``: another release about some of the same people, and its original;
        * ``seed``: fixes what attacks draw at random;
        * ``sample``: about how many rows of a large original are attacked, with wider intervals;
        * ``progress``: called with the share of the work that is done.

    Returns
    -------
    Outcome or Outcomes
        Attempts, successes, baseline and residual risk of the attack; of ``"all"``, those of every attack.

    Raises
    ------
    ParameterError
        If the attack is not known, does not apply to this release, or takes more than `seconds`.
    SchemaError
        If roles and columns do not fit each other.
    OriginalError
        If ``original`` cannot be the original of the release.
    InputError
        If tables cannot be read or do not fit each other.

    Examples
    --------
    >>> import indistinct as ind
    >>> import pyarrow as pa
    >>> people = pa.table({"age": [31, 31, 42, 42], "disease": ["flu", "flu", "cold", "flu"]})
    >>> schema = ind.Schema(quasi=["age"], sensitive=["disease"])
    >>> ind.attack("homogeneity", people, schema, original=people).risk
    0.5
    """
    if attack == EVERY:
        return attack_all(release, schema, seconds=SECONDS if seconds is None else seconds, **known)
    chosen = parse_attack(attack) if isinstance(attack, str) else attack
    if seconds is not None:
        require_time(seconds)
        known["progress"] = _until(time.monotonic() + seconds, known.get("progress"), 0.0, 1.0)
    try:
        return _one(chosen, target_of(release, schema, **known))
    except _OutOfTimeError:
        raise ParameterError(
            f"{chosen.name} was not through after {seconds:g} seconds",
            hint="give it more time with seconds=… (--seconds), or leave that out",
        ) from None


def _one(chosen: Attack, target: Target) -> Outcome:
    """Run one attack; raise if it does not apply to the release."""
    reason = chosen.refusal(target)
    if reason is not None:
        raise ParameterError(f"{chosen.name} does not apply to this release: {reason}", hint=_give(chosen, target))
    target.progress(0.0)
    _require_original(target)
    return chosen.run(target)


@with_checked_arguments
@closes_sources
def attack_all(
    release: Any,
    schema: Schema | None = None,
    *,
    attacks: Sequence[Attack | str] | None = None,
    seconds: float = SECONDS,
    progress: Progress | None = None,
    **known: Unpack[OthersKnowledge],
) -> Outcomes:
    """Run every attack that applies to a release, as far as there is time.

    The fastest attacks come first. An attack that has not finished when the time is over is stopped and left out.

    Parameters
    ----------
    release
        A `Release`, a `Published`, a `BucketTable`, or a published table: a path or a frame.
    schema
        Roles of the columns of the original; not needed for a `Release` or a `Published`.
    attacks
        Attacks to run, by name or as values; by default all of them.
    seconds
        Time limit for all attacks together.
    progress
        Called with the share of the work that is done.
    **known
        What attacker and judge know, as for `attack`.

    Returns
    -------
    Outcomes
        Outcomes, the worst first, the reasons why others do not apply, and those that were left out for time.

    Raises
    ------
    ParameterError
        If an attack is not known, or `seconds` is not above 0.
    SchemaError
        If roles and columns do not fit each other.
    OriginalError
        If ``original`` cannot be the original of the release.

    Examples
    --------
    >>> import indistinct as ind
    >>> import pyarrow as pa
    >>> people = pa.table({"age": [31, 31, 42, 42], "disease": ["flu", "flu", "cold", "flu"]})
    >>> schema = ind.Schema(quasi=["age"], sensitive=["disease"])
    >>> outcomes = ind.attack_all(people, schema, original=people, attacks=["homogeneity", "intersection"])
    >>> [outcome.attack for outcome in outcomes.outcomes], list(outcomes.refused)
    (['homogeneity'], ['intersection'])
    """
    require_time(seconds)
    given = ATTACKS if attacks is None else attacks
    chosen = [parse_attack(each) if isinstance(each, str) else each for each in given]
    began = time.monotonic()
    target = target_of(release, schema, **known)
    _require_original(target)
    if target.external is not None and target.original is not None:
        register_of(target, errors=0.0)  # a table that does not fit is an error, and no trait of one attack
    outcomes, refused, left_out = [], {}, []
    for index, each in enumerate(chosen):
        report = _until(began + seconds, progress, index / len(chosen), 1 / len(chosen))
        limited = replace(target, progress=report)
        try:
            reason = each.refusal(limited)
            if reason is not None:
                refused[each.name] = reason
                continue
            report(0.0)
            outcomes.append(each.run(limited))
        except _OutOfTimeError:
            left_out.append(each.name)
        except InputError as error:
            refused[each.name] = error.message
    ordered = sorted(outcomes, key=lambda found: (not found.succeeds, -found.interval[0], -found.risk))
    sample = target.sample if is_sampled(target) else None
    return Outcomes(tuple(ordered), refused, tuple(left_out), time.monotonic() - began, sample)


def _require_original(target: Target) -> None:
    """Raise unless an original, where one is given, can be that of the release."""
    original = target.original
    if original is None:
        return
    require_columns(target.schema.quasi, original.columns, table="original")
    require_contained(target)


def require_time(seconds: float) -> None:
    """Raise unless attacks have some time."""
    if not seconds > 0:
        raise ParameterError.of("attacks", "seconds", f"must be above 0; got {seconds}")


class _OutOfTimeError(Exception):
    """The time for all attacks is over."""


def _until(end: float, progress: Progress | None, start: float, share: float) -> Progress:
    """Return a report of progress that stops an attack when the time is over."""

    def report(done: float) -> None:
        if time.monotonic() > end:
            raise _OutOfTimeError
        if progress is not None:
            progress(start + done * share)

    return report


def _give(attack: Attack, target: Target) -> str | None:
    """Return the hint with the inputs that an attack lacks."""
    missing = [part for part in attack.needs if getattr(target, part) is None]
    return f"give {' and '.join(f'{part}=… (--{part})' for part in missing)}" if missing else None


def target_of(
    release: Any,
    schema: Schema | None = None,
    *,
    external: Any = None,
    control: Any = None,
    earlier: Any = None,
    earlier_original: Any = None,
    seed: int | None = None,
    sample: int | None = None,
    progress: Progress | None = None,
    **known: Unpack[Knowledge],
) -> Target:
    """Return a release and everything that an attacker or a judge has in addition, opened.

    `known` is what `published` takes: the `original` above all. `external` is what the attacker knows of people,
    `control` has people who are not in the release, and `earlier` is another release about some of the same people,
    made from `earlier_original`. Of a large original a `sample` of about this number of rows may be attacked: then
    intervals are wider. It is not used where people have several rows, or with `external` or `earlier`.
    """
    if sample is not None and sample < 1:
        raise ParameterError.of(
            "attacks", "sample", f"must be at least 1; got {sample}", hint="leave it out to attack all"
        )
    published = describe_release(release, schema, **known)
    _require_in_memory(published)
    before = None
    if earlier is not None:
        declared: Knowledge = {"hierarchies": known.get("hierarchies"), "original": earlier_original}
        before = _target(describe_release(earlier, published.schema, **declared))
    return replace(
        _target(published),
        external=_source(external),
        control=_source(control),
        earlier=before,
        seed=seed,
        sample=sample,
        progress=progress or (lambda _share: None),
    )


def _require_in_memory(published: Published) -> None:
    """Raise before anything is attacked if the tables are too large for it."""
    sources = {"the release": published.main, "the original": published.raw}
    for what, source in sources.items():
        if source is not None:
            table_of(source, what)


def _target(published: Published) -> Target:
    """Describe a release as the target of attacks."""
    if published.release is None:  # a release of ours in which everything is suppressed may have no rows
        require_rows(published.main.rows)
    return Target(
        published.tables,
        published.schema,
        published.used_hierarchies,
        original=published.original,
        model=published.promise,
        algorithm=published.made_by,
        suppression=published.suppression,
    )


def _source(table: Any) -> Source | None:
    return None if table is None else open_source(table)[1]
