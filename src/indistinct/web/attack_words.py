"""Attacks in plain words: what each tries, and what it needs beside the release."""

from indistinct.study.attack.base import Attack
from indistinct.study.verdict import TRIES

# What an attacker has beside the release, as files that can be given here.
BESIDE = {
    "external": ("A register", "Names and quasi-identifiers that an attacker may have. Without it one is made up."),
    "control": ("A control", "People of the same kind who are not in the table: what is found of them is chance."),
    "earlier": ("Another release", "A published table about some of the same people."),
}


def words_of_attack(name: str, kind: type[Attack]) -> str:
    """Return what an attack tries, in plain words, and what it needs."""
    said = sentence_of(name) or (kind.__doc__ or "").strip().partition("\n")[0]
    needs = [BESIDE[need][0].lower() for need in kind.needs if need in BESIDE]
    return f"{said} Needs {' and '.join(needs)}." if needs else said


def sentence_of(name: str) -> str:
    """Return what an attack tries, as a sentence; nothing where nobody said it.

    >>> sentence_of("predictable-seed")
    'Undo the shuffling by guessing a seed.'
    """
    tries = TRIES.get(name, "")
    return f"{tries[:1].upper()}{tries[1:]}." if tries else ""
