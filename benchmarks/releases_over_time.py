"""How often a monthly release is refused beside all earlier ones, and what is left of it where people are held back.

People have an age, a sex and a zip code that stay as they are. Every month a share of them goes, as many others come,
and what is left is published, if it is accepted; a release that was refused is as if it had never been.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

import indistinct as ind
from indistinct.engines import open_source
from indistinct.release.history.histories import Standing, overlap_of, people_to_hold_back, standing_of
from indistinct.samples import generate_patients

PEOPLE, MONTHS, K, SEED = 20_000, 12, 5, 1
SHARES = (0.01, 0.05, 0.2)
SCHEMA = ind.Schema(quasi=["age", "sex", "zipcode"], sensitive=["disease"], person=["name"])
HIERARCHIES = {"zipcode": ind.Hierarchy.masking()}


@dataclass(frozen=True, slots=True)
class Practice:
    """What a steward does every month.

    The recoding is searched with `size`, or anew each month where that is None; `fresh` says that values are.
    `hold_back` leaves out whom the comparison names. Releases come out every `every` months.
    """

    words: str
    size: int | None = None
    fresh: bool = False
    hold_back: bool = False
    every: int = 1


PRACTICES = (
    Practice("a new recoding"),
    Practice("the same recoding, classes from 5", 5),
    Practice("the same recoding, classes from 100", 100),
    Practice("the same recoding, classes from 1,000", 1000),
    Practice("the same recoding, classes from 1,000, every quarter", 1000, every=3),
    Practice("a new recoding, people held back", hold_back=True),
    Practice("the same recoding, classes from 5, people held back", 5, hold_back=True),
    Practice("the same recoding, classes from 100, people held back", 100, hold_back=True),
    Practice("the same recoding, classes from 1,000, people held back", 1000, hold_back=True),
    Practice("a new recoding, fresh values", fresh=True),
    Practice("the same recoding, classes from 5, fresh values", 5, fresh=True),
    Practice("the same recoding, classes from 20, fresh values", 20, fresh=True),
    Practice("the same recoding, classes from 100, fresh values", 100, fresh=True),
    Practice("the same recoding, classes from 20, fresh values, people held back", 20, fresh=True, hold_back=True),
)


def over_time_lines() -> Iterator[str]:
    """Yield, for each practice and share of people, how many releases are refused and how many people published."""
    for practice in PRACTICES:
        for share in SHARES:
            refused, published = _year(practice, share)
            yield (
                f"{practice.words}; {share:.0%} come and go a month: {refused} of {len(published)} refused, of the "
                f"people {np.mean(published):.0%} published on average, {published[-1]:.0%} in the last"
            )


def _year(practice: Practice, share: float) -> tuple[int, list[float]]:
    """Return how many releases after the first were refused, and the share of people that each published."""
    draw = np.random.default_rng(SEED)
    everybody = generate_patients(PEOPLE * 5, seed=SEED).select(["name", "age", "sex", "zipcode", "disease"])
    everybody = everybody.set_column(0, "name", pa.array(range(everybody.num_rows)))
    here, newest = np.arange(PEOPLE), PEOPLE
    accepted: list[Standing] = []
    refused, published, recoding = 0, [], None
    for month in range(MONTHS + 1):
        if month:
            stay = draw.random(len(here)) >= share
            joined = np.arange(newest, newest + int((~stay).sum()))
            here, newest = np.concatenate([here[stay], joined]), newest + len(joined)
        if month % practice.every:
            continue
        table = everybody.take(pa.array(here))
        recoding = recoding if recoding and practice.size else _searched(table, practice.size or K)
        new = _standing(table, recoding, fresh=practice.fresh)
        if practice.hold_back:
            new = new.without(np.isin(np.arange(len(new)), people_to_hold_back(new, accepted)))
        sound = not accepted or not overlap_of(new, accepted).people_below
        if month:
            refused += not sound
            published.append(len(new) / len(here) if sound else 0.0)
        if sound and len(new):
            accepted.append(new)
    return refused, published


def _searched(table: pa.Table, k: int) -> ind.Recoding:
    algorithm = "mondrian:extent=region"
    return ind.anonymize(table, SCHEMA, model=ind.KAnonymity(k), algorithm=algorithm, hierarchies=HIERARCHIES).recoding


def _standing(table: pa.Table, recoding: ind.Recoding, *, fresh: bool) -> Standing:
    """Return who stands where, by one key for all months."""
    release = ind.apply(recoding, table, model=ind.KAnonymity(K), suppression=0.5)
    engine, source = open_source(table)
    return standing_of(engine, source, release.assignment, schema=SCHEMA, key=b"k" * 32, k=K, fresh=fresh)
