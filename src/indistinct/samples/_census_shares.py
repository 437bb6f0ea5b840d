"""Values and shares of the census-like table: what an algorithm finds to recode in it.

The number of values in each column is that of the Adult table (Becker & Kohavi 1996), the labels and the
shares are our own. Each function returns weights whose last axis has the values of its column.
"""

import numpy as np

from indistinct.samples._sampling import Numbers

AGES = np.arange(17, 91)
SEX = ("female", "male")
SALARY = ("low", "high")

RACE = {"white": 0.855, "black": 0.094, "asian": 0.032, "indigenous": 0.010, "other": 0.009}

# weight among those born abroad; the country of the census itself is weighed by `ABROAD`
REGIONS: dict[str, dict[str, float]] = {
    "North America": {"United States": 0.0, "Canada": 3.6, "Puerto Rico": 3.8},
    "Latin America": {
        "Mexico": 20.0,
        "El Salvador": 3.3,
        "Cuba": 3.0,
        "Jamaica": 2.6,
        "Dominican Republic": 2.2,
        "Guatemala": 2.1,
        "Colombia": 1.9,
        "Haiti": 1.6,
        "Nicaragua": 1.2,
        "Peru": 1.1,
        "Ecuador": 1.0,
        "Brazil": 0.9,
        "Trinidad and Tobago": 0.9,
        "Honduras": 0.8,
    },
    "Western Europe": {
        "Germany": 4.2,
        "United Kingdom": 3.0,
        "Italy": 2.3,
        "Portugal": 1.2,
        "Greece": 1.0,
        "France": 1.0,
        "Ireland": 0.9,
        "Netherlands": 0.8,
    },
    "Eastern Europe": {"Poland": 1.9, "Ukraine": 1.0, "Romania": 0.8, "Hungary": 0.8},
    "Asia": {
        "Philippines": 6.2,
        "India": 3.3,
        "South Korea": 2.4,
        "China": 2.3,
        "Vietnam": 2.1,
        "Japan": 2.0,
        "Taiwan": 1.4,
        "Iran": 1.3,
        "Hong Kong": 0.9,
        "Cambodia": 0.9,
        "Thailand": 0.8,
        "Laos": 0.8,
    },
}
COUNTRY = tuple(country for region in REGIONS.values() for country in region)
ABROAD = {"white": 0.07, "black": 0.07, "asian": 0.68, "indigenous": 0.08, "other": 0.55}
# how much more likely a region is among the foreign-born of a race
REGION_BY_RACE = {
    "white": (1.0, 0.9, 1.5, 1.5, 0.35),
    "black": (0.5, 1.6, 0.3, 0.2, 0.1),
    "asian": (0.1, 0.02, 0.05, 0.02, 4.0),
    "indigenous": (1.5, 1.5, 0.2, 0.1, 0.5),
    "other": (1.5, 1.5, 0.1, 0.1, 0.4),
}

# weights at these ages, linear between them
MARITAL_AGES = (17, 22, 28, 36, 48, 62, 80)
MARITAL = {
    "never married": (970.0, 850, 480, 210, 95, 60, 50),
    "married": (8.0, 60, 230, 320, 350, 360, 250),
    "married to military": (2.0, 5, 5, 2, 1.2, 1, 1),
    "married living apart": (4.0, 10, 15, 16, 15, 14, 14),
    "separated": (3.0, 12, 32, 42, 38, 25, 12),
    "divorced": (2.0, 12, 75, 160, 220, 160, 70),
    "widowed": (1.0, 1, 3, 8, 30, 120, 400),
}
# how much more likely a state is among men, in the order above
MARITAL_MEN = (1.0, 4.5, 0.9, 0.8, 0.5, 0.6, 0.2)

EDUCATION_AGES = (17, 19, 23, 30, 45, 65, 85)
EDUCATION = {
    "no schooling": (1.0, 1, 1.2, 1.5, 2, 3, 5),
    "grades 1 to 4": (1.0, 1, 3, 4, 5, 11, 20),
    "grades 5 to 6": (2.0, 3, 7, 9, 10, 17, 25),
    "grades 7 to 8": (10.0, 5, 6, 7, 14, 52, 110),
    "grade 9": (40.0, 12, 12, 12, 14, 21, 25),
    "grade 10": (190.0, 40, 18, 18, 20, 32, 30),
    "grade 11": (480.0, 90, 28, 22, 20, 20, 18),
    "grade 12": (130.0, 45, 13, 9, 8, 8, 8),
    "high school diploma": (140.0, 420, 320, 335, 320, 335, 300),
    "college without degree": (20.0, 370, 370, 205, 200, 165, 140),
    "vocational degree": (1.0, 12, 36, 52, 48, 26, 15),
    "associate degree": (1.0, 9, 32, 40, 36, 20, 12),
    "bachelor": (1.0, 4, 140, 215, 170, 135, 120),
    "master": (0.0, 0, 8, 45, 82, 68, 60),
    "professional degree": (0.0, 0, 2, 17, 23, 24, 26),
    "doctorate": (0.0, 0, 0.5, 8, 18, 20, 22),
}

# share, place of the usual education between 0 and 1, how narrow that is, share of men
OCCUPATION = {
    "management": (0.140, 0.74, 4.5, 0.72),
    "professions": (0.270, 0.93, 6.5, 0.62),
    "technical support": (0.030, 0.68, 7.0, 0.63),
    "sales": (0.115, 0.64, 4.5, 0.66),
    "office work": (0.120, 0.60, 6.0, 0.33),
    "skilled trades": (0.140, 0.48, 6.0, 0.95),
    "machine operation": (0.090, 0.38, 5.5, 0.73),
    "transport": (0.065, 0.44, 6.5, 0.94),
    "manual labour": (0.065, 0.38, 5.5, 0.88),
    "farming": (0.045, 0.30, 4.0, 0.93),
    "services": (0.120, 0.40, 4.5, 0.45),
    "household services": (0.012, 0.25, 5.0, 0.08),
    "security": (0.022, 0.60, 6.0, 0.88),
    "armed forces": (0.003, 0.62, 6.0, 0.93),
}

