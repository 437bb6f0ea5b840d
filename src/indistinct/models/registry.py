"""All models by their registered names, and how their texts are parsed; the common tests run on each of them."""

from collections.abc import Iterable, Mapping
from functools import reduce
from types import MappingProxyType

from indistinct import models
from indistinct.errors import IndistinctError
from indistinct.models.base import Model
from indistinct.text_form import Registry, parse, split

MODELS: Mapping[str, type[Model]] = MappingProxyType(
    {
        kind.name: kind
        for kind in (
            models.KAnonymity,
            models.SubsetAnonymity,
            models.AlphaK,
            models.XYAnonymity,
            models.DistinctLDiversity,
            models.EntropyLDiversity,
            models.RecursiveLDiversity,
            models.TCloseness,
            models.LDiverseLinks,
            models.BasicBetaLikeness,
            models.EnhancedBetaLikeness,
            models.DeltaDisclosure,
            models.DeltaPresence,
            models.KMap,
            models.AverageRisk,
            models.SampleUniqueness,
            models.PopulationUniqueness,
        )
    }
)

EVERY_MODEL = Registry(MODELS, base=Model, group="indistinct.models")


def parse_model(text: str) -> Model:
    """Return the model that a text describes; `&` joins several.

    >>> parse_model("k-anonymity:k=5 & t-closeness:sensitive=disease,t=0.2").parts()[0]
    KAnonymity(k=5)
    """
    return all_of(parse(part, EVERY_MODEL, what="model") for part in split(text, "&"))


def parse_model_or_none(text: str) -> Model | None:
    """Return the model that a verdict names; None for a rule of verification or an unknown name.

    >>> parse_model_or_none("k-anonymity:k=5"), parse_model_or_none("links-broken")
    (KAnonymity(k=5), None)
    """
    try:
        return parse_model(text)
    except IndistinctError:
        return None


def all_of(parts: Iterable[Model]) -> Model:
    """Return one model that requires all of several."""
    return reduce(lambda one, other: one & other, parts)


def subset_models(several: Iterable[Model]) -> tuple[models.SubsetAnonymity, ...]:
    """Return those of several models that are subset anonymity."""
    return tuple(model for model in several if isinstance(model, models.SubsetAnonymity))
