"""Algorithms in plain words: of which kind each is, what it does, and what its fields ask for.

Which there are, and which parameters they take, the library knows; here stand only words for them.
"""

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from indistinct.algorithms.base import Algorithm
from indistinct.algorithms.registry import EVERY_ALGORITHM, parse_algorithm
from indistinct.errors import IndistinctError
from indistinct.job.policy import Policy
from indistinct.models.words import list_names
from indistinct.release.promise import promised_model
from indistinct.spelling import arguments_of, name_of

# The packages of algorithms, with what those in them have in common.
KINDS = {
    "auto": "Chosen for you",
    "partition": "Ranges made for this table",
    "full_domain": "Levels of your hierarchies, the same for a whole column",
    "cluster": "Groups of people who are near each other",
    "bucket": "Exact values, with links broken",
}
OTHERS = "Of other packages"
METRIC = ("What is lost least", "The measure of loss that the search lowers.")
SCHEME = ("How steps up a hierarchy weigh", "uniform: all alike; height: higher ones less.")
BETA = ("How strongly they weigh", "A number; 1 is usual.")
STUB = ("Give only the rows that are lacking", "Groups that are large enough keep the rest as detailed as it was.")
L = ("Different values in each bucket (l)", "A whole number; no more than the sensitive column has.")
EXTENT = ("What a range shows", "range: what the people of a group have; region: the whole part between two cuts.")
NUMERIC = ("How numbers are shown", "As an interval, or as a mean.")
START = ("Where it begins", "Another algorithm, as the command line spells it.")
PARTED = ("Part people with equal values", "Groups become smaller; it suits this table alone.")
TREES = ("What is shown of a tree of values", "node: one of its nodes; set: the values themselves.")
STEPS = "Steps of the proof, at most"
SIZE = ("Rows in each bucket at least", "A whole number.")
TRY_ALL = ("Try all columns for a split", "Slower; it may find more buckets.")
MARKING = ("How far a find is passed on", "Both find the same; they differ in how much is looked at.")
SECONDS = ("Seconds at most", "0 or empty sets no limit.")


@dataclass(frozen=True, slots=True)
class AlgorithmWords:
    """Words for an algorithm: what it does, texts of parameters to begin with, and labels with hints for its fields."""

    about: str
    start: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, tuple[str, str]] = field(default_factory=dict)


