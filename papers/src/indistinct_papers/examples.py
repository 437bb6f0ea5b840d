"""The worked examples of five documents: every numbered table that can be made, made again next to the printed one.

Published rows are in random order; each is shown next to the printed row that it is. The order inside a bucket means
nothing either: where a bucket holds the printed values, they are shown in the printed order.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from indistinct.algorithms.base import Algorithm, Problem, Progress
from indistinct.algorithms.full_domain.incognito import Incognito, join_survivors, prune_candidates
from indistinct.algorithms.full_domain.node import ChosenNode
from indistinct.engines import count_source
from indistinct.errors import InputError
from indistinct.evaluation.query.query import query
from indistinct.evaluation.verify import verify
from indistinct.frequencies.count import Request
from indistinct.hierarchy import Hierarchy
from indistinct.job.publishing import anonymize
from indistinct.models import KAnonymity
from indistinct.recoding.columns import columns_of
from indistinct.recoding.kinds import ByColumn
from indistinct.release.release import Release
from indistinct.schema import Schema
from indistinct_papers import documents
from indistinct_papers._adult_taxonomy import table_rows
from indistinct_papers.adult import load_adult
from indistinct_papers.base import Example, Reproduction
from indistinct_papers.example_numbers import show_formulas, show_plane, show_slides, show_thesis
from indistinct_papers.sequence_numbers import bounds_of, narrow_limits, similar_numbers

Texts = tuple[tuple[str, ...], ...]
Make = Callable[..., Example]
"""What makes an example of one document."""
HEADINGS = ("document", "table", "rows", "as printed", "how ours is made")
SEXES = documents.SEXES
# Releases number their buckets; the documents distinguish them by their place.
BUCKETS = "; its column of bucket numbers, 1 in the first half and 2 in the second, is left out"
MEANS = "mondrian:numeric=interval+mean"
MEAN_COLUMNS = ("Age", "Age_mean", "Sex", "Zipcode", "Zipcode_mean", "Disease")
MEAN_HEADINGS = ("Age(R)", "Age(M)", "Sex", "Zipcode", "Zipcode(M)", "Disease")
NO_ZIPCODE_MEANS = "Ours has means of the zipcodes too, which are numbers here; the document prints none."
# The one table that is made from data which are not part of this package.
ADULT_EXAMPLE = "Table 4.1"


def reproduce_examples(sizes: tuple[int, ...], progress: Progress) -> Reproduction:
    """Make the tables of some of the documents again: 1 to 5, in the order in which they are listed."""
    made = list[Example]()
    for index, document in enumerate(sizes):
        made += DOCUMENTS[document - 1]()
        progress((index + 1) / len(sizes))
    return Reproduction(
        title="Worked examples of five documents",
        source="Murthy and Srinivas, after LeFevre et al. (2006); Sonawane and Rahinj (2013), after Li et al. (2012); "
        "Caputo, slides after Sweeney (2002); Verma (2013); Halwe and Verma, slides after LeFevre et al. (2005, 2006).",
        data="the tables of the documents, typed in; ours is made from the corrected table",
        headings=HEADINGS,
        rows=tuple(_summarize(example) for example in made),
        findings=(f"{sum(example.equal for example in made)} of {len(made)} tables are as printed",),
        facts={},
        examples=tuple(made),
    )


def _summarize(example: Example) -> tuple[str | int, ...]:
    same = sum(printed == ours for printed, ours in zip(example.printed, example.ours, strict=False))
    return (example.document, example.name, len(example.printed), same, example.made)


def _murthy() -> list[Example]:
    of = _examples_of(documents.MURTHY)
    return [*_retold_patients(of), *_retold_partitions(of), *show_plane(of, _publish), *_formulas(documents.MURTHY)]


def _formulas(document: str) -> list[Example]:
    """Return the misprinted formulas of a document."""
    murthy, verma, halwe = map(_examples_of, (documents.MURTHY, documents.VERMA, documents.HALWE))
    return show_formulas(murthy, verma, halwe, _publish)[document]


def _retold_patients(of: Make) -> list[Example]:
    names, patients = documents.MONDRIAN_NAMES, documents.RETOLD_PATIENTS
    single = _apply_columns(patients, names, zipcodes={533441: "533441"}, others="[533448-533449]", ages="[35-38]")
    return [
        of(
            "Table 1, joining attack",
            "patients joined with voters",
            ("Name", "Disease"),
            [("Lee", "Flu")],
            _join(documents.RETOLD_VOTERS, patients),
        ),
        of(
            "Table 1, patients",
            "typed in",
            names,
            documents.RETOLD_PATIENTS_PRINTED,
            patients,
            "The fifth patient must have zipcode 533441: with the printed 533448 tables 2 to 4 cannot follow.",
        ),
        of(
            "Table 2",
            "the printed recoding of columns, applied and checked; k = 2",
            names,
            documents.RETOLD_SINGLE_PRINTED,
            single,
            "The fifth row must have zipcode 533441: as printed the two women are alone and the table is not "
            "2-anonymous.",
        ),
    ]


def _retold_partitions(of: Make) -> list[Example]:
    names, patients = documents.MONDRIAN_NAMES, documents.RETOLD_PATIENTS
    multi = _publish(patients, names, ["Sex", "Age", "Zipcode"], "mondrian", hierarchies=SEXES)
    means = _publish(patients, names, ["Sex", "Age", "Zipcode"], MEANS, hierarchies=SEXES)
    return [
        of(
            "Table 3",
            "mondrian, k = 2",
            names,
            documents.RETOLD_MULTI_PRINTED,
            _rows(multi, names),
            "The zipcodes are those of the paper that is retold, not of table 1; the classes agree.",
        ),
        of(
            "Table 4",
            f"{MEANS}, k = 2",
            MEAN_HEADINGS,
            _without_zipcode_means(documents.RETOLD_MEANS_PRINTED),
            _rows(means, MEAN_COLUMNS),
            "The mean of [37-38] is 37.5, not 36, the sixth row is left out, and the heading of the third column is "
            f"Sex. {NO_ZIPCODE_MEANS}",
        ),
        of(
            "Queries on table 4",
            "query; on the left what the printed means answer",
            ("query", "answer"),
            [("AVG(Age), Sex = 'Male'", 35.75), ("COUNT(*), Sex = 'Male' AND Age <= 36", 2)],
            [
                ("AVG(Age), Sex = 'Male'", query(means, "SELECT AVG(Age) WHERE Sex = 'Male'").value),
                (
                    "COUNT(*), Sex = 'Male' AND Age <= 36",
                    query(means, "SELECT COUNT(*) WHERE Sex = 'Male' AND Age <= 36").value,
                ),
            ],
            "With the printed mean of 36 for both rows of [37-38] the average would be 35.75; it is 36.5. The "
            "single-dimensional table that the sentence compares with is table 2, not 3.",
        ),
    ]


def _sonawane() -> list[Example]:
    names, patients, of = documents.SLICING_NAMES, documents.SLICING_PATIENTS, _examples_of(documents.SONAWANE)
    quasi = list(names[:3])
    text = [(age, sex, str(zipcode), disease) for age, sex, zipcode, disease in patients]
    trees = {"zip": Hierarchy.masking(), "sex": Hierarchy.suppression()}
    generalized = _publish(text, names, quasi, "mondrian", k=4, hierarchies=trees)

    def in_buckets(name: str, algorithm: str, printed: Sequence[documents.Row], slices: Sequence[range]) -> Example:
        return of(name, f"{algorithm}{BUCKETS}", names, printed, _rows_in_buckets(algorithm, printed, slices))

    multisets = _rows(_bucketize("multiset:l=2"), names)
    return [
        of("Table 1", "typed in", names, patients, patients),
        of(
            "Table 2",
            "mondrian, k = 4",
            names,
            documents.GENERALIZED_PRINTED,
            _rows(generalized, names),
            "The ages of the first class reach from 22, not from 20.",
        ),
        in_buckets("Table 3", "slicing:l=2,columns=whole", documents.BUCKETIZED_PRINTED, (range(3), range(3, 4))),
        of(
            "Table 4",
            "multiset:l=2",
            names,
            documents.MULTISET_PRINTED,
            multisets,
            "The same multisets; ours lists their values in ascending order.",
        ),
        in_buckets(
            "Table 5",
            "slicing:l=2,columns=each",
            documents.ONE_ATTRIBUTE_PRINTED,
            [range(index, index + 1) for index in range(4)],
        ),
        in_buckets(
            "Table 6",
            "slicing:l=2,columns=age+sex|zip+disease",
            documents.SLICED_PRINTED,
            (range(2), range(2, 4)),
        ),
    ]


def _bucketize(algorithm: str) -> Release:
    names = documents.SLICING_NAMES
    schema = Schema(quasi=list(names[:3]), sensitive=["disease"])
    return anonymize(_table(documents.SLICING_PATIENTS, names), schema, algorithm=algorithm)


def _rows_in_buckets(algorithm: str, printed: Sequence[documents.Row], slices: Sequence[range]) -> list[documents.Row]:
    """Return the rows of two buckets, each in the order of those printed."""
    names, half = documents.SLICING_NAMES, len(documents.SLICING_PATIENTS) // 2
    buckets: tuple[list[documents.Row], list[documents.Row]] = ([], [])
    for row in _bucketize(algorithm).table.to_pylist():
        buckets[row["bucket"] - 1].append(tuple(row[column] for column in names))
    halves = zip(sorted(buckets, key=min), (printed[:half], printed[half:]), strict=True)
    return [row for bucket, own in halves for row in _arrange(bucket, own, slices)]


def _caputo() -> list[Example]:
    names, of = documents.CLINIC_NAMES, _examples_of(documents.CAPUTO)
    quasi, trees = list(names[:-1]), documents.CLINIC_LADDERS
    counted = (*quasi, "#occurs")

    def frequencies(levels: tuple[int, ...]) -> list[documents.Row]:
        release = _publish(documents.CLINIC, names, quasi, ChosenNode(levels), k=1, hierarchies=trees)
        found = Counter(tuple(row[name] for name in quasi) for row in release.table.to_pylist())
        return [(*vector, count) for vector, count in found.items()]

    datafly = _publish(documents.CLINIC, names, quasi, "datafly:outliers=k", hierarchies=trees, suppression=0.2)
    recoding = datafly.recoding
    assert isinstance(recoding, ByColumn)  # noqa: S101 (what full-domain searches find)
    assert recoding.levels is not None  # noqa: S101
    raised = tuple(recoding.levels[name] for name in quasi)
    return [
        of(
            "Step A, frequency list",
            "node, no level raised",
            counted,
            [(*row[:4], 1) for row in documents.CLINIC],
            frequencies((0, 0, 0, 0)),
        ),
        of(
            "Step B, frequency list",
            f"node, levels {', '.join(map(str, raised))} as datafly found them",
            counted,
            documents.STEP_B_PRINTED,
            frequencies(raised),
        ),
        of(
            "Release",
            "datafly:outliers=k, k = 2, at most 0.2 of the rows suppressed",
            names,
            documents.CLINIC_PRINTED,
            _rows(datafly, names),
            "As printed; the two rows are suppressed in step 3 of the algorithm, not in step 2 as a label says.",
        ),
        _salaries(of),
    ]


def _salaries(of: Make) -> Example:
    identifying = documents.SALARY_NAMES[:4]
    return of(
        "4-anonymous salaries",
        "verify",
        ("quasi-identifiers", "smallest class"),
        [("Gender, City, Zip, Education", 4), ("all columns", 4)],
        [
            ("Gender, City, Zip, Education", _smallest_class(documents.SALARIES, identifying)),
            ("all columns", _smallest_class(documents.SALARIES, documents.SALARY_NAMES)),
        ],
        "The table is 4-anonymous for sex, city, zipcode and education alone: years of birth and of experience "
        "single out rows.",
    )


def _verma() -> list[Example]:
    of = _examples_of(documents.VERMA)
    people, jobs = documents.PEOPLE_NAMES, documents.JOB_NAMES
    masked = {"postcode": Hierarchy.masking()}
    clustered = [
        of(
            f"Tables 1.1 and 1.2, {algorithm}",
            f"{algorithm}, k = 2",
            people,
            documents.PEOPLE_PRINTED,
            _rows(_publish(documents.PEOPLE, people, list(people[:3]), algorithm, hierarchies=masked), people),
        )
        for algorithm in ("kaca", "top-down", "top-down-kaca", "two-level:rule=literal", "two-level")
    ]
    found = _publish(
        documents.JOB_PATIENTS, (*jobs, "Disease"), list(jobs), "incognito", k=3, hierarchies=documents.JOB_TREES
    )
    external = _publish(
        *(documents.EXTERNAL, ("Name", *jobs), list(jobs), "incognito"),
        k=4,
        hierarchies=documents.JOB_TREES,
        sensitive=None,
    )
    return [
        *clustered,
        of(
            "Table 1.3b",
            "incognito, k = 3",
            (*jobs, "Disease"),
            documents.JOB_PATIENTS_PRINTED,
            _rows(found, (*jobs, "Disease")),
        ),
        of(
            "Table 1.3d",
            "incognito, k = 4",
            ("Name", *jobs),
            documents.EXTERNAL_PRINTED,
            _rows(external, ("Name", *jobs)),
            "Henry must be 39: with the printed 30 he is alone in (Professional, Male, [30-35)) and the table is not "
            "4-anonymous.",
        ),
        *show_thesis(of, _publish),
        *_formulas(documents.VERMA),
        *_describe_adult(of),
        *_sequences(of),
    ]


def _sequences(of: Make) -> list[Example]:
    """Return the thesis's own machinery: numbers of sequences, similar clusters and search limits."""
    options, letters = documents.SEQUENCE_OPTIONS, documents.SEQUENCE
    steps = [(letters[: index + 1], *ends) for index, ends in enumerate(bounds_of(letters, options))]
    similar = {name: similar_numbers("LMNO".index(name), options) for name in documents.SIMILAR_PRINTED}
    limits = narrow_limits(documents.INNER_CLUSTERS, "BC")[-1]
    return [
        of(
            "Section 3.5, the number of ACAB",
            "algorithm 3, corrected",
            ("letters read", "lower", "upper"),
            documents.SEQUENCE_STEPS_PRINTED,
            steps,
            "As printed, number 14; the pseudocode of algorithm 3 returns after the first letter, unlike the example.",
        ),
        *(
            of(
                f"Section 3.7.1, clusters that {name} makes one",
                "algorithm 7, corrected",
                ("clusters",),
                [(", ".join(map(str, group)),) for group in printed],
                [(", ".join(map(str, group)),) for group in similar[name] if group in printed],
                f"As printed, {len(similar[name])} groups in all; the stride is the product over the columns to the "
                "right, not to the left, and the counter of algorithm 7 drifts.",
            )
            for name, printed in documents.SIMILAR_PRINTED.items()
        ),
        of(
            "Section 3.7.2, search limits",
            "algorithm 6, corrected",
            ("clusters that begin with", "first", "last", "to search"),
            [("0B 0C", 12, 14, 3)],
            [("0B 0C", *limits, limits[1] - limits[0] + 1)],
            "Of the twelve clusters printed those are number 7 to 9; that three are left to search is right.",
        ),
    ]


