"""Numbers, formulas and steps in the sentences of three documents, made again like their tables."""

import math
from collections.abc import Callable, Sequence
from itertools import product

from indistinct.algorithms.full_domain.node import ChosenNode
from indistinct.evaluation.measure.measure import measure
from indistinct.evaluation.verify import verify
from indistinct.hierarchy import Hierarchy
from indistinct.metrics import AverageClassSize, Discernibility, Distortion, ILoss
from indistinct.models import EntropyLDiversity
from indistinct.release.release import Release
from indistinct.schema import Schema
from indistinct_papers import documents
from indistinct_papers._adult_taxonomy import table_rows
from indistinct_papers.base import Example

Make = Callable[..., Example]
Publish = Callable[..., Release]
OPTIMUM = "single-dimensional:search=optimal"
ZIPCODES = (("53710", "[53710-53711]", "*"), ("53711", "[53710-53711]", "*"), ("53712", "53712", "*"))


def show_plane(of: Make, publish: Publish) -> list[Example]:
    """Return figure 1 of Murthy and Srinivas, Zipcode and Age of their patients, and what is best of its kind."""
    names, quasi = documents.MONDRIAN_NAMES, ["Zipcode", "Age"]

    def classes(patients: Sequence[documents.Row], algorithm: str) -> list[documents.Row]:
        release = publish(patients, names, quasi, algorithm, hierarchies={})
        return sorted({tuple(row[name] for name in quasi) for row in release.table.to_pylist()})

    single = publish(documents.RETOLD_PATIENTS, names, ["Sex", "Age", "Zipcode"], OPTIMUM, hierarchies=documents.SEXES)
    return [
        _show_single_plane(of, publish),
        of(
            "Figure 1(c), the patients of LeFevre et al. (2006)",
            "mondrian, k = 2",
            tuple(quasi),
            documents.PLANE_PRINTED,
            classes(documents.MONDRIAN_PATIENTS, "mondrian"),
            "As the figure is drawn in the paper that is retold: Zipcode is cut first, then Age on one side.",
        ),
        of(
            "Figure 1(c), the patients of table 1",
            "mondrian, k = 2; on the left what the sentence about the figure says",
            tuple(quasi),
            documents.RETOLD_PLANE_PRINTED,
            classes(documents.RETOLD_PATIENTS, "mondrian"),
            "A cut at 533449, the largest zipcode, leaves nothing above it. The zipcodes of table 1 are not in the "
            "order of those of the paper that is retold: the median cut is below 533449, and no side can be cut again.",
        ),
        of(
            "Table 2, its discernibility",
            f"{OPTIMUM}, k = 2",
            ("C_DM",),
            [(4**2 + 2**2,)],
            [(int(measure(single, [Discernibility()])["discernibility"]),)],
            "The printed single-dimensional table is not the best one: two ranges of ages, [35-36] and [37-38], with "
            "everything else generalized give two classes of three, 18 in place of 20.",
        ),
    ]


def _show_single_plane(of: Make, publish: Publish) -> Example:
    """Return figure 1(b): one cut of Zipcode, after which no cut of Age leaves two patients on each side."""
    text = [tuple(map(str, row)) for row in documents.MONDRIAN_PATIENTS]
    trees = {
        "Age": Hierarchy.from_rows([(age, "[25-28]") for age in sorted({row[0] for row in text})]),
        "Zipcode": Hierarchy.from_rows(ZIPCODES),
    }
    quasi = ["Zipcode", "Age"]
    release = publish(text, documents.MONDRIAN_NAMES, quasi, ChosenNode((1, 1)), hierarchies=trees)
    best = publish(documents.MONDRIAN_PATIENTS, documents.MONDRIAN_NAMES, quasi, OPTIMUM, hierarchies={})
    costs = [int(measure(each, [Discernibility()])["discernibility"]) for each in (release, best)]
    return of(
        "Figure 1(b), the patients of LeFevre et al. (2006)",
        "the drawn recoding of columns, applied and checked; k = 2",
        tuple(quasi),
        documents.SINGLE_PLANE_PRINTED,
        sorted({tuple(row[name] for name in quasi) for row in release.table.to_pylist()}, reverse=True),
        f"As the figure is drawn in the paper that is retold, with a C_DM of {costs[0]}; {OPTIMUM} cuts Age instead, "
        f"into two classes of three, {costs[1]}.",
    )