WORKCLASS = (
    "private company",
    "self-employed",
    "business owner",
    "local government",
    "state government",
    "federal government",
    "non-profit",
    "unpaid family work",
)
# weights of the work classes in the order above, one row per occupation in its order
WORKCLASS_BY_OCCUPATION = (
    (670.0, 95, 90, 50, 45, 42, 8, 0),
    (560.0, 92, 38, 170, 100, 42, 40, 0),
    (760.0, 25, 4, 42, 62, 72, 8, 0),
    (800.0, 105, 78, 3, 3, 4, 4, 3),
    (755.0, 13, 8, 75, 68, 84, 14, 3),
    (770.0, 130, 26, 36, 14, 16, 2, 0),
    (940.0, 18, 6, 6, 7, 8, 2, 3),
    (790.0, 75, 17, 75, 26, 16, 2, 2),
    (915.0, 12, 2, 35, 8, 18, 2, 8),
    (455.0, 430, 52, 28, 15, 8, 2, 18),
    (835.0, 52, 8, 58, 38, 10, 8, 3),
    (940.0, 30, 0, 0, 0, 0, 20, 10),
    (290.0, 8, 6, 470, 180, 43, 4, 0),
    (0.0, 0, 0, 0, 30, 970, 0, 0),
)

MARITAL_GROUPS = {
    "with a spouse": ["married", "married to military", "married living apart"],
    "without a spouse": ["never married", "separated", "divorced", "widowed"],
}
EDUCATION_GROUPS = {
    "school": {
        "elementary": ["no schooling", "grades 1 to 4", "grades 5 to 6", "grades 7 to 8"],
        "secondary": ["grade 9", "grade 10", "grade 11", "grade 12", "high school diploma"],
    },
    "college": {
        "undergraduate": ["college without degree", "vocational degree", "associate degree", "bachelor"],
        "graduate": ["master", "professional degree", "doctorate"],
    },
}
WORKCLASS_GROUPS = {
    "government": ["local government", "state government", "federal government"],
    "own account": ["self-employed", "business owner"],
    "employed elsewhere": ["private company", "non-profit", "unpaid family work"],
}
OCCUPATION_GROUPS = {
    "office": ["management", "professions", "technical support", "sales", "office work"],
    "workshop": ["skilled trades", "machine operation", "transport", "manual labour", "farming"],
    "service": ["services", "household services", "security", "armed forces"],
}


def ages() -> Numbers:
    """Weights of the ages; the oldest keep enough weight to occur in every larger table."""
    anchors = (17, 20, 23, 35, 45, 55, 65, 75, 85, 90)
    return np.interp(AGES, anchors, (1.0, 2.0, 2.65, 2.75, 2.2, 1.25, 0.55, 0.2, 0.08, 0.08))


def men() -> Numbers:
    """Return the chance of being a man at each age."""
    return np.interp(AGES, (17, 25, 35, 50, 70, 90), (0.52, 0.61, 0.71, 0.69, 0.66, 0.70)).astype(np.float32)


def countries() -> Numbers:
    """Weights of the countries of birth for each race."""
    grid = []
    for race, factors in REGION_BY_RACE.items():
        abroad = np.concatenate(
            [factor * np.array(list(region.values())) for factor, region in zip(factors, REGIONS.values(), strict=True)]
        )
        abroad *= ABROAD[race] / abroad.sum()
        abroad[COUNTRY.index("United States")] = 1 - ABROAD[race]
        grid.append(abroad)
    return np.array(grid)


def marital_states() -> Numbers:
    """Weights of the marital states at each age and sex."""
    women = np.stack([np.interp(AGES, MARITAL_AGES, weights) for weights in MARITAL.values()], axis=-1)
    return np.stack([women, women * np.array(MARITAL_MEN)], axis=1)


def educations() -> Numbers:
    """Weights of the levels of education at each age."""
    return np.stack([np.interp(AGES, EDUCATION_AGES, weights) for weights in EDUCATION.values()], axis=-1)


def occupations() -> Numbers:
    """Weights of the occupations for each education and sex, the largest near their usual education."""
    rank = np.linspace(0, 1, len(EDUCATION))[:, None]
    share, usual, narrow, men = np.array(list(OCCUPATION.values())).T
    near = share * np.exp(-(((rank - usual) * narrow) ** 2) / 2)
    return np.stack([near * (1 - men), near * men], axis=1)


def high_salaries() -> Numbers:
    """Return the chance of a high salary for each age, sex, education and occupation, as one long row."""
    age = np.interp(AGES, (17, 25, 40, 52, 65, 90), (-5.4, -2.4, -0.2, 0.1, -0.8, -1.6))[:, None, None, None]
    sex = np.array([-0.9, 0.3])[:, None, None]
    education = 4.5 * np.linspace(-0.7, 0.3, len(EDUCATION))[:, None]
    pay = np.array([0.9, 0.6, 0.3, 0.3, -0.4, 0.0, -0.5, -0.3, -1.0, -1.2, -1.5, -2.5, 0.3, -0.2])
    chances: Numbers = 1 / (1 + np.exp(-(age + sex + education + pay)))
    return chances.ravel().astype(np.float32)
