"""Models in plain words: what each protects from, what its promise means for one person, and what its fields ask for.

Which models there are, and which parameters they take, the library knows; here stand only words for them. What another
package adds has its own docstring.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from indistinct.figures import number, percent
from indistinct.models import Model, SubsetAnonymity
from indistinct.schema import Schema

FOUND, LEARNT = "Being found", "Learning a value"
MEMBER, THRESHOLD = "Being in the table", "Risk of the whole release"
# What follows from a parameter, under another name.
FOLLOWS: tuple[tuple[str, str, Callable[[float], str]], ...] = (
    ("beta", "gain", lambda beta: number(1 + beta)),
    ("delta", "ratio", lambda delta: number(2 ** min(delta, 1000))),
    ("l", "1/l", lambda least: percent(1 / least)),
)
GROUPS = (FOUND, LEARNT, MEMBER, THRESHOLD)
"""What people are protected from, in the order in which a list of models shows it."""


@dataclass(frozen=True, slots=True)
class Words:
    """Words for a model: its name, the group that it is in, what it is for, and its promise with figures in braces.

    `start` are texts of parameters to begin with, and `labels` say what a parameter is, and how it is written.
    """

    title: str
    group: str
    about: str
    promise: str
    start: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, tuple[str, str]] = field(default_factory=dict)


SENSITIVE = ("Column to protect", "Only columns with the role sensitive are listed.")
L = ("Different values (l)", "A whole number; no more than the column has. 3 is a usual start.")
BETA = ("Largest gain (beta)", "1 means at most twice as likely as in the whole table, 2 three times.")
POPULATION_SIZE = ("People in the population", "Everybody from whom this table was drawn.")
K_LABEL = ("Smallest group (k)", "A whole number. 5 is usual inside an organisation, 11 or 12 for everybody.")
SHARE = ("Largest share", "From 0 to 1: 0.01 is one in a hundred.")

MODEL_WORDS: Mapping[str, Words] = MappingProxyType(
    {
        "k-anonymity": Words(
            "Nobody stands alone (k-anonymity)",
            FOUND,
            "Everybody looks like at least k - 1 others in all that somebody may know.",
            "Whoever knows {quasi} of a person is left with at least {k} {unit}.",
            {"k": "11"},
            {"k": K_LABEL},
        ),
        "xy-anonymity": Words(
            "Several of something in each group (X,Y-anonymity)",
            FOUND,
            "Each group shows at least k different values of chosen columns, such as people or households.",
            "Whoever knows {quasi} of a person is left with at least {k} different values of {y}.",
            {"k": "5"},
            {
                "y": ("Columns that are counted", "A group must hold k different combinations of these."),
                "k": ("Different values (k)", "A whole number, such as 5."),
            },
        ),
        "subset-anonymity": Words(
            "Nobody stands alone on a few columns (subset anonymity)",
            FOUND,
            "Whoever knows a few of the columns finds at least k rows; weaker than k-anonymity on all of them.",
            "Whoever knows {subset} of a person is left with at least {k} {unit}.",
            {"k": "5", "size": "2"},
            {
                "k": K_LABEL,
                "size": ("Columns that somebody knows", "A whole number: any so many of them. Or name sets below."),
                "sets": ("Or sets of columns that somebody knows", "Tick columns: they take the place of the number."),
            },
        ),
        "k-map": Words(
            "Nobody stands alone in the population (k-map)",
            FOUND,
            "For a sample: others cannot know who is in it, so people of the population hide each other.",
            "Whatever a row shows of {quasi}, at least {k} people of the population match it.",
            {"k": "11"},
            {
                "k": ("Smallest group in the population (k)", "A whole number, such as 11."),
                "significance": (
                    "Chance of being wrong",
                    "Only without a table of the population: such as 0.05. Then say how many people it has, too.",
                ),
                "population_size": ("People in the population", "Only without a table of the population."),
                "estimator": ("How it is estimated", "The first one assumes that a group has at least one row."),
                "sample_size": ("Rows or people that were drawn", "Leave it empty for those of this table."),
            },
        ),
        "alpha-k": Words(
            "Nobody stands alone, and no value is too likely (alpha-k)",
            LEARNT,
            "Groups of at least k in which no sensitive value takes more than a share.",
            "Whoever knows {quasi} of a person is left with at least {k} {unit}, and {protected} of {sensitive} takes "
            "{alpha %} of them at most.",
            {"alpha": "0.5", "k": "5"},
            {
                "sensitive": SENSITIVE,
                "alpha": ("Largest share of a value (alpha)", "Above 0 and at most 1: 0.5 is half of a group."),
                "k": K_LABEL,
                "protected": ("Values that must not be learnt", "Several are parted by |. Empty protects all values."),
            },
        ),
        "distinct-l-diversity": Words(
            "Several values in each group (distinct l-diversity)",
            LEARNT,
            "A group that has one value only would tell it. This asks for at least l different ones.",
            "People who look alike have at least {l} different values of {sensitive} among them.",
            {"l": "3"},
            {"sensitive": SENSITIVE, "l": L},
        ),
        "entropy-l-diversity": Words(
            "Well mixed values in each group (entropy l-diversity)",
            LEARNT,
            "Values must not only differ: no few of them may dominate a group.",
            "Values of {sensitive} among people who look alike are as mixed as {l} equally frequent ones.",
            {"l": "2"},
            {
                "sensitive": SENSITIVE,
                "l": ("Mixed as so many values (l)", "A number from 1; it need not be whole."),
                "estimator": ("How mixture is measured", "shannon judges the group as it is, and is stricter."),
            },
        ),
        "recursive-l-diversity": Words(
            "No dominating value (recursive l-diversity)",
            LEARNT,
            "The most frequent value of a group must not be much more frequent than the rarer ones together.",
            "Among people who look alike, the most frequent value of {sensitive} is rarer than {c} times all from "
            "number {l} on.",
            {"c": "2", "l": "3"},
            {
                "sensitive": SENSITIVE,
                "c": ("So many times (c)", "Above 0: a smaller number is stricter."),
                "l": ("Counted from value number (l)", "A whole number; no more than the column has values."),
            },
        ),
        "t-closeness": Words(
            "Each group is like the whole table (t-closeness)",
            LEARNT,
            "It may be telling already that a group differs from everybody.",
            "How {sensitive} is distributed among people who look alike differs from the whole table by {t} at most, "
            "where 0 is not at all and 1 is as much as can be.",
            {"t": "0.2"},
            {
                "sensitive": SENSITIVE,
                "t": ("Largest difference (t)", "From 0 to 1: a smaller number is stricter; 0.2 is a usual start."),
                "distance": (
                    "What makes values different",
                    "equal: all alike; ordered: numbers that are near differ less; hierarchical: by its hierarchy.",
                ),
            },
        ),
        "l-diverse-links": Words(
            "No likely link to a value (l-diverse links)",
            LEARNT,
            "Nobody is linked to a sensitive value with more than one in l; also where links are broken in buckets.",
            "Nobody who knows {quasi} of a person can link any value of {sensitive} to them with more than {1/l}.",
            {"l": "3"},
            {
                "l": ("One in so many (l)", "A whole number, such as 3."),
                "sensitive": ("Columns to protect", "None ticked means every sensitive column."),
            },
        ),
        "basic-beta-likeness": Words(
            "No value becomes much likelier (basic beta-likeness)",
            LEARNT,
            "A rare value must not be far more likely in a group than in the whole table.",
            "No value of {sensitive} is more than {gain} times as likely for a person as in the whole table.",
            {"beta": "2"},
            {"sensitive": SENSITIVE, "beta": BETA},
        ),
        "enhanced-beta-likeness": Words(
            "No value becomes much likelier, frequent ones least (enhanced beta-likeness)",
            LEARNT,
            "As basic beta-likeness, but a frequent value may gain less, so that it never becomes certain.",
            "No value of {sensitive} is more than {gain} times as likely for a person as in the whole table, and "
            "frequent ones gain less.",
            {"beta": "2"},
            {"sensitive": SENSITIVE, "beta": BETA},
        ),
        "delta-disclosure": Words(
            "No value becomes much likelier or rarer (delta-disclosure)",
            LEARNT,
            "Every value that a group shows is about as frequent there as in the whole table. This is very strict.",
            "A value of {sensitive} that a person may have is less than {ratio} times as likely, and more than "
            "1/{ratio} times, as in the whole table.",
            {"delta": "1"},
            {
                "sensitive": SENSITIVE,
                "delta": ("Largest change (delta)", "Above 0: 1 means from half to double."),
            },
        ),
        "delta-presence": Words(
            "Nobody can tell who is in the table (delta-presence)",
            MEMBER,
            "Where it tells something to be in the table at all, such as a register of a disease.",
            "Of all people of the population who match {quasi} of a person, {low %} to {high %} are in this table.",
            {"low": "0", "high": "0.5"},
            {
                "low": ("Smallest share", "From 0 to 1: above 0 nobody is known not to be in the table, either."),
                "high": ("Largest share", "From 0 to 1: below 1 nobody is known to be in the table."),
                "absent": ("Judge groups of which nobody is in the table, too", "That is the stronger promise."),
            },
        ),
        "average-risk": Words(
            "A low risk on average (average risk)",
            THRESHOLD,
            "For recipients under contract: somebody picked at random is hard to find; single people may be easier.",
            "A person is found with a probability of {threshold %} at most, on average over all.",
            {"threshold": "0.05"},
            {"threshold": ("Largest average risk", "Above 0 and at most 1: 0.05 is one in twenty.")},
        ),
        "sample-uniqueness": Words(
            "Few are alone in the table (sample uniqueness)",
            THRESHOLD,
            "A share of people may be alone with their values; everybody else is not.",
            "{share %} of all {unit} at most are alone with {quasi} in the release.",
            {"share": "0.01"},
            {"share": SHARE},
        ),
        "population-uniqueness": Words(
            "Few are alone in the population (population uniqueness)",
            THRESHOLD,
            "For a sample: of those who are alone in it, few are estimated to be so in the population.",
            "{share %} of a population of {population_size} people at most are estimated to be alone with {quasi}.",
            {"share": "0.01"},
            {
                "share": SHARE,
                "population_size": POPULATION_SIZE,
                "estimator": ("How it is estimated", "dankar chooses among the others by how large the sample is."),
            },
        ),
    }
)


def words_of(kind: type[Any]) -> Words:
    """Return the words for a model; those of another package speak for themselves."""
    if kind.name in MODEL_WORDS:
        return MODEL_WORDS[kind.name]
    told = (kind.__doc__ or kind.name).strip().partition("\n")[0]
    return Words(kind.name, THRESHOLD, told, told)


def promise_for_one(model: Model, schema: Schema) -> str:
    """Return what a model promises to one person, in a sentence with its figures.

    >>> from indistinct.models import KAnonymity
    >>> promise_for_one(KAnonymity(11), Schema(quasi=["age", "sex", "zip"], person=["id"]))
    'Whoever knows age, sex and zip of a person is left with at least 11 people.'
    """
    told = {
        "quasi": list_names(schema.quasi) or "everything that others may know",
        "unit": "people" if schema.person else "rows",
        **_figures(model),
    }
    if isinstance(model, SubsetAnonymity):
        named = ", or ".join(map(list_names, model.sets))
        told["subset"] = named or f"any {told['size']} of {told['quasi']}"
    return re.sub(r"\{([^{}]+)\}", lambda found: told.get(found[1], found[0]), words_of(type(model)).promise)


def _figures(model: Model) -> dict[str, str]:
    """Return the parameters of a model in words, shares also as per cents, and what follows from them."""
    told: dict[str, str] = {}
    for each in fields(model):  # type: ignore[arg-type]  # every model is a dataclass
        value = getattr(model, each.name)
        if isinstance(value, int | float | Fraction):
            told |= {each.name: number(float(value)), f"{each.name} %": percent(float(value))}
        else:
            told[each.name] = list_names(list(map(str, value))) if isinstance(value, tuple) else str(value)
    told["protected"] = f"none of {told['protected']}" if told.get("protected") else "no value"
    told["sensitive"] = told.get("sensitive") or "a sensitive column"
    for name, key, follows in FOLLOWS:
        if hasattr(model, name):
            told[key] = follows(float(getattr(model, name)))
    return told


def list_names(names: Sequence[str], *, word: str = "and") -> str:
    """Return names as a sentence lists them.

    >>> list_names(["age", "sex", "zip"]), list_names(["age"])
    ('age, sex and zip', 'age')
    """
    return f" {word} ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))