WORDS: Mapping[str, AlgorithmWords] = MappingProxyType(
    {
        "auto": AlgorithmWords(
            "Tries what suits this table, keeps what loses least, and says why. Take it unless you need another.",
            labels={
                "metric": METRIC,
                "rounds": ("Rounds of improvement", "More take longer and may lose less; 0 leaves them out."),
                "reuse": (
                    "For next month's table, too",
                    "Only what also says what becomes of values that this table does not have.",
                ),
                "trees": TREES,
            },
        ),
        "mondrian": AlgorithmWords(
            "Cuts the table into ever smaller groups, along whichever column is widest. Very fast.",
            labels={
                "relaxed": PARTED,
                "extent": EXTENT,
                "numeric": NUMERIC,
                "choose": ("Which cut comes first", "width is the classical rule; loss takes longer and loses less."),
                "positions": ("Cuts that are weighed in a column", "A whole number; 5 is usual."),
                "missing": (
                    "Rows that miss values",
                    "value: missing is a value like others; pattern: first parted by what they miss.",
                ),
                "trees": TREES,
            },
        ),
        "single-dimensional": AlgorithmWords(
            "Cuts each column into ranges which are the same for everybody.",
            labels={
                "search": (
                    "How it searches",
                    "optimal takes longer, and proves how good it is.",
                ),
                "exact": ("Prove the best cuts of one column", "For a single quasi-identifier; quick."),
                "nodes": (STEPS, "A whole number; 0 sets no limit."),
                "seconds": SECONDS,
                "extent": EXTENT,
                "numeric": NUMERIC,
            },
        ),
        "datafly": AlgorithmWords(
            "Coarsens the column with most values, level by level, until it is enough. Fast, and loses much.",
            labels={
                "outliers": ("Rows that may stand out at the end", "Empty: as many as may be left out."),
                "suppressed_rows": ("What becomes of them", "drop leaves them out, star shows only *."),
            },
        ),
        "samarati": AlgorithmWords(
            "Finds the lowest levels that are enough.",
            labels={"first": ("Take the first that is found", "Faster; not the best of its height.")},
        ),
        "bottom-up": AlgorithmWords(
            "Goes through levels from the finest to the coarsest.",
            labels={"rollup": ("Count from finer levels", "Faster; it finds the same."), "marking": MARKING},
        ),
        "incognito": AlgorithmWords(
            "Finds every choice of levels that is enough, and takes the lowest of them.",
            labels={"variant": ("How it counts", "All three find the same."), "marking": MARKING},
        ),
        "optimal": AlgorithmWords(
            "Of all choices of one level for each column, finds the one that loses least, and proves it. Ranges that "
            "differ from group to group may lose less.",
            labels={
                "metric": METRIC,
                "seconds": SECONDS,
                "checks": ("Choices that are looked at, at most", "Empty sets no limit."),
                "choice": (
                    "How much worse it may be, at random",
                    "0.05 is 5 %: then nobody can conclude that every finer choice fails.",
                ),
            },
        ),
        "node": AlgorithmWords(
            "Takes the levels that you choose; the step explore shows them all.",
            labels={"levels": ("Level of each column", "In the order of the columns, parted by |, such as 1|0|2.")},
        ),
        "tds": AlgorithmWords(
            "Begins coarse and refines what helps most to predict a column.",
            labels={
                "target": ("Column to predict", "What the release shall be good for."),
                "score": ("How a refinement is judged", "igpl weighs gain against loss of anonymity."),
                "siblings": ("Refine single values", "Others stay with their coarser value."),
            },
        ),
        "value-suppression": AlgorithmWords("Hides single rare values, and leaves all others as they are."),
        "cell-suppression": AlgorithmWords(
            "Hides single cells of the rows that would otherwise be left out.",
            labels={
                "start": START,
                "search": ("How it searches", "optimal proves how few cells can be hidden; for some hundred rows."),
                "nodes": (STEPS, "Only with optimal. A whole number; 0 sets no limit."),
                "seconds": ("Seconds at most", "Only with optimal. Empty sets no limit."),
            },
        ),
        "mdav": AlgorithmWords(
            "Puts those together who are nearest to whoever is farthest from the mean.",
            labels={
                "numeric": NUMERIC,
                "split": PARTED,
            },
        ),
        "kaca": AlgorithmWords(
            "Joins each small group with its nearest one. Slow for large tables.",
            labels={"stub": STUB, "scheme": SCHEME, "beta": BETA},
        ),
        "top-down": AlgorithmWords(
            "Parts the table along hierarchies as long as it can.",
            labels={"respecialize_remainder": ("Try other columns on those who are left", "Slower; it may lose less.")},
        ),
        "top-down-kaca": AlgorithmWords(
            "Parts the table first, and joins near groups inside the parts. Faster than kaca.",
            labels={
                "part": ("Rows of a part", "Empty: ten times the smallest group, and at least 200."),
                "stub": STUB,
                "scheme": SCHEME,
                "beta": BETA,
            },
        ),
        "two-level": AlgorithmWords(
            "Lifts each person only as far as company is found. Fast, and good with hierarchies.",
            labels={
                "rule": ("Which lifts are tried", "cheapest loses less; literal is as its author wrote it."),
                "scheme": SCHEME,
                "beta": BETA,
                "stub": STUB,
                "metric": METRIC,
            },
        ),
        "refine": AlgorithmWords(
            "Improves the groups of another algorithm step by step. The least loss, if you give it time.",
            labels={
                "start": START,
                "metric": METRIC,
                "seconds": SECONDS,
                "rounds": ("Rounds at most", "A whole number."),
            },
        ),
        "anatomy": AlgorithmWords(
            "Publishes exact values, and sensitive ones apart from them, in buckets of l different values.",
            {"l": "3"},
            {"l": L, "form": ("What is published", "tables: two tables; permuted: one, shuffled inside buckets.")},
        ),
        "multiset": AlgorithmWords(
            "Publishes which values each bucket has, and how often.",
            {"l": "3"},
            {"l": L, "size": SIZE, "try_all_dims": TRY_ALL},
        ),
        "slicing": AlgorithmWords(
            "Keeps columns together that depend on each other, and shuffles the rest inside buckets.",
            {"l": "3"},
            {
                "l": (L[0], "A whole number. Empty promises no more than the models."),
                "columns": (
                    "Columns that stay together",
                    "auto, each, whole, a number, or such as age+sex|zip+disease.",
                ),
                "alpha": ("Columns beside a sensitive one", "Empty: one, if that is safe."),
                "clustered": ("Treat sensitive columns like others", ""),
                "size": SIZE,
                "try_all_dims": TRY_ALL,
                "generalize": ("Each value occurs so often first", "1 changes nothing."),
                "generalizer": ("By which algorithm", "As the command line spells it."),
                "bins": ("Parts of an ordered column", "For measuring what depends on what; 10 is usual."),
            },
        ),
    }
)


