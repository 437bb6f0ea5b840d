"""The numbered tables of five documents, typed in once: what they print, and what they must have meant.

Names of diseases are written alike everywhere. A table that a document prints with a slip is here twice: corrected,
which is what algorithms are run on, and `_PRINTED` where the printed rows are shown as well.
"""

from indistinct.hierarchy import Hierarchy

Row = tuple[object, ...]

MURTHY = "Murthy and Srinivas"
SONAWANE = "Sonawane and Rahinj (2013)"
CAPUTO = "Caputo, slides"
VERMA = "Verma (2013)"
HALWE = "Halwe and Verma, slides"

# Murthy and Srinivas: Achieving multidimensional k-anonymity by a greedy approach. It retells LeFevre et al. (2006).

MONDRIAN_NAMES = ("Age", "Sex", "Zipcode", "Disease")
RETOLD_VOTERS: tuple[Row, ...] = (
    ("Lee", 35, "Male", 533449),
    ("zan", 38, "Female", 533448),
    ("dum", 41, "Female", 533447),
    ("wry", 29, "Male", 533446),
    ("su", 51, "Female", 533445),
)
RETOLD_PATIENTS: tuple[Row, ...] = (
    (35, "Male", 533449, "Flu"),
    (35, "Female", 533441, "Cancer"),
    (36, "Male", 533449, "AIDS"),
    (37, "Male", 533448, "Hang nail"),
    (37, "Female", 533441, "Hepatitis"),
    (38, "Male", 533449, "Broken arm"),
)
RETOLD_PATIENTS_PRINTED: tuple[Row, ...] = tuple(
    (37, "Female", 533448, "Hepatitis") if row[3] == "Hepatitis" else row for row in RETOLD_PATIENTS
)
RETOLD_SINGLE_PRINTED: tuple[Row, ...] = (
    ("[35-38]", "Male", "[533448-533449]", "Flu"),
    ("[35-38]", "Female", "533441", "Cancer"),
    ("[35-38]", "Male", "[533448-533449]", "AIDS"),
    ("[35-38]", "Male", "[533448-533449]", "Hang nail"),
    ("[35-38]", "Female", "533449", "Hepatitis"),
    ("[35-38]", "Male", "[533448-533449]", "Broken arm"),
)
RETOLD_MULTI_PRINTED: tuple[Row, ...] = (
    ("[35-36]", "Male", "53711", "Flu"),
    ("[35-37]", "Female", "53712", "Cancer"),
    ("[35-36]", "Male", "53711", "AIDS"),
    ("[37-38]", "Male", "[53710-53711]", "Hang nail"),
    ("[35-37]", "Female", "53712", "Hepatitis"),
    ("[37-38]", "Male", "[53710-53711]", "Broken arm"),
)
RETOLD_MEANS_PRINTED: tuple[Row, ...] = (
    ("[35-36]", 35.5, "Male", "533449", "Flu"),
    ("[35-37]", 36.0, "Female", "533441", "Cancer"),
    ("[35-36]", 35.5, "Male", "533449", "AIDS"),
    ("[37-38]", 36.0, "Male", "[533448-533449]", "Hang nail"),
    ("[35-37]", 36.0, "Female", "533441", "Hepatitis"),
)

SEXES: dict[str, Hierarchy] = {"Sex": Hierarchy.order(["Female", "Male"])}
# Figure 1(b) and (c) by Zipcode and Age: the regions in the paper that is retold, and those of the sentence about (c).
SINGLE_PLANE_PRINTED: tuple[Row, ...] = (("[53710-53711]", "[25-28]"), ("53712", "[25-28]"))
PLANE_PRINTED: tuple[Row, ...] = (("53711", "[25-26]"), ("53712", "[25-27]"), ("[53710-53711]", "[27-28]"))
RETOLD_PLANE_PRINTED: tuple[Row, ...] = (
    ("up to 533449", "lower ages"),
    ("up to 533449", "higher ages"),
    ("above 533449", "all ages"),
)

# Sonawane and Rahinj: A new data anonymization technique used for membership disclosure protection. It retells Li et
# al. (2012).