def _describe_adult(of: Make) -> list[Example]:
    """Return table 4.1, where Adult is at hand: the values of columns, and the heights of trees."""
    try:
        adult = load_adult(training_only=True)
    except InputError:
        return []
    trees = table_rows()
    ours = [(name, len(adult[name].unique()), len(trees[name][0]) - 1) for name, _, _ in documents.ADULT_PRINTED]
    return [
        of(
            ADULT_EXAMPLE,
            "Adult, training rows without unknowns; trees of our own of these heights",
            ("attribute", "distinct values", "height"),
            documents.ADULT_PRINTED,
            ours,
            f"As printed; but seven work classes occur in {adult.num_rows:,} rows without unknowns, and the thesis "
            "counts 32,561.",
        )
    ]


def _halwe() -> list[Example]:
    of = _examples_of(documents.HALWE)
    joined = of(
        "Voters and patients",
        "patients joined with voters",
        ("Name", "Disease"),
        [("Ahmed", "Flu")],
        _join(documents.MONDRIAN_VOTERS, documents.MONDRIAN_PATIENTS),
    )
    slides = show_slides(of, _publish)
    return [joined, *_full_domains(of), *_partitions(of), *slides, *_formulas(documents.HALWE)]


def _full_domains(of: Make) -> list[Example]:
    names, trees = documents.INCOGNITO_NAMES, documents.INCOGNITO_LADDERS
    pair, patients = ["Birthdate", "Zipcode"], documents.INCOGNITO_PATIENTS
    claimed = {"<B1, Z0>": (1, 0), "<B0, Z2>": (0, 2)}
    rounds, made = _search_rounds(patients, names, trees)
    return [
        of(
            "Patients, table B0",
            "typed in after LeFevre et al. (2005)",
            names,
            documents.INCOGNITO_PATIENTS_PRINTED,
            patients,
            "Rows 1 and 2 have zipcode 53715 and the last is (2/28/76, Female, 53706): as printed <B0, Z2> is not "
            "2-anonymous.",
        ),
        of(
            "Patients, nodes that are 2-anonymous",
            "node, k = 2, quasi-identifiers Birthdate and Zipcode",
            ("node", "2-anonymous"),
            [(name, "yes") for name in claimed],
            [
                (name, "yes" if _is_anonymous(patients, names, pair, levels) else "no")
                for name, levels in claimed.items()
            ],
            "As printed, on the corrected rows; the slide calls <B0, Z2> not minimal, and it is not of minimal height, "
            "though nothing below it is 2-anonymous.",
        ),
        of(
            "Incognito, round by round, as LeFevre et al. (2005) draw it",
            made,
            ("columns", "2-anonymous nodes"),
            documents.ROUNDS_PRINTED,
            rounds,
        ),
        of(
            "Suppression, table B1, Z4",
            "verify",
            ("rows", "smallest class"),
            [("all seven rows, one digit of the zipcode", 2), ("without the seventh row", 2)],
            [
                ("all seven rows, one digit of the zipcode", _smallest_of_digits(documents.SEVEN_PATIENTS)),
                ("without the seventh row", _smallest_of_digits(documents.SEVEN_PATIENTS[:6])),
            ],
            "The row of 2* is alone until the last digit goes as well; without it six rows are 2-anonymous with all "
            "digits of the zipcode, if sex is no quasi-identifier.",
        ),
    ]


