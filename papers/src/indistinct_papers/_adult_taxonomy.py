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
# The trees of a thesis have other heights (Verma 2013, table 4.1) and are not printed but for two; unknown is a value.
UNKNOWN = "?"
WORK_KINDS: Groups = {
    "Government": ("Federal-gov", "Local-gov", "State-gov"),
    "Self-employed": ("Self-emp-inc", "Self-emp-not-inc"),
    "Company": ("Private",),
    "Unpaid": ("Without-pay", "Never-worked"),
    "Unknown-work": (UNKNOWN,),
}
WORKERS: Groups = {"Paid": ("Government", "Self-employed", "Company"), "Not-paid": ("Unpaid", "Unknown-work")}
GRADES: Groups = {
    "Early-grades": ("Preschool", "1st-4th"),
    "Middle-grades": ("5th-6th", "7th-8th"),
    "Lower-secondary": ("9th", "10th"),
    "Upper-secondary": ("11th", "12th", "HS-grad"),
    "Some-degree": ("Some-college", "Assoc-voc", "Assoc-acdm"),
    "Bachelor": ("Bachelors",),
    "Master": ("Masters",),
    "Doctor": ("Prof-school", "Doctorate"),
}
GRADE_GROUPS: Groups = {
    "Elementary": ("Early-grades", "Middle-grades"),
    "High-school": ("Lower-secondary", "Upper-secondary"),
    "Undergraduate": ("Some-degree", "Bachelor"),
    "Graduate": ("Master", "Doctor"),
}
PARTNERS: Groups = {
    "Partner-present": ("Married-civ-spouse", "Married-AF-spouse"),
    "Partner-absent": ("Married-spouse-absent", "Separated"),
    "Partner-lost": ("Divorced", "Widowed"),
    "No-partner": ("Never-married",),
}
SPOUSES: Groups = {"Married": ("Partner-present", "Partner-absent"), "Alone": ("Partner-lost", "No-partner")}
RACES: Groups = {
    "White-race": ("White",),
    "Other-races": ("Amer-Indian-Eskimo", "Asian-Pac-Islander", "Black", "Other"),
}


def table_rows() -> dict[str, list[tuple[str, ...]]]:
    """Return paths of the heights 3, 4, 3, 2, 1, 2 and 1, which Verma (2013) gives in table 4.1, in its order.

    >>> table_rows()["workclass"][0]
    ('?', 'Unknown-work', 'Not-paid', '*')
    """
    known = taxonomy_rows()
    return {
        "workclass": _grouped(_rows(WORK_KINDS), WORKERS),
        "education": _grouped(_grouped(_rows(GRADES), GRADE_GROUPS), SCHOOLS),
        "marital-status": _grouped(_rows(PARTNERS), SPOUSES),
        "race": _rows(RACES),
        "sex": known["sex"],
        "occupation": sorted([*known["occupation"], (UNKNOWN, "Unknown-occupation", "*")]),
        "salary-class": known["salary-class"],
    }


def _grouped(rows: list[tuple[str, ...]], groups: Groups) -> list[tuple[str, ...]]:
    """Return paths with a further level below the root: the group of the node that is there."""
    upper = {node: group for group, nodes in groups.items() for node in nodes}
    return [(*row[:-1], upper[row[-2]], "*") for row in rows]


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