def show_formulas(murthy: Make, verma: Make, halwe: Make, publish: Publish) -> dict[str, list[Example]]:
    """Return the formulas that are misprinted, as what they give for the three classes of two rows of table 3."""
    names = documents.MONDRIAN_NAMES
    release = publish(
        documents.RETOLD_PATIENTS, names, ["Sex", "Age", "Zipcode"], "mondrian", hierarchies=documents.SEXES
    )
    found = measure(release, [Discernibility(), AverageClassSize(2)])
    ours = {"C_DM": found["discernibility"], "C_AVG": found["average-class-size"]}
    sizes, k = [2, 2, 2], 2
    records, classes = sum(sizes), len(sizes)
    made = "measure, on table 3: three classes of two rows, k = 2; on the left by the printed formula"

    def formula(of: Make, where: str, metric: str, printed: float, erratum: str) -> Example:
        return of(where, made, (metric,), [(printed,)], [(ours[metric],)], erratum)

    return {
        documents.MURTHY: [
            formula(
                *(murthy, "Section 2.1, C_DM", "C_DM", sum(size / 2 for size in sizes)),
                "The sum is of |E|², not of |E|/2: an exponent became a slash.",
            ),
            formula(
                *(murthy, "Section 2.1, C_AVG", "C_AVG", records / (classes / k)),
                "The average is divided by k, not the number of classes: (records / classes) / k.",
            ),
        ],
        documents.VERMA: [
            formula(
                *(verma, "Equation 2.4, discernibility", "C_DM", sizes[0] ** 2),
                "The sum over all classes is missing: as printed it is the square of one class.",
            )
        ],
        documents.HALWE: [
            formula(
                *(halwe, "C_AVG", "C_AVG", round((records / classes) ** (1 / k), 4)),
                "The average is divided by k; printed is its power of 1/k.",
            )
        ],
    }


def show_thesis(of: Make, publish: Publish) -> list[Example]:
    """Return the numbers that the thesis computes in its sentences."""
    tuples = publish(
        documents.TUPLES, documents.TUPLE_NAMES, list(documents.TUPLE_NAMES), "kaca", hierarchies=documents.TUPLE_TREES
    )
    distance = measure(tuples, [Distortion()])["distortion"]
    return [
        of(
            "Section 2.2.1, distance of two tuples",
            "kaca, k = 2, and distortion",
            ("common generalization", "Dist"),
            [("*, young, 435*", 2.5)],
            [(", ".join(tuples.table.to_pylist()[0].values()), distance)],
            "As the second printing has it; the first one says *, young, *.",
        ),
        _show_iloss(of, publish),
        _show_entropy(of, publish),
        _show_links(of),
        _show_clusters(of),
    ]


def _show_iloss(of: Make, publish: Publish) -> Example:
    jobs = [("Lawyer",), ("Engineer",)]
    release = publish(jobs, ("Job",), ["Job"], ChosenNode((1,)), hierarchies=documents.JOB_TREES)
    return of(
        "Equation 2.1, Lawyer generalized to Professional",
        "node, and iloss of one of two equal rows",
        ("value", "ILoss"),
        [("Professional", 0.25)],
        [(release.table["Job"][0].as_py(), measure(release, [ILoss()])["iloss"] / len(jobs))],
        "As printed; |V_g| counts the leaves below a value, not its children, which are as many here.",
    )


def _show_entropy(of: Make, publish: Publish) -> Example:
    jobs = documents.JOB_NAMES
    release = publish(
        documents.JOB_PATIENTS, (*jobs, "Disease"), list(jobs), "incognito", k=3, hierarchies=documents.JOB_TREES
    )
    schema = Schema(quasi=list(jobs), sensitive=["Disease"])
    (verdict,) = verify(release.table, schema, EntropyLDiversity("Disease", 1.5)).verdicts
    least = float(verdict.achieved["l"])
    return of(
        "Section 1.4.2, entropy of table 1.3b",
        "verify, entropy l-diversity; l is e to the power of the entropy",
        ("figure", "least of all classes"),
        [("entropy", 1.8), ("l", "")],
        [("entropy", round(math.log(least), 3)), ("l", round(least, 3))],
        "1.8 is l of the class in which three of four have HIV, rounded, not its entropy; the table is 1.3b, not 1.3d.",
    )


