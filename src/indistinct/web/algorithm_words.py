"""Algorithms in a list for people: by kind, with plain titles, and the reasons why each cannot be used."""

import functools
from collections.abc import Iterable

from indistinct.algorithms.base import Algorithm, AlgorithmWords
from indistinct.algorithms.registry import ALGORITHMS, EVERY_ALGORITHM, parse_algorithm
from indistinct.errors import IndistinctError
from indistinct.job.policy import Policy
from indistinct.models.words import list_names
from indistinct.release.promise import promised_model
from indistinct.text_form import arguments_of, name_of

# The packages of algorithms, with what those in them have in common.
KINDS = {
    "auto": "Chosen for you",
    "partition": "Ranges made for this table",
    "full_domain": "Levels of your hierarchies, the same for a whole column",
    "cluster": "Groups of people who are near each other",
    "bucket": "Exact values, with links broken",
}
OTHERS = "Of other packages"


def title_of(name: str) -> str:
    """Return the title of an algorithm followed by its name; algorithms of other packages have only their name.

    >>> title_of("mondrian")
    'Ranges that fit parts of the table (mondrian)'
    """
    words = ALGORITHMS[name].words if name in ALGORITHMS else None
    return name if words is None else f"{words.title} ({name})"


def title_of_spelled(spelled: str | None) -> str:
    """Return a plain title for an algorithm that is written with its parameters; a refinement names its start.

    >>> title_of_spelled('refine:start="mondrian:choose=loss",seconds=0.0,rounds=12')
    'Ranges that fit parts of the table, improved step by step (refine)'
    """
    if not spelled:
        return "–"
    algorithm = parse_algorithm(spelled)
    start = arguments_of(algorithm).get("start")
    begun = ALGORITHMS.get(name_of(start)) if algorithm.name == "refine" and isinstance(start, str) else None
    if begun is not None and begun.words is not None:
        return f"{begun.words.title}, improved step by step (refine)"
    return title_of(algorithm.name)


def words_of_algorithm(kind: type[Algorithm]) -> AlgorithmWords:
    """Return the texts about an algorithm; those of other packages are taken from its docstring."""
    return kind.words or AlgorithmWords(kind.name, (kind.__doc__ or kind.name).strip().partition("\n")[0])


@functools.cache
def algorithms_by_kind() -> dict[str, dict[str, str]]:
    """Return all algorithms by their kinds: names with what is shown for them.

    >>> list(algorithms_by_kind())[0], list(algorithms_by_kind()["Chosen for you"])
    ('Chosen for you', ['auto'])
    """
    groups: dict[str, dict[str, str]] = {kind: {} for kind in (*KINDS.values(), OTHERS)}
    added = {each.name: each.kind for each in EVERY_ALGORITHM.extensions() if each.kind is not None}
    for name, kind in {**EVERY_ALGORITHM.builtin, **added}.items():
        package = kind.__module__.split(".")
        group = KINDS.get(package[2], OTHERS) if package[:2] == ["indistinct", "algorithms"] else OTHERS
        groups[group][name] = title_of(name)
    return {kind: names for kind, names in groups.items() if names}


def obstacles(algorithm: Algorithm, policy: Policy) -> tuple[list[str], list[str]]:
    """Return why an algorithm cannot search for a policy, and what to know where it can."""
    cannot: list[str] = []
    try:
        asked = promised_model(policy.model, algorithm, policy.schema)
        reason = algorithm.refusal(asked, suppression=bool(policy.suppression))
        if reason is not None:
            cannot.append(f"{algorithm.name} cannot search for {asked.spec()}: {reason}")
    except IndistinctError as error:
        cannot.append(error.message)
    return cannot, [*_notes(algorithm, policy)]


def _notes(algorithm: Algorithm, policy: Policy) -> Iterable[str]:
    """Yield remarks on how an algorithm uses the settings of a policy."""
    traits = algorithm.traits
    bare = [name for name in policy.schema.quasi if name not in policy.used_hierarchies]
    if traits.hierarchies and bare:
        verb = "have" if len(bare) > 1 else "has"
        yield f"{list_names(bare)} {verb} no levels: each value stays unmodified, or is not shown at all"
    if policy.suppression and not traits.suppresses:
        yield "It suppresses no row: the suppression limit is not used"
    if traits.keeps_values and not policy.schema.sensitive:
        yield "It protects sensitive columns, and there is none"
