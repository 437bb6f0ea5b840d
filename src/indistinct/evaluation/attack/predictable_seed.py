"""Predictable seed: rows were shuffled by a generator whose seed can be guessed, so that the shuffle can be undone."""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from indistinct.engines.memory.publish import FIRST_SLICE, contents_of
from indistinct.evaluation.attack.base import Attack, Outcome, Tally, Target, share_of
from indistinct.evaluation.attack.crowd import is_sampled, table_of
from indistinct.evaluation.attack.row_order import RowOrder, row_orders
from indistinct.figures import number, percent
from indistinct.machine.arrays import Codes, Mask
from indistinct.machine.randomness import Secret, mix_words
from indistinct.parameters import Parameter, Whole

# Rows that a generator shuffles in all its tries; of many rows fewer seeds are tried.
MAX_SHUFFLED = 5_000_000
# Seeds from 0 on that are tried of any number of rows.
FEWEST = 2
# Seeds that people choose, in addition to small ones.
POPULAR = (42, 123, 1234, 12345, 123456, 1337, 2024, 2025, 2026, 31337)


def _default_rng(seed: int, rows: int) -> Codes:
    return np.random.default_rng(seed).permutation(rows)


def _random_state(seed: int, rows: int) -> Codes:
    return np.random.RandomState(seed).permutation(rows)


def _random(seed: int, rows: int) -> Codes:
    """Return the row order of Python's `random.shuffle` with a seed."""
    order = list(range(rows))
    random.Random(seed).shuffle(order)  # noqa: S311  (what others did is to be undone)
    return np.array(order)


GENERATORS: dict[str, Callable[[int, int], Codes]] = {
    "numpy default_rng": _default_rng,
    "numpy RandomState, pandas sample": _random_state,
    "Python random": _random,
}


