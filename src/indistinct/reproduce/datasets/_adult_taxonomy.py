"""The reference taxonomy of Adult, which its publishers do not give: natural groups, one tree a column.

The groups were chosen so that searches over three to six columns check as many nodes as LeFevre et al. (2005) print.
"""

from collections.abc import Mapping

Groups = Mapping[str, tuple[str, ...]]

AGES = range(17, 91)
AGE_WIDTHS = (5, 10, 20)
SEX = ("Female", "Male")
RACE = ("Amer-Indian-Eskimo", "Asian-Pac-Islander", "Black", "Other", "White")
SALARY = ("<=50K", ">50K")
MARITAL: Groups = {
    "Married": ("Married-civ-spouse", "Married-AF-spouse", "Married-spouse-absent"),
    "Not-married": ("Never-married", "Divorced", "Separated", "Widowed"),
}
EDUCATION: Groups = {
    "Elementary": ("Preschool", "1st-4th", "5th-6th", "7th-8th"),
    "High-school": ("9th", "10th", "11th", "12th", "HS-grad"),
    "Undergraduate": ("Some-college", "Assoc-voc", "Assoc-acdm", "Bachelors"),
    "Graduate": ("Masters", "Prof-school", "Doctorate"),
}
SCHOOLS: Groups = {"No-college": ("Elementary", "High-school"), "College": ("Undergraduate", "Graduate")}
COUNTRIES: Groups = {
    "North America": ("United-States", "Canada", "Outlying-US(Guam-USVI-etc)"),
    "Latin America": (
        *("Mexico", "Puerto-Rico", "Cuba", "Jamaica", "Dominican-Republic", "Haiti", "Trinadad&Tobago"),
        *("Honduras", "Guatemala", "Nicaragua", "El-Salvador", "Ecuador", "Columbia", "Peru"),
    ),
    "Western Europe": (
        *("England", "Germany", "Italy", "Ireland", "France", "Scotland", "Holand-Netherlands", "Portugal", "Greece"),
    ),
    "Eastern Europe": ("Poland", "Hungary", "Yugoslavia"),
    "Asia": (
        *("Cambodia", "India", "Japan", "China", "Iran", "Philippines"),
        *("Vietnam", "Laos", "Taiwan", "Thailand", "Hong", "South"),
    ),
}
WORKCLASS: Groups = {
    "Government": ("Federal-gov", "Local-gov", "State-gov"),
    "Other": ("Private", "Self-emp-inc", "Self-emp-not-inc", "Without-pay", "Never-worked"),
}
OCCUPATION: Groups = {
    "White-collar": ("Exec-managerial", "Prof-specialty", "Tech-support", "Sales", "Adm-clerical"),
    "Blue-collar": ("Craft-repair", "Machine-op-inspct", "Transport-moving", "Handlers-cleaners", "Farming-fishing"),
    "Service": ("Other-service", "Priv-house-serv", "Protective-serv", "Armed-Forces"),
}


def taxonomy_rows() -> dict[str, list[tuple[str, ...]]]:
    """Return the paths of every column from a value to the root, values in order.

    >>> taxonomy_rows()["age"][0]
    ('17', '15-19', '10-19', '0-19', '*')
    """
    schools = {school: upper for upper, kinds in SCHOOLS.items() for school in kinds}
    ages = [(str(age), *(f"{age // w * w}-{age // w * w + w - 1}" for w in AGE_WIDTHS), "*") for age in AGES]
    paths: dict[str, list[tuple[str, ...]]] = {
        "age": ages,
        **{name: [(value, "*") for value in values] for name, values in (("sex", SEX), ("race", RACE))},
        "marital-status": _rows(MARITAL),
        "education": [(value, school, schools[school], "*") for value, school, _ in _rows(EDUCATION)],
        "native-country": _rows(COUNTRIES),
        "workclass": _rows(WORKCLASS),
        "occupation": _rows(OCCUPATION),
        "salary-class": [(value, "*") for value in SALARY],
    }
    return paths


def _rows(groups: Groups) -> list[tuple[str, ...]]:
    return sorted((value, group, "*") for group, values in groups.items() for value in values)
