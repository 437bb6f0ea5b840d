"""What a certificate says of people, where somebody may have several rows: how many, and where they stand out."""

import numpy as np

from indistinct.figures import Sentence
from indistinct.frequencies.count import Counted
from indistinct.frequencies.value import PERSON, Histogram
from indistinct.models.arithmetic import per_class
from indistinct.release.certificate import PeopleCounted

COUNTED = (
    "people were counted on the original, by what was published of their rows: the release does not show who they are, "
    "so that nobody can count them without the original"
)

SHOWN = "people can be counted on the release, by the pseudonyms that it shows"


def people_of(persons: Histogram, *, original: Counted | None) -> PeopleCounted:
    """Return how many people are published, and how many of the original lost a row."""
    published = np.bincount(persons.codes, weights=persons.counts, minlength=len(persons.reference))
    if original is None:
        return PeopleCounted(int((published > 0).sum()))
    whole = original.frequencies.classes.histograms[(PERSON,)].reference
    return PeopleCounted(int((published > 0).sum()), int((whole > 0).sum()), int((published < whole).sum()))


def people_warnings(persons: Histogram, *, original: Counted | None, shown: bool = False) -> tuple[str, ...]:
    """Return what readers must know of people: how they were counted, and that some have many rows or classes.

    A release that has them as pseudonyms has `shown` them.
    """
    told: list[str] = [SHOWN if shown else COUNTED]
    whole = 0 if original is None else original.frequencies.members
    if original is not None and original.alike is not None and original.alike < whole:
        told.append(
            Sentence(
                "{people} people were counted, of whom some differ by upper and lower case or spaces alone; without "
                "that there would be {people_alike}: write everybody in one way",
                people=whole,
                people_alike=original.alike,
            )
        )
    rows, most = (per_class(reduction, persons.counts, indptr=persons.indptr) for reduction in (np.add, np.maximum))
    led = int((2 * most > rows).sum())
    if led:
        told.append(
            Sentence(
                f"in {{classes}} of {len(rows):,} classes one person has more than half of the rows: who matches such "
                "a class mostly sees that person",
                classes=led,
            )
        )
    classes = np.bincount(persons.codes, minlength=1)
    several, people = int((classes > 1).sum()), int((classes > 0).sum())
    if several:
        told.append(
            Sentence(
                "{people_several} of {people} people stand in several classes, somebody in {classes}: who knows "
                "several of their rows can look for the people that these classes share",
                people_several=several,
                people=people,
                classes=int(classes.max()),
            )
        )
    return tuple(told)