@dataclass(frozen=True, slots=True)
class PredictableSeed(Attack):
    """An attacker who knows the tool and tries seeds: which of them puts rows where they are published?

    It tries the `seeds` from 0 on, and popular ones, with the order that `indistinct` gives rows for a seed and with
    those of NumPy's, pandas' and Python's generators for the whole table. One half of the release chooses the seed; the
    other half says how many rows it puts in the right place.
    """

    name: ClassVar[str] = "predictable-seed"
    needs: ClassVar[tuple[str, ...]] = ("original",)
    seeds: Annotated[int, Parameter("Seeds", "Number of seeds that are tried for each generator.", Whole())] = 250

    def refusal(self, target: Target) -> str | None:
        """Return why the attack does not apply: rows must have a place that a shuffle could have given them."""
        missing = Attack.refusal(self, target)
        if missing is None and is_sampled(target):
            return "it needs every row of the original, of which a sample is attacked"
        if missing is not None or _trials(target):
            return missing
        return (
            "no order can be compared: it has no blocks whose rows differ and are all known by what they show, as "
            "where rows with equal values are in several classes or buckets"
        )

    def run(self, target: Target) -> Outcome:
        """Try seeds, and report the best guess of the row order."""
        trials = _trials(target)
        best: _Guess | None = None
        tried: dict[str, int] = {}
        for guess in self._guesses(target, trials):
            tried[guess.generator] = tried.get(guess.generator, 0) + 1
            if best is None or guess.chosen_by > best.chosen_by:
                best = guess
        assert best is not None  # noqa: S101  (without a trial the attack does not apply)
        tally, baseline = best.trial.judge_order(best.order), best.trial.baseline
        shuffled = Tally(tally.attempts, baseline * tally.attempts)
        knows = Outcome(self.name, tally, baseline, "", shuffled).succeeds
        details = {
            "seeds_tried": tried,
            "generator": best.generator if knows else None,
            "seed": best.seed if knows else None,
        }
        most = number(max(tried.values(), default=0))
        sentence = (
            f"The best of {most} seeds of each generator puts {share_of(tally, 'rows')} where they are published; "
            f"a shuffle of its own does so with {percent(baseline)}, which is the control."
        )
        defence = "publish without a seed: the operating system then decides the order, which cannot be repeated"
        return Outcome(self.name, tally, baseline, sentence, shuffled, defence, details)

    def _guesses(self, target: Target, trials: "list[_BlocksOfRows]") -> Iterator["_Guess"]:
        """Yield every order that a seed would have given, with how well it fits one half of the release."""
        original = table_of(target.original, "the original")
        rows = original.num_rows
        most = min(self.seeds, max(MAX_SHUFFLED // max(rows, 1), FEWEST))
        seeds = list(dict.fromkeys([*range(most), *POPULAR]))
        contents = contents_of(original, [name for name in target.schema.published if name in original.column_names])
        for index, seed in enumerate(seeds):
            words = Secret(seed).contents(contents)
            assert words is not None  # noqa: S101  (there is a seed)
            for generator, order, trial in _orders(words, trials, seed):
                yield _Guess(generator, seed, order, trial, trial.fits(order))
                target.progress(index / len(seeds))


def _trials(target: Target) -> "list[_BlocksOfRows]":
    """Return the row orders in which guesses can be judged; they are computed once."""
    return target.once("trials", lambda: _find_trials(target))


def _find_trials(target: Target) -> "list[_BlocksOfRows]":
    every = [_BlocksOfRows.of(order) for what, order in row_orders(target) if what == "rows"]
    return [trial for trial in every if trial.judges.any()]


@dataclass(frozen=True, slots=True, eq=False)
class _Guess:
    """An order of the original's rows that a generator gives with a seed, and the share of rows that chose it."""

    generator: str
    seed: int
    order: Codes
    trial: "_BlocksOfRows"
    chosen_by: float


def _orders(words: Codes, trials: "list[_BlocksOfRows]", seed: int) -> Iterator[tuple[str, Codes, "_BlocksOfRows"]]:
    """Yield the row orders that a seed gives to the original; `words` are the row contents hashed with the seed."""
    rows = len(words)
    for trial in trials:
        yield "indistinct", np.argsort(mix_words(words, FIRST_SLICE + trial.order.slice), kind="stable"), trial
    for generator, permuted in GENERATORS.items():
        whole = permuted(seed, rows)
        for trial in trials:
            yield generator, whole, trial
            (kept,) = np.nonzero(trial.order.originals >= 0)
            if len(kept) == len(trial.order.kinds) < rows:
                yield generator, kept[permuted(seed, len(kept))], trial


@dataclass(frozen=True, slots=True, eq=False)
class _BlocksOfRows:
    """Published rows in blocks that can be filled by a guess, and the two halves of what is compared.

    `rows` are published rows in such blocks, whose kinds are `kinds`; `chooses` marks those that choose a seed and
    `judges` those that judge it. `block_of_kind` is -1 for kinds that are in several blocks, or in none of these.
    """

    order: RowOrder
    kinds: Codes
    block_of_kind: Codes
    chooses: Mask
    judges: Mask
    chances: Codes

    @classmethod
    def of(cls, order: RowOrder) -> "_BlocksOfRows":
        """Find the blocks in which published and original rows look alike, with at least two kinds of rows."""
        size = int(max(order.kinds.max(initial=-1), order.originals.max(initial=-1))) + 1
        own = order.kinds >= 0
        first, last = np.full(size, np.iinfo(np.int64).max), np.full(size, -1)
        np.minimum.at(first, order.kinds[own], order.blocks[own])
        np.maximum.at(last, order.kinds[own], order.blocks[own])
        counts = np.bincount(order.kinds[own], minlength=size)
        wanted = np.bincount(order.originals[order.originals >= 0], minlength=size)
        number = int(order.blocks.max(initial=-1)) + 1
        fits = np.ones(number, dtype=bool)
        fits[order.blocks[~own]] = False
        spread = (first != last) | (counts != wanted)
        fits[order.blocks[own][spread[order.kinds[own]]]] = False
        (kind,) = np.nonzero(~spread & (last >= 0))
        fits &= np.bincount(last[kind], minlength=number) > 1
        block_of_kind = np.where(~spread & (last >= 0), last, -1)
        block_of_kind[block_of_kind >= 0] = np.where(fits[last], last, -1)[block_of_kind >= 0]
        return cls._halve_blocks(order, block_of_kind, fits, counts)

    @classmethod
    def _halve_blocks(cls, order: RowOrder, block_of_kind: Codes, fits: Codes, codes: Codes) -> "_BlocksOfRows":
        """Choose half of the rows of each block to select a guess, and judge it by the other half."""
        rows = np.flatnonzero(fits[order.blocks]) if len(order.blocks) else np.zeros(0, dtype=np.int64)
        blocks, kinds = order.blocks[rows], order.kinds[rows]
        starts = np.flatnonzero(np.append(True, np.diff(blocks) != 0)) if len(rows) else rows
        sizes = np.diff(np.append(starts, len(rows)))
        positions = np.arange(len(rows)) - np.repeat(starts, sizes)
        halves = np.repeat(sizes // 2, sizes)
        # Rows of a small block fall into place together, so that only half of them count, and blocks are shared out.
        ahead = positions < halves
        even = np.repeat(np.arange(len(starts)) % 2 == 0, sizes)
        chooses, judges = (even, ~even & ahead) if len(starts) > 1 else (ahead, ~ahead)
        squares = np.add.reduceat(codes[kinds] / np.repeat(sizes, sizes), starts) / sizes if len(rows) else sizes
        return cls(order, kinds, block_of_kind, chooses, judges, np.repeat(squares, sizes))

    @property
    def baseline(self) -> float:
        """Return the share of rows that a random order puts in the right place."""
        return float(self.chances[self.judges].mean()) if self.judges.any() else 0.0

    def _hits(self, order: Codes) -> Mask:
        """Mark published rows that look like the row at their position in a guessed order."""
        kinds = self.order.originals[order]
        kinds = kinds[kinds >= 0]
        kinds = kinds[self.block_of_kind[kinds] >= 0]
        return kinds[np.argsort(self.block_of_kind[kinds], kind="stable")] == self.kinds

    def fits(self, order: Codes) -> float:
        """Return the share of the choosing rows that a guess puts in the right place, beyond chance."""
        if not self.chooses.any():
            return 0.0
        return float((self._hits(order) - self.chances)[self.chooses].mean())

    def judge_order(self, order: Codes) -> Tally:
        """Return how many of the judging rows a guess puts in the right place."""
        return Tally(int(self.judges.sum()), int(self._hits(order)[self.judges].sum()))