def _show_links(of: Make) -> Example:
    """Return what the names of table 1.3c reveal with table 1.3a: a row, or a disease that all rows share."""
    ours = []
    for name in ("Doug", "Emily"):
        (known,) = [row[1:] for row in documents.EXTERNAL if row[0] == name]
        diseases = [str(row[-1]) for row in documents.JOB_PATIENTS if row[:-1] == known]
        ours.append((name, " or ".join(sorted(set(diseases))), len(diseases)))
    return of(
        "Section 1.4, Doug and Emily",
        "table 1.3a joined with table 1.3c",
        ("person", "disease", "rows that match"),
        [("Doug", "HIV", 1), ("Emily", "HIV", 2)],
        ours,
        "As printed, from table 1.3a; the thesis names 1.3b and 1.3d. Bob and Fred are linked as Doug is.",
    )


def _show_clusters(of: Make) -> Example:
    """Return the outer clusters of two records, at level 1 of both trees, and that their inner ones differ."""
    trees = {name: {path[0]: path for path in table_rows()[name]} for name in ("marital-status", "workclass")}
    records = (("Married-civ-spouse", "Federal-gov"), ("Married-AF-spouse", "State-gov"))
    paths = [[trees[name][value] for name, value in zip(trees, record, strict=True)] for record in records]
    outer = [", ".join(path[1] for path in own) for own in paths]
    return of(
        "Section 3.3, clusters of two records",
        "levels 0 and 1 of trees of the printed heights",
        ("record", "outer cluster"),
        [(", ".join(record), "Partner-present, Government") for record in records],
        [(", ".join(record), cluster) for record, cluster in zip(records, outer, strict=True)],
        "As printed: one outer cluster and two inner ones. The letters 1A 1B, 0A 0C and 0B 0E belong to trees in "
        "figures 3.1 and 3.2, which are lost.",
    )


def show_slides(of: Make, publish: Publish) -> list[Example]:
    """Return the generalized tables of Halwe and Verma that have no number, and the steps of a partitioning."""
    names, patients = documents.MONDRIAN_NAMES, documents.MONDRIAN_PATIENTS
    text = [(str(age), sex, str(zipcode), disease) for age, sex, zipcode, disease in patients]
    masked = {"Age": Hierarchy.masking(), "Sex": Hierarchy.suppression(), "Zipcode": Hierarchy.masking()}
    digits = publish(text, names, list(names[:3]), ChosenNode((1, 0, 1)), hierarchies=masked)
    digit = publish(text, names, list(names[:3]), ChosenNode((1, 0, 0)), k=1, hierarchies=masked)
    return [
        of(
            "Generalized hospital table",
            f"node, one digit of Age generalized; its smallest class has {digit.certificate.smallest_class}",
            names,
            [("24", *map(str, row[1:])) for row in patients],
            [tuple(row[name] for name in names) for row in digit.table.to_pylist()],
            "No patient is 24, the printed age of all; and with the ages in one class a man is still alone with 53710.",
        ),
        of(
            "Generalized table for k = 2",
            "node, one digit of Age and of Zipcode generalized; k = 2",
            names,
            [("2*", sex, "5371*", disease) for _, sex, _, disease in patients],
            [tuple(row[name] for name in names) for row in digits.table.to_pylist()],
            "As printed, and 2-anonymous: classes of four men and of two women.",
        ),
        *(_show_node(of, publish, levels) for levels in ((0, 1), (0, 2), (1, 0), (1, 1), (1, 2))),
        _show_single_step(of, publish),
        _show_minimality(of, publish),
        *_show_steps(of, publish),
    ]


