"""A census-like table, the yardstick for algorithms and engines: Adult's cardinalities, dependent columns.

Age comes first, sex depends on age, country of birth on race, marital state on age and sex, education on age,
occupation on education and sex, work class on occupation, salary on age, sex, education and occupation.
"""

import numpy as np
import pyarrow as pa

from indistinct.hierarchy.value import Hierarchy
from indistinct.samples import _census_shares as shares
from indistinct.samples._sampling import ConditionalShares, Numbers, blocks, encoded_text, happens

CENSUS_QUASI = ("age", "sex", "race", "marital", "education", "country", "workclass", "occupation")
CENSUS_COLUMNS = (*CENSUS_QUASI, "salary")

_LABELS: dict[str, tuple[str, ...]] = {
    "sex": shares.SEX,
    "race": tuple(shares.RACE),
    "marital": tuple(shares.MARITAL),
    "education": tuple(shares.EDUCATION),
    "country": shares.COUNTRY,
    "workclass": shares.WORKCLASS,
    "occupation": tuple(shares.OCCUPATION),
    "salary": shares.SALARY,
}


def generate_census(rows: int, *, seed: int) -> pa.Table:
    """Return a census-like table of eight quasi-identifiers and a salary class.

    The same seed gives the same rows, and the first rows of a longer table are those of a shorter one. Age is
    a number from 17 to 90; the other columns are dictionary-encoded text.

        >>> generate_census(3, seed=1).column_names[:4]
        ['age', 'sex', 'race', 'marital']
    """
    distributions = _CensusDistributions()
    codes = {column: np.empty(max(rows, 0), dtype=np.int32) for column in _LABELS}
    ages = np.empty(max(rows, 0), dtype=np.int64)
    for index, generator in blocks(rows, seed=seed):
        drawn = distributions.draw(generator)
        count = index.stop - index.start
        np.add(drawn.pop("age")[:count], shares.AGES[0], out=ages[index])
        for column, values in drawn.items():
            codes[column][index] = values[:count]
    return pa.table({"age": ages, **{name: encoded_text(codes[name], labels) for name, labels in _LABELS.items()}})


def census_hierarchies() -> dict[str, Hierarchy]:
    """Return a hierarchy for each column; their heights are those that LeFevre et al. (2005) give for Adult.

    That is 4, 1, 1, 2, 3, 2, 2, 2 and 1 generalization steps, the salary last.
    """
    groups = {
        "marital": shares.MARITAL_GROUPS,
        "education": shares.EDUCATION_GROUPS,
        "country": {region: list(countries) for region, countries in shares.REGIONS.items()},
        "workclass": shares.WORKCLASS_GROUPS,
        "occupation": shares.OCCUPATION_GROUPS,
    }
    trees = {name: Hierarchy.tree({"*": groups.get(name, list(labels))}) for name, labels in _LABELS.items()}
    return {"age": Hierarchy.intervals([5, 10, 20]), **trees}


class _CensusDistributions:
    """What each column is drawn from, given the columns that it depends on."""

    def __init__(self) -> None:
        self.age, self.men = ConditionalShares.of(shares.ages()), shares.men()
        self.race = ConditionalShares.of(list(shares.RACE.values()))
        self.country = ConditionalShares.of(shares.countries())
        self.marital = ConditionalShares.of(shares.marital_states())
        self.education = ConditionalShares.of(shares.educations())
        self.occupation = ConditionalShares.of(shares.occupations())
        self.workclass = ConditionalShares.of(shares.WORKCLASS_BY_OCCUPATION)
        self.high_salaries = shares.high_salaries()

    def draw(self, generator: np.random.Generator) -> dict[str, Numbers]:
        """Return one block of codes, each column after those that it depends on."""
        age = self.age.draw(generator)
        sex = happens(generator, chances=self.men[age])
        race = self.race.draw(generator)
        education = self.education.draw(generator, age)
        occupation = self.occupation.draw(generator, education * 2 + sex)
        person = ((age * 2 + sex) * len(shares.EDUCATION) + education) * len(shares.OCCUPATION) + occupation
        return {
            "age": age,
            "sex": sex,
            "race": race,
            "education": education,
            "occupation": occupation,
            "country": self.country.draw(generator, race),
            "marital": self.marital.draw(generator, age * 2 + sex),
            "workclass": self.workclass.draw(generator, occupation),
            "salary": happens(generator, chances=self.high_salaries[person]),
        }