def _partitions(of: Make) -> list[Example]:
    columns, mondrian = documents.MONDRIAN_NAMES, documents.MONDRIAN_PATIENTS
    single = _apply_columns(mondrian, columns, zipcodes={53712: "53712"}, others="[53710-53711]", ages="[25-28]")
    means = _publish(mondrian, columns, ["Sex", "Age", "Zipcode"], MEANS, hierarchies=SEXES)
    return [
        of(
            "Single-dimensional partitioning",
            "the printed recoding of columns, applied and checked; k = 2",
            columns,
            documents.MONDRIAN_SINGLE_PRINTED,
            single,
            "As printed, with a C_DM of 20; single-dimensional:search=optimal finds two classes of three, 18.",
        ),
        of(
            "Multidimensional partitioning, with means",
            f"{MEANS}, k = 2",
            MEAN_HEADINGS,
            _without_zipcode_means(documents.MONDRIAN_MEANS_PRINTED),
            _rows(means, MEAN_COLUMNS),
            NO_ZIPCODE_MEANS,
        ),
        of(
            "Queries on it",
            "query; on the left what the printed means answer",
            ("query", "answer"),
            [("AVG(Age), Sex = 'Male'", 26.5), ("COUNT(*), Sex = 'Male' AND Age <= 26", 2)],
            [
                ("AVG(Age), Sex = 'Male'", query(means, "SELECT AVG(Age) WHERE Sex = 'Male'").value),
                (
                    "COUNT(*), Sex = 'Male' AND Age <= 26",
                    query(means, "SELECT COUNT(*) WHERE Sex = 'Male' AND Age <= 26").value,
                ),
            ],
        ),
    ]