SLICING_NAMES = ("age", "sex", "zip", "disease")
SLICING_PATIENTS: tuple[tuple[int, str, int, str], ...] = (
    (22, "M", 47906, "dyspepsia"),
    (22, "F", 47906, "flu"),
    (33, "F", 47905, "flu"),
    (52, "F", 47905, "bronchitis"),
    (54, "M", 47302, "flu"),
    (60, "M", 47302, "dyspepsia"),
    (60, "M", 47304, "dyspepsia"),
    (64, "F", 47304, "gastritis"),
)
GENERALIZED_PRINTED: tuple[Row, ...] = (
    *(("[20-52]", "*", "4790*", disease) for disease in ("dyspepsia", "flu", "flu", "bronchitis")),
    *(("[54-64]", "*", "4730*", disease) for disease in ("flu", "dyspepsia", "dyspepsia", "gastritis")),
)
BUCKETIZED_PRINTED: tuple[Row, ...] = (
    (22, "M", 47906, "flu"),
    (22, "F", 47906, "dyspepsia"),
    (33, "F", 47905, "bronchitis"),
    (52, "F", 47905, "flu"),
    (54, "M", 47302, "gastritis"),
    (60, "M", 47302, "flu"),
    (60, "M", 47304, "dyspepsia"),
    (64, "F", 47304, "dyspepsia"),
)
MULTISET_PRINTED: tuple[Row, ...] = (
    *(
        ("22:2,33:1,52:1", "M:1,F:3", "47905:2,47906:2", disease)
        for disease in ("dyspepsia", "flu", "flu", "bronchitis")
    ),
    *(
        ("54:1,60:2,64:1", "M:3,F:1", "47302:2,47304:2", disease)
        for disease in ("flu", "dyspepsia", "dyspepsia", "gastritis")
    ),
)
ONE_ATTRIBUTE_PRINTED: tuple[Row, ...] = (
    (22, "F", 47906, "flu"),
    (22, "M", 47905, "flu"),
    (33, "F", 47906, "dyspepsia"),
    (52, "F", 47905, "bronchitis"),
    (54, "M", 47302, "dyspepsia"),
    (60, "F", 47304, "gastritis"),
    (60, "M", 47302, "dyspepsia"),
    (64, "M", 47304, "flu"),
)
SLICED_PRINTED: tuple[Row, ...] = (
    (22, "M", 47905, "flu"),
    (22, "F", 47906, "dyspepsia"),
    (33, "F", 47905, "bronchitis"),
    (52, "F", 47906, "flu"),
    (54, "M", 47304, "gastritis"),
    (60, "M", 47302, "flu"),
    (60, "M", 47302, "dyspepsia"),
    (64, "F", 47304, "dyspepsia"),
)

# Caputo: Anonymizing multidimensional data. It retells Datafly (Sweeney 2002).

