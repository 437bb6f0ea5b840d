"""Models in plain words: what a model guarantees to one person, with its figures."""

import re
from collections.abc import Callable, Sequence
from dataclasses import fields
from fractions import Fraction

from indistinct.figures import number, percent
from indistinct.models import Model, SubsetAnonymity
from indistinct.models.base import THRESHOLD, ModelWords
from indistinct.schema import Schema

# Names of quantities that follow from a parameter.
FOLLOWS: tuple[tuple[str, str, Callable[[float], str]], ...] = (
    ("beta", "gain", lambda beta: number(1 + beta)),
    ("delta", "ratio", lambda delta: number(2 ** min(delta, 1000))),
    ("l", "1/l", lambda least: percent(1 / least)),
)


def words_of(kind: type[Model]) -> ModelWords:
    """Return a model's title and description; for a model of another package, the first line of its docstring."""
    if kind.words is not None:
        return kind.words
    summary = (kind.__doc__ or kind.name).strip().partition("\n")[0]
    return ModelWords(kind.name, THRESHOLD, summary, summary)


def promise_for_one(model: Model, schema: Schema) -> str:
    """Return the guarantee of a model for one person, as a sentence with its figures.

    >>> from indistinct.models import KAnonymity
    >>> promise_for_one(KAnonymity(11), Schema(quasi=["age", "sex", "zip"], person=["id"]))
    'An attacker who knows age, sex and zip of a person is left with at least 11 people.'
    """
    fields = {
        "quasi": list_names(schema.quasi) or "everything that others may know",
        "unit": "people" if schema.person else "rows",
        **_figures(model),
    }
    if isinstance(model, SubsetAnonymity):
        named = ", or ".join(map(list_names, model.sets))
        fields["subset"] = named or f"any {fields['size']} of {fields['quasi']}"
    return re.sub(r"\{([^{}]+)\}", lambda match: fields.get(match[1], match[0]), words_of(type(model)).guarantee)


def _figures(model: Model) -> dict[str, str]:
    """Return the parameters of a model as text, shares also in percent, and what follows from them."""
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
