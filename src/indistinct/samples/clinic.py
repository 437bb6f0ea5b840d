"""A clinic in five tables about the same invented people: patients, stays, diagnoses, laboratory values, prescriptions.

Codes, wards and tests are invented in the form of those of hospitals; diagnoses repeat within a person, and follow age.
"""

from datetime import date

import numpy as np
import pyarrow as pa

from indistinct.samples._sampling import Numbers, check_size, plain_text

CLINIC_WINDOW = (date(2010, 1, 1), date(2024, 12, 31))
"""The first and the last day of every event."""

_FIRST, _LAST = (int(np.datetime64(day).astype(int)) for day in CLINIC_WINDOW)
_CHAPTERS = {"I": 20, "E": 15, "J": 15, "K": 12, "M": 15, "C": 10, "F": 8, "S": 12}
"""Groups of three characters of diagnoses, by chapter; each has three codes."""
_WARDS = ("surgery", "medicine", "cardiology", "oncology", "paediatrics", "emergency")
_TESTS = ("glucose", "sodium", "creatinine", "haemoglobin", "crp")
_DRUGS = tuple(f"{letter}{number:02d}" for letter in "ABCN" for number in range(1, 13))
_SEX = ("female", "male")
_REGIONS = ("north", "east", "south", "west", "coast")
MEAN_STAYS, MEAN_DIAGNOSES, MEAN_LABS, MEAN_PRESCRIPTIONS = 2.0, 8.0, 12.0, 4.0

CLINIC_POLICY = """\
[tables.patients]
path = "patients.csv"
people = true
[tables.patients.columns]
patient = "person"
sex = { role = "quasi" }
region = { role = "quasi" }
birth_date = { role = "quasi", tells = "birth", hierarchy = { dates = ["year", "decade"] } }
first_admission = { role = "quasi", hierarchy = { dates = ["year"] } }
death_date = "identifier"

[tables.stays]
path = "stays.csv"
knows = 1
[tables.stays.columns]
patient = "person"
stay = "identifier"
admitted = { role = "time" }
ward = { role = "quasi" }
length = "insensitive"

[tables.diagnoses]
path = "diagnoses.csv"
knows = 2
[tables.diagnoses.columns]
patient = "person"
code = { role = "quasi", hierarchy = { parents = "codes.csv", code = "code", parent = "parent", root = "*" } }
date = { role = "time", hierarchy = { days = [7, 30, 365] } }
cost = "insensitive"

[tables.labs]
path = "labs.csv"
[tables.labs.columns]
patient = "person"
date = { role = "time", unknown = true }
test = "insensitive"
value = "insensitive"

[tables.prescriptions]
path = "prescriptions.csv"
[tables.prescriptions.columns]
patient = "person"
drug = "insensitive"
date = { role = "time", unknown = true }

[time]
anchor = "first_admission"
window = ["2010-01-01", "2024-12-31"]
as = "days"

[privacy]
models = ["linked-anonymity:k=5"]
knows_together = 2
suppression = 0.02

[output]
folder = "release/"
"""
"""A policy for the tables of the clinic, in the folder that they lie in."""


def generate_clinic(people: int, *, seed: int) -> dict[str, pa.Table]:
    """Return five tables about some invented people, the same ones for the same seed.

    >>> {name: table.num_rows for name, table in generate_clinic(100, seed=1).items()}["patients"]
    100
    """
    check_size(people, seed=seed)
    generator = np.random.default_rng((seed, 39))
    birth = generator.integers(_FIRST - 85 * 365, _FIRST, size=people)
    admission = generator.integers(_FIRST, _LAST - 30, size=people)
    # The chance of a death is invented; a death is after the first admission.
    dies = generator.random(people) < 0.06
    death = np.where(dies, generator.integers(admission, _LAST + 1), _LAST + 1)
    last = np.minimum(death, _LAST)
    ids = pa.array([f"P{number:07d}" for number in generator.permutation(people)], pa.string())
    patients = pa.table(
        {
            "patient": ids,
            "sex": plain_text(generator.integers(0, 2, people), _SEX, missing=generator.random(people) < 0.005),
            "birth_date": _days(birth),
            "region": plain_text(generator.choice(5, people, p=(0.35, 0.25, 0.2, 0.12, 0.08)), _REGIONS),
            "first_admission": _days(admission),
            "death_date": _days(death, missing=~dies),
        }
    )
    age = (admission - birth) // 365
    stays = _stays(generator, ids, admission, last)
    return {
        "patients": patients,
        "stays": stays,
        "diagnoses": _diagnoses(generator, ids, admission, last, age),
        "labs": _labs(generator, ids, admission, last),
        "prescriptions": _prescriptions(generator, ids, admission, last),
    }