CLINIC_NAMES = ("Race", "BirthDate", "Gender", "ZIP", "Problem")
CLINIC: tuple[tuple[str, str, str, str, str], ...] = (
    ("black", "1965-09-20", "male", "02141", "short of breath"),
    ("black", "1965-02-14", "male", "02141", "chest pain"),
    ("black", "1965-10-23", "female", "02138", "painful eye"),
    ("black", "1965-08-24", "female", "02138", "wheezing"),
    ("black", "1964-11-07", "female", "02138", "obesity"),
    ("black", "1964-12-01", "female", "02138", "chest pain"),
    ("white", "1964-10-23", "male", "02138", "short of breath"),
    ("white", "1965-03-15", "female", "02139", "hypertension"),
    ("white", "1964-08-13", "male", "02139", "obesity"),
    ("white", "1964-05-05", "male", "02139", "fever"),
    ("white", "1967-02-13", "male", "02138", "vomiting"),
    ("white", "1967-03-21", "male", "02138", "back pain"),
)
CLINIC_LADDERS: dict[str, Hierarchy] = {
    "Race": Hierarchy.suppression(),
    "BirthDate": Hierarchy.from_rows([(row[1], row[1][:4], "*") for row in CLINIC]),
    "Gender": Hierarchy.suppression(),
    "ZIP": Hierarchy.masking(),
}
STEP_B_PRINTED: tuple[Row, ...] = (
    ("black", "1965", "male", "02141", 2),
    ("black", "1965", "female", "02138", 2),
    ("black", "1964", "female", "02138", 2),
    ("white", "1964", "male", "02138", 1),
    ("white", "1965", "female", "02139", 1),
    ("white", "1964", "male", "02139", 2),
    ("white", "1967", "male", "02138", 2),
)
CLINIC_PRINTED: tuple[Row, ...] = (
    ("black", "1965", "male", "02141", "short of breath"),
    ("black", "1965", "male", "02141", "chest pain"),
    ("black", "1965", "female", "02138", "painful eye"),
    ("black", "1965", "female", "02138", "wheezing"),
    ("black", "1964", "female", "02138", "obesity"),
    ("black", "1964", "female", "02138", "chest pain"),
    ("white", "1964", "male", "02139", "obesity"),
    ("white", "1964", "male", "02139", "fever"),
    ("white", "1967", "male", "02138", "vomiting"),
    ("white", "1967", "male", "02138", "back pain"),
)
SALARY_NAMES = ("Gender", "City", "Zip", "Education", "Year", "Experience")
SALARIES: tuple[Row, ...] = tuple(
    ("Any sex", "BLR", zipcode, "Any degree", year, experience)
    for year, zipcode, experience in (
        (1973, "560000", 20),
        (1975, "560040", 17),
        (1977, "560030", 18),
        (1974, "560040", 20),
        (1985, "560000", 12),
        (1980, "560000", 10),
        (1977, "560040", 15),
        (1978, "560000", 18),
        (1980, "560040", 20),
        (1982, "560030", 15),
        (1980, "560030", 12),
        (1979, "560030", 14),
    )
)

# Verma: k-Anonymity using two level clustering.

