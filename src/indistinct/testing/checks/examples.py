"""Small tables, every model and every form of an algorithm, on which the checks of recodings are run.

Values with commas, quotes, hyphens and characters of several scripts, ties, missing values and every kind of column.
"""

import datetime
import random
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from indistinct.algorithms.base import Algorithm
from indistinct.algorithms.registry import ALGORITHMS, parse_algorithm
from indistinct.hierarchy.value import Hierarchy
from indistinct.models import Model
from indistinct.models.registry import parse_model
from indistinct.schema import Schema
from indistinct.testing.checks.case import Case, Judge, complete_hierarchies

ROWS = 30
DISEASES = Hierarchy.tree(
    {"*": {"infection": ["influenza", "HIV/AIDS"], "stomach": ["gastritis", "ulcer, peptic"], "Köpfchenweh": []}}
)
JOBS = Hierarchy.tree({"anyone": {"artist": ["dancer", "writer"], "professional": ["engineer", "law “yer”", "medic"]}})
GRADES = Hierarchy.order(["none", "primary", "sec-ondary", "tertiary"])

MODEL_EXAMPLES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "k-anonymity": ("k-anonymity:k=1", "k-anonymity:k=3"),
        "subset-anonymity": ("subset-anonymity:k=4,size=1", "subset-anonymity:k=5,size=1 & k-anonymity:k=2"),
        "alpha-k": (
            "alpha-k:sensitive=disease,alpha=0.6,k=2",
            "alpha-k:sensitive=disease,alpha=1/3,k=3,protected=HIV/AIDS|gastritis",
        ),
        "xy-anonymity": ("xy-anonymity:y=name,k=3", "xy-anonymity:y=name|disease,k=4", "xy-anonymity:y=disease,k=2"),
        "distinct-l-diversity": ("distinct-l-diversity:sensitive=disease,l=3",),
        "entropy-l-diversity": (
            "entropy-l-diversity:sensitive=disease,l=2.2,estimator=grassberger",
            "entropy-l-diversity:sensitive=disease,l=2.2",
        ),
        "recursive-l-diversity": ("recursive-l-diversity:sensitive=disease,c=2,l=2",),
        "t-closeness": (
            "t-closeness:sensitive=disease,t=0.3",
            "t-closeness:sensitive=disease,t=0.2,distance=ordered",
            "t-closeness:sensitive=disease,t=0.25,distance=hierarchical & k-anonymity:k=2",
        ),
        "l-diverse-links": ("l-diverse-links:l=2,sensitive=disease",),
        "basic-beta-likeness": ("basic-beta-likeness:sensitive=disease,beta=1.5",),
        "enhanced-beta-likeness": ("enhanced-beta-likeness:sensitive=disease,beta=2",),
        "delta-disclosure": ("delta-disclosure:sensitive=disease,delta=1.6",),
        "delta-presence": (
            "delta-presence:low=0.1,high=0.4",
            "delta-presence:low=0.1,high=0.4,absent=false",
            "delta-presence:low=0,high=0.4",
        ),
        "k-map": ("k-map:k=6", "k-map:k=5,significance=0.05,population_size=200"),
        "average-risk": ("average-risk:threshold=1/3",),
        "sample-uniqueness": ("sample-uniqueness:share=0.1",),
        "population-uniqueness": ("population-uniqueness:share=0.02,population_size=300,estimator=zayatz",),
    }
)
"""Every registered model with parameters that the tables below can satisfy."""

ALGORITHM_EXAMPLES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "auto": ("auto",),
        "mondrian": (
            "mondrian",
            "mondrian:extent=region",
            "mondrian:numeric=bounds",
            "mondrian:numeric=mean",
            "mondrian:numeric=interval+mean",
            "mondrian:relaxed=true",
            "mondrian:relaxed=true,numeric=bounds",
            "mondrian:relaxed=true,numeric=mean",
            "mondrian:choose=loss",
            "mondrian:choose=loss,trees=set",
            "mondrian:choose=loss,extent=region",
            "mondrian:missing=pattern",
            "mondrian:choose=loss,missing=pattern",
        ),
        "single-dimensional": (
            "single-dimensional",
            "single-dimensional:extent=region",
            "single-dimensional:numeric=bounds",
            "single-dimensional:numeric=mean",
            "single-dimensional:search=optimal,nodes=60",
        ),
        "datafly": ("datafly", "datafly:outliers=0", "datafly:outliers=0,suppressed_rows=star"),
        "bottom-up": ("bottom-up", "bottom-up:rollup=false,marking=transitive"),
        "incognito": ("incognito", "incognito:variant=basic,marking=transitive", "incognito:variant=cube"),
        "optimal": ("optimal", "optimal:metric=discernibility", "optimal:metric=entropy"),
        "tds": ("tds", "tds:score=ig", "tds:score=igpl-original", "tds:siblings=true"),
        "value-suppression": ("value-suppression",),
        "cell-suppression": (
            "cell-suppression",
            'cell-suppression:start="optimal:metric=discernibility"',
            "cell-suppression:search=optimal,nodes=1",
        ),
        "kaca": ("kaca", "kaca:stub=false"),
        "top-down-kaca": ("top-down-kaca", "top-down-kaca:stub=false"),
        "two-level": ("two-level", "two-level:rule=literal"),
        "refine": ("refine", "refine:start=mondrian"),
        "mdav": ("mdav", "mdav:numeric=mean", "mdav:split=false"),
        "anatomy": ("anatomy:l=2", "anatomy:l=3,form=permuted"),
        "multiset": ("multiset:l=2", "multiset:l=3,try_all_dims=true"),
        "slicing": (
            "slicing:l=2",
            "slicing:l=3,try_all_dims=true",
            "slicing:l=2,columns=each",
            "slicing:l=2,columns=whole",
            "slicing:l=2,columns=2,alpha=1,size=4",
            "slicing:l=2,alpha=1,overlap=1",
            "slicing:l=2,overlap=2",
        ),
    }
)
"""Algorithms in the variants that their parameters allow; those not named are tried with their defaults."""