TITLES: Mapping[str, str] = MappingProxyType(
    {
        "auto": "What loses least of several",
        "mondrian": "Ranges that fit parts of the table",
        "single-dimensional": "Ranges that are the same for everybody",
        "datafly": "Levels, quickly",
        "samarati": "The lowest levels that are enough",
        "bottom-up": "Levels from the finest on",
        "incognito": "Every choice of levels that is enough",
        "optimal": "The best choice of levels",
        "node": "Levels that you choose",
        "tds": "Levels that help to predict a column",
        "value-suppression": "Rare values hidden",
        "cell-suppression": "Single cells hidden",
        "kaca": "Near people joined",
        "mdav": "Near people around those who stand out",
        "top-down": "Groups along hierarchies",
        "top-down-kaca": "Near people joined, in parts",
        "two-level": "Each lifted as far as needed",
        "refine": "Groups improved step by step",
        "anatomy": "Exact values, sensitive ones apart",
        "multiset": "Values of each group, counted",
        "slicing": "Columns that belong together, shuffled",
    }
)
"""What each algorithm gives, as somebody says it who does not know its name."""


def title_of(name: str) -> str:
    """Return a plain title with the name of an algorithm behind it; one of another package has its name alone.

    >>> title_of("mondrian")
    'Ranges that fit parts of the table (mondrian)'
    """
    return f"{TITLES[name]} ({name})" if name in TITLES else name


def title_of_spelled(spelled: str | None) -> str:
    """Return a plain title for an algorithm that is spelled with its parameters; a refinement says what it began with.

    >>> title_of_spelled('refine:start="mondrian:choose=loss",seconds=0.0,rounds=12')
    'Ranges that fit parts of the table, improved step by step (refine)'
    """
    if not spelled:
        return "–"
    algorithm = parse_algorithm(spelled)
    start = arguments_of(algorithm).get("start")
    if algorithm.name == "refine" and isinstance(start, str) and name_of(start) in TITLES:
        return f"{TITLES[name_of(start)]}, improved step by step (refine)"
    return title_of(algorithm.name)


def words_of_algorithm(kind: type[Algorithm]) -> AlgorithmWords:
    """Return the words for an algorithm; one of another package speaks for itself."""
    return WORDS.get(kind.name) or AlgorithmWords((kind.__doc__ or kind.name).strip().partition("\n")[0])


@functools.cache
def algorithms_by_kind() -> dict[str, dict[str, str]]:
    """Return all algorithms by their kinds: names with what is shown for them.

    >>> list(algorithms_by_kind())[0], list(algorithms_by_kind()["Chosen for you"])
    ('Chosen for you', ['auto'])
    """
    found: dict[str, dict[str, str]] = {kind: {} for kind in (*KINDS.values(), OTHERS)}
    added = {each.name: each.kind for each in EVERY_ALGORITHM.extensions() if each.kind is not None}
    for name, kind in {**EVERY_ALGORITHM.builtin, **added}.items():
        package = kind.__module__.split(".")
        group = KINDS.get(package[2], OTHERS) if package[:2] == ["indistinct", "algorithms"] else OTHERS
        found[group][name] = title_of(name)
    return {kind: names for kind, names in found.items() if names}


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
    traits = algorithm.traits
    bare = [name for name in policy.schema.quasi if name not in policy.used_hierarchies]
    if traits.hierarchies and bare:
        verb = "have" if len(bare) > 1 else "has"
        yield f"{list_names(bare)} {verb} no levels: each value stays as it is, or is not shown at all"
    if policy.suppression and not traits.suppresses:
        yield "It leaves nobody out: what may be left out is not used"
    if traits.buckets and not policy.schema.sensitive:
        yield "It protects sensitive columns, and there is none"