PEOPLE_NAMES = ("job", "birth", "postcode", "illness")
PEOPLE: tuple[tuple[str, str, str, str], ...] = (
    ("cat1", "1975", "4350", "HIV"),
    ("cat1", "1955", "4350", "HIV"),
    ("cat1", "1955", "5432", "flu"),
    ("cat1", "1955", "5433", "flu"),
    ("cat2", "1975", "4350", "flu"),
    ("cat2", "1975", "4350", "fever"),
)
PEOPLE_PRINTED: tuple[Row, ...] = (
    ("cat1", "*", "4350", "HIV"),
    ("cat1", "*", "4350", "HIV"),
    ("cat1", "1955", "543*", "flu"),
    ("cat1", "1955", "543*", "flu"),
    ("cat2", "1975", "4350", "flu"),
    ("cat2", "1975", "4350", "fever"),
)
JOB_NAMES = ("Job", "Sex", "Age")
JOB_TREES: dict[str, Hierarchy] = {
    "Job": Hierarchy.tree({"*": {"Professional": ["Engineer", "Lawyer"], "Artist": ["Writer", "Dancer"]}}),
    "Sex": Hierarchy.suppression(),
    "Age": Hierarchy.from_rows([(str(age), f"[{age // 5 * 5}-{age // 5 * 5 + 5})", "*") for age in range(30, 40)]),
}
JOB_PATIENTS: tuple[Row, ...] = (
    ("Engineer", "Male", "35", "Hepatitis"),
    ("Engineer", "Male", "38", "Hepatitis"),
    ("Lawyer", "Male", "38", "HIV"),
    ("Writer", "Female", "30", "Flu"),
    ("Writer", "Female", "30", "HIV"),
    ("Dancer", "Female", "30", "HIV"),
    ("Dancer", "Female", "30", "HIV"),
)
JOB_PATIENTS_PRINTED: tuple[Row, ...] = (
    *(("Professional", "Male", "[35-40)", disease) for disease in ("Hepatitis", "Hepatitis", "HIV")),
    *(("Artist", "Female", "[30-35)", disease) for disease in ("Flu", "HIV", "HIV", "HIV")),
)
EXTERNAL: tuple[Row, ...] = (
    ("Alice", "Writer", "Female", "30"),
    ("Bob", "Engineer", "Male", "35"),
    ("Cathy", "Writer", "Female", "30"),
    ("Doug", "Lawyer", "Male", "38"),
    ("Emily", "Dancer", "Female", "30"),
    ("Fred", "Engineer", "Male", "38"),
    ("Gladys", "Dancer", "Female", "30"),
    ("Henry", "Lawyer", "Male", "39"),
    ("Irene", "Dancer", "Female", "32"),
)
EXTERNAL_PRINTED: tuple[Row, ...] = tuple(
    (
        name,
        "Artist" if sex == "Female" else "Professional",
        sex,
        "[30-35)" if sex == "Female" or name == "Henry" else "[35-40)",
    )
    for name, _, sex, _ in EXTERNAL
)
ADULT_PRINTED: tuple[tuple[str, int, int], ...] = (
    ("workclass", 7, 3),
    ("education", 16, 4),
    ("marital-status", 7, 3),
    ("race", 5, 2),
    ("sex", 2, 1),
    ("occupation", 14, 2),
    ("salary-class", 2, 1),
)
# Values of four quasi-identifiers, and the clusters of their values in alphabetical order.
SEQUENCE_OPTIONS = (2, 3, 2, 3)
SEQUENCE = "ACAB"
SEQUENCE_STEPS_PRINTED: tuple[Row, ...] = (("A", 1, 18), ("AC", 13, 18), ("ACA", 13, 15), ("ACAB", 14, 14))
SIMILAR_PRINTED: dict[str, tuple[tuple[int, ...], ...]] = {
    "O": ((1, 2, 3), (4, 5, 6), (7, 8, 9), (10, 11, 12), (13, 14, 15), (34, 35, 36)),
    "N": ((1, 4), (2, 5), (3, 6), (7, 10), (8, 11), (33, 36)),
    "M": ((1, 7, 13), (2, 8, 14), (3, 9, 15), (6, 12, 18), (19, 25, 31), (24, 30, 36)),
}
# The inner clusters of an outer one; the last letter is that of a value at level 1.
INNER_CLUSTERS = (
    *("ACEB", "ACGB", "ACHB", "ADEB", "ADGB", "AFIB"),
    *("BCFB", "BCHB", "BCEB", "BDEB", "BDGB", "BDIB"),
)

TUPLE_NAMES = ("sex", "age", "postcode")
TUPLES: tuple[Row, ...] = (("male", "young", "4351"), ("female", "young", "4352"))
TUPLE_TREES: dict[str, Hierarchy] = {
    "sex": Hierarchy.suppression(),
    "age": Hierarchy.suppression(),
    "postcode": Hierarchy.masking(),
}

# Halwe and Verma: Incognito. Mondrian. They retell LeFevre et al. (2005 and 2006).