DOCUMENTS: tuple[Callable[[], list[Example]], ...] = (_murthy, _sonawane, _caputo, _verma, _halwe)


def _examples_of(document: str) -> Make:
    """Return what makes an example of a document: texts of rows, ours in the order of those printed."""

    def make(
        name: str,
        made: str,
        headings: tuple[str, ...],
        printed: Iterable[Sequence[object]],
        ours: Iterable[Sequence[object]],
        erratum: str = "",
    ) -> Example:
        texts = _texts(printed)
        return Example(document, name, made, headings, texts, align_rows(texts, _texts(ours)), erratum)

    return make


def _texts(rows: Iterable[Sequence[object]]) -> Texts:
    return tuple(tuple(f"{cell:g}" if isinstance(cell, float) else str(cell) for cell in row) for row in rows)


def align_rows(printed: Texts, ours: Texts) -> Texts:
    """Return our rows in the order of the printed ones: equal ones first, then those that agree in most cells.

    >>> align_rows((("a", "1"), ("b", "2")), (("b", "2"), ("a", "9")))
    (('a', '9'), ('b', '2'))
    """
    waiting, places = list(ours), dict[int, tuple[str, ...]]()
    for exact in (True, False):
        for index, row in enumerate(printed):
            if index in places or not waiting or (exact and row not in waiting):
                continue
            nearest = max(waiting, key=lambda own: sum(map(str.__eq__, own, row)))
            places[index] = nearest
            waiting.remove(nearest)
    return (*(places[index] for index in sorted(places)), *waiting)