def _show_node(of: Make, publish: Publish, levels: tuple[int, int]) -> Example:
    names, trees = documents.INCOGNITO_NAMES, documents.INCOGNITO_LADDERS
    birth, zipcode = levels
    printed = [
        ("*" if birth else date, sex, str(code)[: 5 - zipcode] + "*" * zipcode, disease)
        for date, sex, code, disease in documents.INCOGNITO_PATIENTS_PRINTED
    ]
    release = publish(
        documents.INCOGNITO_PATIENTS, names, ["Birthdate", "Zipcode"], ChosenNode(levels), k=1, hierarchies=trees
    )
    smallest = release.certificate.smallest_class
    published = {row["Disease"]: tuple(row[name] for name in names) for row in release.table.to_pylist()}
    return of(
        f"Patients, table B{birth}, Z{zipcode}",
        f"node, on the corrected rows; its smallest class by Birthdate and Zipcode has {smallest}",
        names,
        printed,
        [published[row[3]] for row in documents.INCOGNITO_PATIENTS],
        "The fifth and the sixth row differ as in table B0."
        if zipcode
        else "Four rows differ as in table B0; on the slide of table B1, without a Z, the first two are right (53715).",
    )


def _show_single_step(of: Make, publish: Publish) -> Example:
    """Return the step of single-dimensional partitioning before the last: the women's range for the whole column."""
    names, patients = documents.MONDRIAN_NAMES, documents.MONDRIAN_PATIENTS
    text = [tuple(map(str, row)) for row in patients]
    ages = {age: age if age == "28" else "[25-27]" for age in sorted({row[0] for row in text})}
    trees = {"Age": Hierarchy.from_rows([(age, interval, "*") for age, interval in ages.items()])}
    release = publish(text, names, ["Age"], ChosenNode((1,)), k=1, hierarchies=trees)
    return of(
        "Single-dimensional partitioning, step 1",
        "the printed recoding of Age, applied",
        names,
        [(ages[row[0]], *row[1:]) for row in text],
        [tuple(row[name] for name in names) for row in release.table.to_pylist()],
        "As printed: what generalizes the women generalizes the column. One patient of 28 is left, so that the last "
        "step has one range for all.",
    )


def _show_minimality(of: Make, publish: Publish) -> Example:
    """Return which nodes are k-minimal by the printed inequality and by the right one."""
    names, trees = documents.INCOGNITO_NAMES, documents.INCOGNITO_LADDERS
    patients, pair = documents.INCOGNITO_PATIENTS, ["Birthdate", "Zipcode"]
    smallest = {
        node: publish(patients, names, pair, ChosenNode(node), k=1, hierarchies=trees).certificate.smallest_class
        for node in product(range(2), range(3))
    }
    anonymous = [node for node, size in smallest.items() if size >= 2]

    def below(one: tuple[int, int], other: tuple[int, int]) -> bool:
        return one != other and all(a <= b for a, b in zip(one, other, strict=True))

    def judge(is_worse: Callable[[tuple[int, int], tuple[int, int]], bool]) -> list[tuple[str, str]]:
        return [
            (f"<B{node[0]}, Z{node[1]}>", "no" if any(is_worse(node, other) for other in anonymous) else "yes")
            for node in anonymous
        ]

    return of(
        "k-minimal generalization",
        "2-anonymous nodes of Birthdate and Zipcode; on the left by the printed inequality",
        ("node", "2-minimal"),
        judge(below),
        judge(lambda node, other: below(other, node)),
        "The inequality is reversed: as printed only the most general table is minimal, and <B1, Z0>, which the next "
        "slide calls minimal, is not.",
    )


def _show_steps(of: Make, publish: Publish) -> list[Example]:
    """Return the steps of multidimensional partitioning: classes that are summarized one after the other."""
    names, patients = documents.MONDRIAN_NAMES, documents.MONDRIAN_PATIENTS
    release = publish(patients, names, ["Sex", "Age", "Zipcode"], "mondrian", hierarchies=documents.SEXES)
    published = {row["Disease"]: tuple(row[name] for name in names) for row in release.table.to_pylist()}
    examples = []
    for step, (ranges, printed) in enumerate(documents.STEPS_PRINTED, start=1):
        ours = [published[row[3]] if published[row[3]][0] in ranges else tuple(map(str, row)) for row in patients]
        examples.append(
            of(
                f"Multidimensional partitioning, step {step}",
                "mondrian, k = 2; classes that were not reached yet are shown with their own values",
                names,
                printed,
                ours,
                ""
                if _as_text(printed) == _as_text(ours)
                else "The zipcodes of the class of [27-28] are one range once they are a class; the slide "
                "generalizes them in its last step.",
            )
        )
    return examples


def _as_text(rows: Sequence[documents.Row]) -> list[tuple[str, ...]]:
    return [tuple(map(str, row)) for row in rows]