def clinic_codes() -> pa.Table:
    """Return the parent of each code of a diagnosis: code, group of three characters, chapter."""
    rows: list[tuple[str, str | None]] = []
    for chapter, groups in _CHAPTERS.items():
        rows.append((chapter, None))
        for group in range(groups):
            rows.append((f"{chapter}{group:02d}", chapter))
            rows += [(f"{chapter}{group:02d}.{digit}", f"{chapter}{group:02d}") for digit in range(3)]
    return pa.table({"code": [code for code, _ in rows], "parent": [parent for _, parent in rows]})


def _days(days: Numbers, missing: Numbers | None = None) -> pa.Array:
    return pa.array(days.astype(np.int32), pa.int32(), mask=missing).cast(pa.date32())


def _events(generator: np.random.Generator, admission: Numbers, last: Numbers, mean: float) -> tuple[Numbers, Numbers]:
    """Return the person and the day of some events of each person: a few have many, and most come early."""
    rate = mean * generator.gamma(1.2, 1 / 1.2, size=len(admission))
    person = np.repeat(np.arange(len(admission)), generator.poisson(rate))
    spread = (last - admission)[person] * generator.random(len(person)) ** 3
    return person, admission[person] + spread.astype(np.int64)


def _stays(generator: np.random.Generator, ids: pa.Array, admission: Numbers, last: Numbers) -> pa.Table:
    person, day = _events(generator, admission, last, MEAN_STAYS)
    return pa.table(
        {
            "patient": ids.take(pa.array(person)),
            "stay": pa.array(generator.permutation(len(person)) + 100_000),
            "admitted": _days(day),
            "ward": plain_text(generator.choice(6, len(person), p=(0.2, 0.3, 0.15, 0.1, 0.05, 0.2)), _WARDS),
            "length": pa.array(1 + generator.poisson(4, len(person))),
        }
    )


def _diagnoses(
    generator: np.random.Generator, ids: pa.Array, admission: Numbers, last: Numbers, age: Numbers
) -> pa.Table:
    """Return diagnoses; a third repeat the one before of the same person, as chronic ones do."""
    person, day = _events(generator, admission, last, MEAN_DIAGNOSES)
    codes = [f"{chapter}{group:02d}.{digit}" for chapter, groups in _CHAPTERS.items()
             for group in range(groups) for digit in range(3)]  # fmt: skip
    weights = 1 / (1 + np.arange(len(codes)) % 36) ** 1.2
    young = np.array([code[0] in "JS" for code in codes])
    draws = [generator.choice(len(codes), len(person), p=each / each.sum())
             for each in (weights * (1 + 3 * young), weights * (1 + 2 * ~young))]  # fmt: skip
    drawn = np.where(age[person] < 40, *draws)
    repeats = (generator.random(len(person)) < 0.35) & (np.diff(person, prepend=-1) == 0)
    source = np.maximum.accumulate(np.where(repeats, 0, np.arange(len(person))))
    return pa.table(
        {
            "patient": ids.take(pa.array(person)),
            "code": plain_text(drawn[source], codes, missing=generator.random(len(person)) < 0.002),
            "date": _days(day),
            "cost": pa.array(np.round(np.exp(generator.normal(6.5, 0.8, len(person))), -1)),
        }
    )


def _labs(generator: np.random.Generator, ids: pa.Array, admission: Numbers, last: Numbers) -> pa.Table:
    person, day = _events(generator, admission, last, MEAN_LABS)
    return pa.table(
        {
            "patient": ids.take(pa.array(person)),
            "date": _days(day),
            "test": plain_text(generator.integers(0, len(_TESTS), len(person)), _TESTS),
            "value": pa.array(np.round(generator.gamma(9.0, 11.0, len(person)), 1)),
        }
    )


def _prescriptions(generator: np.random.Generator, ids: pa.Array, admission: Numbers, last: Numbers) -> pa.Table:
    person, day = _events(generator, admission, last, MEAN_PRESCRIPTIONS)
    weights = 1 / (1 + np.arange(len(_DRUGS)) % 12)
    return pa.table(
        {
            "patient": ids.take(pa.array(person)),
            "drug": plain_text(generator.choice(len(_DRUGS), len(person), p=weights / weights.sum()), _DRUGS),
            "date": _days(day),
        }
    )