def _arrange(
    bucket: Sequence[documents.Row], printed: Sequence[documents.Row], slices: Sequence[range]
) -> list[documents.Row]:
    """Return the rows of a bucket; a slice that holds the printed entries has them in the printed order."""
    columns = dict[int, list[object]]()
    for names in slices:
        own = sorted(tuple(row[column] for column in names) for row in bucket)
        wanted = [tuple(row[column] for column in names) for row in printed]
        for place, column in enumerate(names):
            columns[column] = [entry[place] for entry in (wanted if sorted(wanted) == own else own)]
    return list(zip(*(columns[column] for column in sorted(columns)), strict=True))


def _table(rows: Sequence[Sequence[object]], names: Sequence[str]) -> pa.Table:
    return pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))


def _publish(
    rows: Sequence[Sequence[object]],
    names: Sequence[str],
    quasi: list[str],
    algorithm: str | Algorithm,
    *,
    k: int = 2,
    hierarchies: Mapping[str, Hierarchy],
    sensitive: bool | None = True,
    suppression: float = 0.0,
) -> Release:
    """Return a release; columns that are no quasi-identifiers are sensitive, or published unmodified."""
    others = [name for name in names if name not in quasi]
    schema = Schema(quasi=quasi, sensitive=others) if sensitive else Schema(quasi=quasi, insensitive=others)
    own = {name: hierarchy for name, hierarchy in hierarchies.items() if name in quasi}
    return anonymize(
        _table(rows, names),
        schema,
        model=KAnonymity(k),
        algorithm=algorithm,
        hierarchies=own,
        suppression=suppression,
    )


