"""deFinetti (Kifer 2009): sensitive values of a release in buckets, guessed from the release alone.

Inside a bucket every sensitive value seems equally likely for each person. But all buckets together tell which values
go with which quasi-identifiers. The attack starts from equal chances, learns how quasi-identifiers depend on the
sensitive value (naive Bayes), deals the values of each bucket out anew by what it learned, and repeats both.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from indistinct.errors import InputError, ParameterError, UnseenValueError
from indistinct.evaluation.attack.base import Attack, Outcome, Progress, Tally, Target, against, share_of, wilson
from indistinct.evaluation.attack.crowd import not_contained, table_of, translate_column
from indistinct.evaluation.attack.matching import evidence_of
from indistinct.figures import percent
from indistinct.frequencies.count import Request
from indistinct.frequencies.encode import group_rows
from indistinct.frequencies.slices import Slice
from indistinct.frequencies.structure import Units
from indistinct.machine.arrays import Codes, Floats, run_entries, starts_of
from indistinct.parameters import Number, Parameter, Whole
from indistinct.release.sources import Source, count_source
from indistinct.tables.domain import Domain

# Most pairs of a person and a sensitive value of the same bucket to weigh.
MAX_PAIRS = 30_000_000
# Rounds in which the chances of a bucket are scaled to people and to counts, alternately.
FITTING_ROUNDS = 6
# People outside the release to guess at a time.
BLOCK = 1 << 14


@dataclass(frozen=True, slots=True)
class DeFinetti(Attack):
    """Guess sensitive values inside buckets by what all buckets together tell.

    `rounds` limits the iterations; `prior` is added to every count that is learned, so that nothing is impossible.
    `sensitive` names the column to guess; without it that is the first sensitive one.
    """

    name: ClassVar[str] = "definetti"
    needs: ClassVar[tuple[str, ...]] = ("original",)
    form: ClassVar[Units | None] = "buckets"
    rounds: Annotated[int, Parameter("Rounds", "Rounds of learning; 30 are enough.", Whole())] = 30
    prior: Annotated[
        float,
        Parameter("Prior", "Pseudo-count of every value, above 0; 1 is usual.", Number("above 0", low=math.ulp(0.0))),
    ] = 1.0
    sensitive: Annotated[
        str | None, Parameter("Attacked column", "Sensitive column that is attacked; none attacks all of them.")
    ] = None

    def refusal(self, target: Target) -> str | None:
        """Return why the attack does not apply; it needs buckets that separate sensitive values from people."""
        structure, missing = target.published.structure, Attack.refusal(self, target)
        if missing is not None:
            return missing
        if structure.multisets:
            return "its multisets do not show which values belong to one person"
        if not target.schema.sensitive:
            return "it has no sensitive column"
        if self.sensitive is not None and self.sensitive not in target.schema.sensitive:
            return f"its sensitive columns are {', '.join(target.schema.sensitive)}"
        if _widest(structure.slices, self._column(target), structure.generalized) is None:
            return "no column without the sensitive one shows its values as they were"
        return None

    def _column(self, target: Target) -> str:
        """Return the sensitive column to attack."""
        return self.sensitive or target.schema.sensitive[0]

    def run(self, target: Target) -> Outcome:
        """Return how many sensitive values are guessed, and how many a random guess inside the bucket would give."""
        evidence, column = evidence_of(target), self._column(target)
        chosen = _widest(evidence.structure.slices, column, evidence.structure.generalized)
        assert chosen is not None  # noqa: S101  (the refusal says so)
        shown_slice = next(each for each in evidence.slices if each.names == chosen)
        values = next(each for each in evidence.slices if column in each.names)
        dealt = Dealt.of(shown_slice, values, column, sizes=[len(evidence.known[name]) for name in shown_slice.names])
        learned = learn(dealt, rounds=self.rounds, prior=self.prior, progress=target.progress)
        right = _right(dealt, shown_slice, target, column=column, known=evidence.known)
        control = None
        if target.control is not None:
            rules = conditionals(dealt, learned, prior=self.prior)
            control = _guess_control(
                dealt, rules, target.control, names=(*shown_slice.names, column), known=evidence.known
            )
        return self._outcome(dealt, dealt.expected_hits(learned, right), control)

    def _outcome(self, dealt: "Dealt", successes: float, control: Tally | None) -> Outcome:
        """Compare the share of correct guesses with the baselines."""
        rows = int(dealt.weights.sum())
        tally, share, majority = Tally(rows, successes), dealt.bucket_share(), dealt.majority()
        baseline = max(share, majority)
        low, high = wilson(successes, rows)
        gain = tally.share - baseline
        better = low > baseline
        comparison = (
            f"{100 * gain:.1f} points more than the {percent(baseline)} of a guess by bucket or majority"
            if better
            else f"no more than the {percent(baseline)} of a guess by bucket or majority"
        )
        return Outcome(
            self.name,
            tally,
            baseline,
            f"The buckets alone tell {share_of(tally, 'sensitive values')}, {comparison}; "
            f"{against(control, 'what was learned guesses those of people outside')}.",
            control,
            defence="generalized quasi-identifiers under t-closeness (mondrian or optimal), or a larger l",
            details={
                "bucket_share": share,
                "majority": majority,
                "gain": gain,
                "gain_interval": [low - baseline, high - baseline],
                "buckets": len(dealt.bucket_sizes),
                "values": int(dealt.totals.size),
            },
        )


def _widest(
    slices: tuple[tuple[str, ...], ...], sensitive: str, generalized: tuple[str, ...]
) -> tuple[str, ...] | None:
    """Return the largest slice without the sensitive column."""
    apart = [names for names in slices if sensitive not in names and not set(names) & set(generalized)]
    return max(apart, key=len, default=None)


@dataclass(frozen=True, slots=True, eq=False)
class Dealt:
    """Who may have what: `weights[i]` people with equal values `features[i]` are in a bucket, each with its values.

    Pair `p` says that the people `people[p]` may have the sensitive value `values[p]`, which is entry `entries[p]` of
    their bucket and occurs there `counts[entries[p]]` times; pairs are sorted by person; `starts` are the first ones.
    """

    features: tuple[Codes, ...]
    sizes: tuple[int, ...]
    weights: Codes
    bucket_sizes: Codes
    counts: Codes
    totals: Codes
    starts: Codes
    people: Codes
    entries: Codes
    values: Codes

    @classmethod
    def of(cls, part: Slice, sensitive: Slice, column: str, *, sizes: list[int]) -> "Dealt":
        """Pair the people of each bucket with its distinct sensitive values."""
        codes, buckets = sensitive.codes[column], int(part.units.max(initial=-1)) + 1
        width = int(codes.max(initial=0)) + 1
        grouping = group_rows([sensitive.units, codes], [buckets, width])
        owners, distinct = sensitive.units[grouping.first], codes[grouping.first]
        counts = np.bincount(grouping.group_ids(), weights=sensitive.counts)
        first = starts_of(np.bincount(owners, minlength=buckets))
        starts = starts_of(np.diff(first)[part.units])
        if starts[-1] > MAX_PAIRS:
            raise ParameterError(
                f"definetti would weigh {int(starts[-1]):,} pairs of people and values; {MAX_PAIRS:,} is the most",
                hint="attack a sample of the buckets",
            )
        people = np.repeat(np.arange(len(part.units)), np.diff(starts))
        entries = run_entries(first[part.units], np.diff(starts))
        return cls(
            tuple(part.codes[name] for name in part.names),
            tuple(sizes),
            part.counts.astype(np.float64),
            np.bincount(part.units, weights=part.counts, minlength=buckets),
            counts,
            np.bincount(distinct, weights=counts, minlength=width),
            starts,
            people,
            entries,
            distinct[entries],
        )

    def equal(self) -> Floats:
        """Return the chance of each pair inside its bucket, before anything is learned."""
        share = self.counts[self.entries]
        return share / np.add.reduceat(share, self.starts[:-1])[self.people]

    def fit_chances(self, chances: Floats) -> Floats:
        """Scale chances so that they sum to 1 per person and, per bucket, to the count of each value."""
        for _ in range(FITTING_ROUNDS):
            mass = np.bincount(self.entries, weights=chances * self.weights[self.people], minlength=len(self.counts))
            chances = chances * (self.counts / np.maximum(mass, 1e-300))[self.entries]
            chances /= np.maximum(np.add.reduceat(chances, self.starts[:-1]), 1e-300)[self.people]
        return chances

    def expected_hits(self, chances: Floats, right: Floats) -> float:
        """Return how many people are guessed right: the likeliest value of each, or any of the likeliest."""
        best = chances >= np.maximum.reduceat(chances, self.starts[:-1])[self.people] * (1 - 1e-9)
        hits, ties = (
            np.add.reduceat(part, self.starts[:-1]) for part in (np.where(best, right, 0.0), best.astype(float))
        )
        return float((hits / ties * self.weights).sum())

    def bucket_share(self) -> float:
        """Return the accuracy of guessing the most frequent value of each bucket."""
        largest = np.maximum.reduceat(self.equal(), self.starts[:-1])
        return float((largest * self.weights).sum() / self.weights.sum())

    def majority(self) -> float:
        """Return the share of the most frequent value of all."""
        return float(self.totals.max() / self.totals.sum())


def learn(dealt: Dealt, *, rounds: int, prior: float, progress: Progress | None = None) -> Floats:
    """Return the chance of each pair after naive Bayes and the dealing out of values have settled."""
    chances, width = dealt.equal(), len(dealt.totals)
    for number in range(rounds):
        before, logs = chances, np.zeros(len(chances))
        for feature, rule in zip(dealt.features, conditionals(dealt, chances, prior=prior), strict=True):
            logs += rule.ravel()[feature[dealt.people].astype(np.int64) * width + dealt.values]
        logs -= np.maximum.reduceat(logs, dealt.starts[:-1])[dealt.people]
        chances = dealt.fit_chances(np.exp(logs) * dealt.counts[dealt.entries])
        if progress is not None:
            progress((number + 1) / rounds)
        if np.abs(chances - before).max() < 1e-3:
            break
    return chances


def conditionals(dealt: Dealt, chances: Floats, *, prior: float) -> list[Codes]:
    """Return for each quasi-identifier the logarithm of P(value | sensitive value), values × sensitive values."""
    weights, width, rules = chances * dealt.weights[dealt.people], len(dealt.totals), []
    for feature, size in zip(dealt.features, dealt.sizes, strict=True):
        cells = feature[dealt.people].astype(np.int64) * width + dealt.values
        joint = np.bincount(cells, weights=weights, minlength=size * width).reshape(size, width) + prior / size
        rules.append(np.log(joint / joint.sum(axis=0)))
    return rules


def _guess_control(
    dealt: Dealt, rules: list[Codes], control: Source, *, names: tuple[str, ...], known: Mapping[str, Domain]
) -> Tally:
    """Return how often the learned rules guess the sensitive value of people outside the release."""
    table = table_of(control, "the control")
    for name in names:
        if name not in table.column_names:
            raise InputError(f"the control has no column {name!r}", hint="it must show the columns of the release")
    *features, truth = (translate_column(table, name, known[name]) for name in names)
    guesses = []
    for start in range(0, table.num_rows, BLOCK):
        logs = np.tile(np.log(np.maximum(dealt.totals, 1e-300)), (min(BLOCK, table.num_rows - start), 1))
        for codes, rule in zip(features, rules, strict=True):
            part = codes[start : start + BLOCK]
            logs += np.where(part[:, None] < 0, 0.0, rule[part])  # a value that the release does not show says nothing
        guesses.append(logs.argmax(axis=1))
    return Tally(table.num_rows, float((np.concatenate(guesses) == truth).sum()) if guesses else 0.0)


def _right(dealt: Dealt, part: Slice, target: Target, *, column: str, known: Mapping[str, Domain]) -> Floats:
    """Return the share of the people of each pair who have its value in the original.

    The original does not know buckets. Where people with equal quasi-identifiers are in several, each may be any of
    those whose sensitive value the bucket shows.
    """
    domains = {name: known[name] for name in (*part.names, column)}
    try:
        counted = count_source(target.original, Request(part.names, ((column,),), domains=domains))
    except UnseenValueError as error:
        raise not_contained(error.message) from None
    cells, histogram = counted.frequencies, counted.frequencies.classes.histograms[(column,)]
    joined = [np.concatenate([one, cells.vectors[:, j]]) for j, one in enumerate(dealt.features)]
    ids = group_rows(joined, list(dealt.sizes)).group_ids()
    positions = np.full(int(ids.max()) + 1, -1)
    positions[ids[len(dealt.weights) :]] = np.arange(len(cells))
    positions = positions[ids[: len(dealt.weights)]]
    if (positions < 0).any():
        raise not_contained("it lacks combinations of values that the buckets show")
    width = len(dealt.totals)
    owned = histogram.owners() * width + histogram.codes
    wanted = positions[dealt.people] * width + dealt.values
    index = np.searchsorted(owned, wanted).clip(max=len(owned) - 1)
    counts = np.where(owned[index] == wanted, histogram.counts[index], 0).astype(np.float64)
    total = np.add.reduceat(counts, dealt.starts[:-1])
    if not total.all():
        raise not_contained("people have sensitive values that their buckets do not show")
    return counts / total[dealt.people]
