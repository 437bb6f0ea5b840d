"""Attacks in plain words: what each tries, and what it needs beside the release."""

from indistinct.study.attack.base import Attack
from indistinct.study.verdict import Line, words_of

# What an attacker has beside the release, as files that can be given here.
BESIDE = {
    "external": ("A register", "Names and quasi-identifiers that an attacker may have. Without it one is made up."),
    "control": ("A control", "People of the same kind who are not in the table: what is found of them is chance."),
    "earlier": ("Another release", "A published table about some of the same people."),
}
PLAIN = {
    "record-linkage": "Look for each person's row with a register of names.",
    "homogeneity": "Read a sensitive value off a group in which all have the same.",
    "background-knowledge": "Rule one value out, and read a sensitive value off what is left in a group.",
    "skewness": "Use that a group makes a value much more likely than it is among all.",
    "similarity": "Learn about what a value is: which kind, or in which narrow range.",
    "membership": "Say which of two people was in the table.",
    "unsorted-matching": "Use that rows still stand in their old order.",
    "intersection": "Put this release beside another one about the same people.",
    "definetti": "Guess sensitive values inside buckets by what all buckets tell together.",
    "downcoding": "Name finer values, because the release loses as little as it can.",
    "combinatorial-refinement": "Narrow values by the order of a search.",
    "minimality": "Compute which tables the algorithm could have had; for small tables.",
    "predictable-seed": "Undo the shuffling by guessing a seed.",
}


def words_of_attack(name: str, kind: type[Attack]) -> str:
    """Return what an attack tries, in plain words, and what it needs."""
    said = PLAIN.get(name) or (kind.__doc__ or "").strip().partition("\n")[0]
    needs = [BESIDE[need][0].lower() for need in kind.needs if need in BESIDE]
    return f"{said} Needs {' and '.join(needs)}." if needs else said


def words_of_line(line: Line) -> str:
    """Return a line of a verdict as a sentence; an attack that succeeds says what it does, and its name last.

    >>> words_of_line(Line("attack", "warning", (), {"beyond_chance": 0.05}, attack="skewness"))[:60]
    'Somebody can use that a group makes a value much more likely'
    """
    said = words_of(line)
    if line.kind == "attack" and line.attack in PLAIN:
        tries = PLAIN[line.attack]
        return f"Somebody can {tries[:1].lower()}{tries[1:]} {said[:1].upper()}{said[1:]}."
    return f"{said[:1].upper()}{said[1:]}."