def _rows(release: Release, names: Sequence[str]) -> list[documents.Row]:
    return [tuple(row[name] for name in names) for row in release.table.to_pylist()]


def _without_zipcode_means(printed: Sequence[documents.Row]) -> list[documents.Row]:
    """Return printed rows with an empty cell where ours have the mean of the zipcodes."""
    return [(*row[:4], "", *row[4:]) for row in printed]


def _apply_columns(
    patients: Sequence[documents.Row],
    names: tuple[str, ...],
    *,
    zipcodes: Mapping[int, str],
    others: str,
    ages: str,
) -> list[documents.Row]:
    """Return patients under a recoding of columns: one range of ages, zipcodes in two groups, each sex for itself."""
    text = [(str(age), sex, str(zipcode), disease) for age, sex, zipcode, disease in patients]
    codes = sorted({row[2] for row in text})
    trees: dict[str, Hierarchy] = {
        "Age": Hierarchy.from_rows([(age, ages) for age in sorted({row[0] for row in text})]),
        "Sex": Hierarchy.suppression(),
        "Zipcode": Hierarchy.from_rows([(code, zipcodes.get(int(code), others), "*") for code in codes]),
    }
    return _rows(_publish(text, names, list(names[:3]), ChosenNode((1, 0, 1)), hierarchies=trees), names)


