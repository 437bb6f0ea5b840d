"""Hospital tables with identifiers, quasi-identifiers and a sensitive disease, for models that look at both.

`generate_patients` has one row per person, `generate_visits` many, which is what (X,Y)-anonymity counts.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from indistinct.hierarchy.value import Hierarchy
from indistinct.samples._sampling import BLOCK, ConditionalShares, Numbers, blocks, happens, plain_text

PATIENTS_COLUMNS = ("name", "age", "sex", "zipcode", "admitted", "disease", "cost")
VISITS_COLUMNS = ("person", "age", "sex", "zipcode", "diagnosis")

_SEX = ("female", "male")
_SEX_MISSING = 0.01
_ZIPCODE_MISSING = 0.012
_FIRST_VISIT = 0.25
_FIRST_DAY = np.datetime64("2023-01-01")
_DAYS = 730

_AGES = np.arange(0, 96)
_AGE_ANCHORS = (0, 5, 20, 40, 65, 80, 95)
_AGE_WEIGHTS = (1.6, 0.7, 0.9, 1.1, 1.9, 1.3, 0.15)

# five invented regions by the first two digits of their zip codes; one has a leading zero
_REGIONS = ("02", "17", "38", "60", "94")
_ZIPCODES = tuple(f"{region}{100 + 7 * place:03d}" for region in _REGIONS for place in range(40))

# weights at the ages 0, 15, 35, 60, 90; how much more likely among men; usual cost of a stay
_DISEASE_AGES = (0, 15, 35, 60, 90)
_DISEASES: dict[str, dict[str, tuple[tuple[float, ...], float, float]]] = {
    "infection": {
        "flu": ((9.0, 6, 5, 5, 6), 1.0, 1_900),
        "pneumonia": ((7.0, 3, 3, 7, 14), 1.1, 6_400),
        "hepatitis": ((0.4, 0.8, 2.5, 2, 1), 1.4, 7_200),
        "HIV": ((0.1, 0.5, 2.2, 1.2, 0.3), 3.0, 9_800),
    },
    "chronic disease": {
        "asthma": ((5.0, 8, 4, 3, 2), 0.8, 2_600),
        "diabetes": ((0.3, 2, 5, 12, 11), 1.2, 5_100),
        "heart disease": ((0.3, 0.5, 3, 12, 17), 1.6, 12_900),
        "cancer": ((0.6, 0.8, 4, 13, 13), 0.9, 18_700),
    },
    "other disease": {
        "fracture": ((4.0, 10, 6, 4, 9), 1.3, 4_300),
        "appendicitis": ((2.0, 7, 4, 1.5, 0.7), 1.2, 7_900),
        "depression": ((0.1, 5, 7, 5, 3), 0.45, 3_800),
        "migraine": ((0.3, 4, 6, 3, 1), 0.3, 1_500),
    },
}
_DISEASE = tuple(disease for group in _DISEASES.values() for disease in group)

_SYLLABLES = ("ba", "del", "fi", "go", "han", "ju", "ka", "lor", "mi", "nes", "ol", "pra", "ri", "so", "tal", "ve")
_NAMES = len(_SYLLABLES) ** 6
# odd, so that walking over a power of two in this stride meets every name once
_STRIDE = 10_368_889


def generate_patients(rows: int, *, seed: int) -> pa.Table:
    """Return one row per patient: name, age, sex, zipcode, admitted, disease, cost.

    Names are unique up to sixteen million rows; zip codes are text, some with a leading zero; sex and zip
    code are missing in about one row of a hundred. Disease depends on age and sex, cost on disease.

        >>> generate_patients(2, seed=1).schema.field("zipcode").type
        DataType(string)
    """
    of = _Distributions()
    pieces = []
    for index, generator in blocks(rows, seed=seed):
        names = _names(np.arange(index.start, index.start + BLOCK) + seed % _NAMES)
        piece = pa.table({"name": names, **_stays(of, generator)})
        pieces.append(piece.slice(0, index.stop - index.start))
    return pa.concat_tables(pieces)


def generate_visits(rows: int, *, seed: int) -> pa.Table:
    """Return many rows per person, four on average: person, age, sex, zipcode, diagnosis.

    Age, sex and zip code belong to the person; the diagnosis belongs to the visit and depends on age and sex.

        >>> generate_visits(2, seed=1).column_names
        ['person', 'age', 'sex', 'zipcode', 'diagnosis']
    """
    of = _Distributions()
    pieces, people = [], 0
    for index, generator in blocks(rows, seed=seed):
        first = happens(generator, chances=_FIRST_VISIT)
        first[0] = 1
        visitor = np.cumsum(first) - 1
        age, sex, zipcode = (drawn[visitor] for drawn in of.people(generator))
        numbers = pa.array(people + visitor).cast(pa.string())
        piece = pa.table(
            {
                "person": pc.binary_join_element_wise("P", pc.utf8_lpad(numbers, 8, padding="0"), ""),
                "age": age.astype(np.int64),
                "sex": plain_text(sex, _SEX),
                "zipcode": plain_text(zipcode, _ZIPCODES),
                "diagnosis": plain_text(of.disease.draw(generator, age * 2 + sex), _DISEASE),
            }
        )
        people += int(visitor[-1]) + 1
        pieces.append(piece.slice(0, index.stop - index.start))
    return pa.concat_tables(pieces)


def patients_hierarchies() -> dict[str, Hierarchy]:
    """Return a hierarchy for each quasi-identifier of the patients, and for the disease."""
    return {
        "age": Hierarchy.intervals([5, 10, 20]),
        "sex": Hierarchy.suppression(),
        "zipcode": Hierarchy.masking(),
        "admitted": Hierarchy.dates(),
        "disease": Hierarchy.tree({"*": {group: list(diseases) for group, diseases in _DISEASES.items()}}),
    }


class _Distributions:
    """What people and their diseases are drawn from."""

    def __init__(self) -> None:
        weights, factors, costs = zip(*(entry for group in _DISEASES.values() for entry in group.values()), strict=True)
        women = np.stack([np.interp(_AGES, _DISEASE_AGES, each) for each in weights], axis=-1)
        positions = np.arange(len(_ZIPCODES))
        self.age = ConditionalShares.of(np.interp(_AGES, _AGE_ANCHORS, _AGE_WEIGHTS))
        # large towns first in each region, and no region as large as the one before it
        self.zipcode = ConditionalShares.of(1 / (2 + positions % 40) / (1 + positions // 40))
        self.disease = ConditionalShares.of(np.stack([women, women * np.array(factors)], axis=1))
        self.cost = np.array(costs)

    def people(self, generator: np.random.Generator) -> tuple[Numbers, Numbers, Numbers]:
        """Return age, sex and zip code of one block of people, as codes."""
        return self.age.draw(generator), happens(generator, chances=0.49), self.zipcode.draw(generator)


def _stays(of: _Distributions, generator: np.random.Generator) -> dict[str, pa.Array]:
    """Return one block of stays in hospital, one per person."""
    age, sex, zipcode = of.people(generator)
    disease = of.disease.draw(generator, age * 2 + sex)
    cost = of.cost[disease] * np.exp(0.5 * generator.standard_normal(BLOCK))
    admitted = _FIRST_DAY + generator.integers(0, _DAYS, size=BLOCK)
    return {
        "age": pa.array(age, pa.int64()),
        "sex": plain_text(sex, _SEX, missing=happens(generator, chances=_SEX_MISSING)),
        "zipcode": plain_text(zipcode, _ZIPCODES, missing=happens(generator, chances=_ZIPCODE_MISSING)),
        "admitted": pa.array(admitted, pa.date32()),
        "disease": plain_text(disease, _DISEASE),
        "cost": pa.array(np.round(cost, 2)),
    }


def _names(numbers: Numbers) -> pa.StringArray:
    """Return a given name, an initial and a family name for each number."""
    spread = numbers.astype(np.int64) % _NAMES * _STRIDE % _NAMES
    digits = [spread // len(_SYLLABLES) ** index % len(_SYLLABLES) for index in range(6)]
    small = [plain_text(digit, _SYLLABLES) for digit in digits]
    given, family = (pc.utf8_capitalize(pc.binary_join_element_wise(*parts, "")) for parts in (small[:2], small[2:5]))
    initial = pc.utf8_slice_codeunits(pc.utf8_upper(small[5]), 0, 1)
    return pc.binary_join_element_wise(given, pc.binary_join_element_wise(initial, ".", ""), family, " ")
