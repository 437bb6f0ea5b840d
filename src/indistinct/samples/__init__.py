"""Invented tables to try algorithms, engines and models on, from seeded generators.

Every generator is `generate_<name>(rows, *, seed)`; the same seed gives the same table.
"""

from collections.abc import Callable

import pyarrow as pa

from indistinct.samples.census import CENSUS_COLUMNS, CENSUS_QUASI, census_hierarchies, generate_census
from indistinct.samples.patients import (
    PATIENTS_COLUMNS,
    VISITS_COLUMNS,
    generate_patients,
    generate_visits,
    patients_hierarchies,
)
from indistinct.samples.survey import SURVEY_QUASI, generate_survey
from indistinct.samples.synthetic import (
    LANDS_END_QUASI,
    generate_lands_end,
    generate_normal,
    generate_uniform,
    lands_end_hierarchies,
)

__all__ = [
    "CENSUS_COLUMNS",
    "CENSUS_QUASI",
    "GENERATORS",
    "LANDS_END_QUASI",
    "PATIENTS_COLUMNS",
    "SURVEY_QUASI",
    "VISITS_COLUMNS",
    "census_hierarchies",
    "generate_census",
    "generate_lands_end",
    "generate_normal",
    "generate_patients",
    "generate_survey",
    "generate_uniform",
    "generate_visits",
    "lands_end_hierarchies",
    "patients_hierarchies",
]

GENERATORS: dict[str, Callable[..., pa.Table]] = {
    "census": generate_census,
    "patients": generate_patients,
    "survey": generate_survey,
    "visits": generate_visits,
    "uniform": generate_uniform,
    "normal": generate_normal,
    "lands-end": generate_lands_end,
}
"""Every generator by the name that `indistinct generate` knows it by."""