def _join(voters: Sequence[documents.Row], patients: Sequence[documents.Row]) -> list[documents.Row]:
    """Return the voters who are one patient by age, sex and zipcode, with the disease."""
    found = list[documents.Row]()
    for name, *known in voters:
        diseases = [patient[-1] for patient in patients if list(patient[:3]) == known]
        if len(diseases) == 1:
            found.append((name, diseases[0]))
    return found


def _smallest_class(rows: Sequence[documents.Row], quasi: Sequence[str]) -> int:
    names = documents.SALARY_NAMES
    schema = Schema(quasi=list(quasi), insensitive=[name for name in names if name not in quasi])
    return verify(_table(rows, names), schema, KAnonymity(1)).smallest_class


def _smallest_of_digits(rows: Sequence[tuple[str, str]]) -> int:
    """Return the smallest class where birthdays are suppressed and one digit of the zipcode is left."""
    return min(Counter((sex, zipcode[0]) for sex, zipcode in rows).values())


def _is_anonymous(
    patients: Sequence[documents.Row], names: tuple[str, ...], quasi: list[str], levels: tuple[int, ...]
) -> bool:
    release = _publish(patients, names, quasi, ChosenNode(levels), k=1, hierarchies=documents.INCOGNITO_LADDERS)
    return release.certificate.smallest_class >= 2


def _search_rounds(
    patients: Sequence[documents.Row], names: tuple[str, ...], trees: Mapping[str, Hierarchy]
) -> tuple[list[documents.Row], str]:
    """Return what each round of Incognito keeps, written as in the paper, and how many candidates and checks it had."""
    quasi = names[:3]
    counted = count_source(_table(patients, names), Request(quasi, (), trees))
    problem = Problem(counted.frequencies, columns_of(counted.domains, trees), KAnonymity(2))
    rounds: list[Any] = Incognito().rounds(problem)

    def spell(node: Sequence[int]) -> str:
        return "".join(f"{name[0]}{level}" for name, level in zip(quasi, node, strict=True) if level >= 0)

    joined = [prune_candidates(join_survivors(kept, size + 1), kept) for size, kept in enumerate(rounds[:-1])]
    candidates = [sum(column.taxonomy.height + 1 for column in problem.columns if column.taxonomy), *map(len, joined)]
    checks = [problem.counters[f"checks over {size + 1} columns"] for size in range(len(rounds))]
    kept: list[documents.Row] = [
        (size + 1, " ".join(sorted(map(spell, survivors)))) for size, survivors in enumerate(rounds)
    ]
    counts = ", ".join(f"{some} of {all_of}" for some, all_of in zip(checks, candidates, strict=True))
    return kept, f"incognito, k = 2; nodes that are checked of the candidates of each round: {counts}"