INCOGNITO_NAMES = ("Birthdate", "Sex", "Zipcode", "Disease")
INCOGNITO_PATIENTS: tuple[Row, ...] = (
    ("1/21/76", "Male", "53715", "Flu"),
    ("4/13/86", "Female", "53715", "Hepatitis"),
    ("2/28/76", "Male", "53703", "Bronchitis"),
    ("1/21/76", "Male", "53703", "Broken arm"),
    ("4/13/86", "Female", "53706", "Sprained ankle"),
    ("2/28/76", "Female", "53706", "Hang nail"),
)
INCOGNITO_PATIENTS_PRINTED: tuple[Row, ...] = (
    ("1/21/76", "Male", "53711", "Flu"),
    ("4/13/86", "Female", "53711", "Hepatitis"),
    ("2/28/76", "Male", "53703", "Bronchitis"),
    ("1/21/76", "Male", "53703", "Broken arm"),
    ("4/13/86", "Female", "53706", "AIDS"),
    ("1/28/76", "Male", "53706", "Hang nail"),
)
INCOGNITO_LADDERS: dict[str, Hierarchy] = {
    "Birthdate": Hierarchy.from_rows([(date, "*") for date in ("1/21/76", "2/28/76", "4/13/86")]),
    "Sex": Hierarchy.from_rows([(sex, "Person") for sex in ("Male", "Female")]),
    "Zipcode": Hierarchy.from_rows(
        [("53715", "5371*", "537**"), ("53703", "5370*", "537**"), ("53706", "5370*", "537**")]
    ),
}
# Round by round, the nodes with respect to which the table is 2-anonymous.
ROUNDS_PRINTED: tuple[Row, ...] = (
    (1, "B0 B1 S0 S1 Z0 Z1 Z2"),
    (2, "B0S1 B0Z2 B1S0 B1S1 B1Z0 B1Z1 B1Z2 S0Z2 S1Z0 S1Z1 S1Z2"),
    (3, "B0S1Z2 B1S0Z2 B1S1Z0 B1S1Z1 B1S1Z2"),
)
MONDRIAN_VOTERS: tuple[Row, ...] = (
    ("Ahmed", 25, "Male", 53711),
    ("Brooke", 28, "Female", 55410),
    ("Claire", 31, "Female", 90210),
    ("Dave", 19, "Male", 2174),
    ("Evelyn", 40, "Female", 2237),
)
MONDRIAN_PATIENTS: tuple[Row, ...] = (
    (25, "Male", 53711, "Flu"),
    (25, "Female", 53712, "Hepatitis"),
    (26, "Male", 53711, "Bronchitis"),
    (27, "Male", 53710, "Broken arm"),
    (27, "Female", 53712, "AIDS"),
    (28, "Male", 53711, "Hang nail"),
)
MONDRIAN_SINGLE_PRINTED: tuple[Row, ...] = (
    ("[25-28]", "Male", "[53710-53711]", "Flu"),
    ("[25-28]", "Female", "53712", "Hepatitis"),
    ("[25-28]", "Male", "[53710-53711]", "Bronchitis"),
    ("[25-28]", "Male", "[53710-53711]", "Broken arm"),
    ("[25-28]", "Female", "53712", "AIDS"),
    ("[25-28]", "Male", "[53710-53711]", "Hang nail"),
)
MONDRIAN_MEANS_PRINTED: tuple[Row, ...] = (
    ("[25-26]", 25.5, "Male", "53711", "Flu"),
    ("[25-27]", 26.0, "Female", "53712", "Hepatitis"),
    ("[25-26]", 25.5, "Male", "53711", "Bronchitis"),
    ("[27-28]", 27.5, "Male", "[53710-53711]", "Broken arm"),
    ("[25-27]", 26.0, "Female", "53712", "AIDS"),
    ("[27-28]", 27.5, "Male", "[53710-53711]", "Hang nail"),
)
# The steps of multidimensional partitioning before the last: the ranges of the classes that are summarized, and rows.
STEPS_PRINTED: tuple[tuple[tuple[str, ...], tuple[Row, ...]], ...] = (
    (
        ("[25-27]",),
        (
            ("25", "Male", "53711", "Flu"),
            ("[25-27]", "Female", "53712", "Hepatitis"),
            ("26", "Male", "53711", "Bronchitis"),
            ("27", "Male", "53710", "Broken arm"),
            ("[25-27]", "Female", "53712", "AIDS"),
            ("28", "Male", "53711", "Hang nail"),
        ),
    ),
    (
        ("[25-27]", "[27-28]"),
        (
            ("25", "Male", "53711", "Flu"),
            ("[25-27]", "Female", "53712", "Hepatitis"),
            ("26", "Male", "53711", "Bronchitis"),
            ("[27-28]", "Male", "53710", "Broken arm"),
            ("[25-27]", "Female", "53712", "AIDS"),
            ("[27-28]", "Male", "53711", "Hang nail"),
        ),
    ),
)
# Seven rows, birthdays suppressed, of which the slides say that they are 2-anonymous with one digit of the zipcode.
SEVEN_PATIENTS: tuple[tuple[str, str], ...] = (
    ("Male", "53711"),
    ("Female", "53711"),
    ("Male", "53703"),
    ("Male", "53703"),
    ("Female", "53706"),
    ("Male", "53706"),
    ("Male", "23567"),
)