BUCKET_MODELS = ("k-anonymity:k=1", "k-anonymity:k=2", "k-anonymity:k=2 & distinct-l-diversity:sensitive=disease,l=2")
"""The models that an algorithm with buckets must satisfy in addition to its own."""


def examples(algorithm: Algorithm | str, model: Model | str, *, judge: Judge | None = None) -> dict[str, Case]:
    """Return a case for each small table that an algorithm can work on; `judge` judges models of other packages.

    Every table has a sensitive column `disease` of six values, missing among them, and an identifier `name`.
    """
    chosen = parse_algorithm(algorithm) if isinstance(algorithm, str) else algorithm
    wanted = parse_model(model) if isinstance(model, str) else model
    return {
        name: Case(
            table,
            schema,
            wanted,
            chosen,
            complete_hierarchies(hierarchies, schema.quasi, algorithm=chosen),
            judge=judge,
            population=population_of(table, schema) if wanted.needs_population else None,
        )
        for name, (table, schema, hierarchies) in tables().items()
    }


def population_of(table: pa.Table, schema: Schema) -> pa.Table:
    """Return a population that contains a table: its rows two to four times, and new combinations of values."""
    rows = list(range(table.num_rows))
    anew = table
    for index, name in enumerate(schema.quasi):
        shift = 3 * index + 1
        anew = anew.set_column(
            anew.column_names.index(name), name, table[name].take(pa.array(rows[shift:] + rows[:shift]))
        )
    return pa.concat_tables([table, table.take(pa.array([row for row in rows for _ in range(row % 3 + 1)])), anew])


def forms_of(name: str) -> tuple[str, ...]:
    """Return the variants of a registered algorithm; one without examples is tried with its defaults."""
    return ALGORITHM_EXAMPLES.get(name, (name,) if name in ALGORITHMS else ())


def models_for(algorithm: Algorithm) -> tuple[str, ...]:
    """Return the models that an algorithm is tested with.

    All algorithms meet models that most searches treat alike: those that judge each class by the table alone, and are
    monotone. Of the others each algorithm meets every second one, and its neighbour in the registry those between.
    """
    if algorithm.traits.unit == "bucket":
        return BUCKET_MODELS
    parsed = {spec: parse_model(spec) for some in MODEL_EXAMPLES.values() for spec in some}
    others = [spec for spec, model in parsed.items() if not _is_plain(model)]
    first = list(ALGORITHMS).index(algorithm.name) % 2 if algorithm.name in ALGORITHMS else 0
    return tuple(
        spec
        for spec, model in parsed.items()
        if (_is_plain(model) or spec in others[first::2]) and algorithm.refusal(model, suppression=False) is None
    )


def _is_plain(model: Model) -> bool:
    return model.traits.class_wise and model.traits.monotone and not model.needs_population


@cache
def tables() -> Mapping[str, tuple[pa.Table, Schema, Mapping[str, Hierarchy]]]:
    """Return the small tables by name, each with its schema and hierarchies."""
    dice = random.Random(20)  # noqa: S311

    def of(*values: object) -> list[object]:
        return [dice.choice(values) for _ in range(ROWS)]

    numbers = {"age": [dice.randint(20, 45) for _ in range(ROWS)], "zip": of(53710, 53711, 53712, 53715)}
    mixed = {
        "income": [None if dice.random() < 0.15 else dice.randint(-4, 9) / 2 for _ in range(ROWS)],
        "sex": of("f", "m", "d, {divers}", None),
        "job": of("dancer", "writer", "engineer", "law “yer”", "medic", None),
        "since": [datetime.date(2020, 1, 1) + datetime.timedelta(days=dice.randint(0, 300)) for _ in range(ROWS)],
    }
    ordered = {
        "grade": of("none", "primary", "sec-ondary", "tertiary", None),
        "postcode": of(4351, 4352, 4361, 4412),
        "member": of(True, False),
    }
    one = {"age": of(*range(20, 32))}
    return {
        "numbers": _table(numbers, {}),
        "mixed": _table(mixed, {"job": JOBS, "since": Hierarchy.dates()}),
        "ordered": _table(ordered, {"grade": GRADES, "postcode": Hierarchy.masking()}),
        "one": _table(one, {}),
    }


def _table(
    quasi: Mapping[str, Any], hierarchies: Mapping[str, Hierarchy]
) -> tuple[pa.Table, Schema, dict[str, Hierarchy]]:
    """Return a table with the given quasi-identifiers and awkward other values."""
    dice = random.Random(21)  # noqa: S311
    diseases = ["influenza", "HIV/AIDS", "gastritis", "ulcer, peptic", "Köpfchenweh", None]
    columns = {
        "name": [f"person {index // 2} 人" for index in range(ROWS)],
        **quasi,
        "disease": [diseases[index % 6] if index < 6 else dice.choice(diseases) for index in range(ROWS)],
        "note": [dice.choice(["first", "sec\nond", '"third"', None]) for _ in range(ROWS)],
        "key": dice.sample(range(1000, 9999), ROWS),
    }
    schema = Schema(identifiers=["name"], quasi=list(quasi), sensitive=["disease"], insensitive=["note", "key"])
    return pa.table(columns), schema, {**hierarchies, "disease": DISEASES}
