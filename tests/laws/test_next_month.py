"""A recoding on another table: the same rows give the same release, new ones a true one that keeps its promise."""

import datetime as dt
from collections import Counter, defaultdict
from typing import Any

import pyarrow as pa
from hypothesis import assume, event, example, given, settings
from hypothesis import strategies as st

import indistinct as ind
from indistinct.algorithms.registry import parse_algorithm
from indistinct.errors import IndistinctError
from indistinct.hierarchy import Hierarchy
from indistinct.recoding.kinds import ByColumn
from indistinct.recoding.storage import recoding_from_json, recoding_to_json
from indistinct.testing.checks.examples import ALGORITHM_EXAMPLES
from indistinct.testing.checks.reading import spell_value, stands_for
from indistinct.testing.strategies import Sample, algorithms, models, samples

laws = settings(deadline=None, max_examples=150)
REUSABLE = sorted(
    form for some in ALGORITHM_EXAMPLES.values() for form in some if parse_algorithm(form).traits.reusable
)
DAY = dt.date(2024, 2, 27)
ORDER = ("none", "primary", "second-ary", "tertiary", "top")
JOBS = {
    "nurse": "health",
    "surgeon": "health",
    "midwife": "health",
    "clerk": "office",
    "typist": "office",
    "poet": "art",
}

# What the first table may hold, what the next one may hold besides, and the hierarchies that the column may have.
COLUMNS: dict[str, tuple[list[Any], list[Any], list[Hierarchy | None]]] = {
    "age": ([20, 22, 30, 31, 45, 80], [-4, 0, 21, 25, 44, 46, 81, 99], [None, Hierarchy.intervals([10, 20])]),
    "score": ([0.5, 1.25, 3.0, 8.5], [-2.0, 1.0, 3.25, 900.0], [None, Hierarchy.intervals(cuts=[[1, 3], [3]])]),
    "day": (
        [DAY + dt.timedelta(days=step) for step in (0, 1, 40, 400)],
        [DAY + dt.timedelta(days=step) for step in (-900, 2, 39, 500, 4000)],
        [None, Hierarchy.dates(["month", "year"])],
    ),
    "zip": (["1011", "1012", "1023", "2044"], ["1015", "1024", "2099", "3000", "33333"], [Hierarchy.masking()]),
    "job": (
        ["nurse", "surgeon", "clerk"],
        ["midwife", "typist", "poet", "pilot"],
        [Hierarchy.from_rows([(job, group, "*") for job, group in JOBS.items()])],
    ),
    "grade": (["none", "second-ary", "top"], ["primary", "tertiary", "unheard of"], [Hierarchy.order(ORDER)]),
    "city": (["Oslo", "Bergen", "h-i"], ["Ås", "Voss"], [None, Hierarchy.suppression()]),
}


@st.composite
def months(draw: st.DrawFn) -> tuple[pa.Table, pa.Table, ind.Schema, dict[str, Hierarchy], str, str]:
    """Return two tables of the same columns, the second with values that the first lacks, and how to publish them."""
    algorithm = draw(st.sampled_from(REUSABLE))
    quasi = draw(st.lists(st.sampled_from(sorted(COLUMNS)), min_size=1, max_size=3, unique=True))
    tables = []
    missing = {name: draw(st.sampled_from(["no", "later", "both"])) for name in quasi}
    for later in (False, True):
        rows = draw(st.integers(3, 16))
        columns: dict[str, Any] = {}
        for name in quasi:
            known, new, _ = COLUMNS[name]
            absent = [None] if missing[name] == "both" or (later and missing[name] == "later") else []
            cells = st.sampled_from([*known, *(new if later else []), *absent])
            drawn = draw(st.lists(cells, min_size=rows, max_size=rows))
            columns[name] = pa.array([known[0], *drawn][:rows])
        columns["disease"] = draw(st.lists(st.sampled_from(["flu", "HIV"]), min_size=rows, max_size=rows))
        tables.append(pa.table({**columns, "key": list(range(rows))}))
    chosen = {name: draw(st.sampled_from(COLUMNS[name][2])) for name in quasi}
    hierarchies = {name: hierarchy for name, hierarchy in chosen.items() if hierarchy is not None}
    model = draw(st.sampled_from(["k-anonymity:k=1", "k-anonymity:k=2", "distinct-l-diversity:sensitive=disease,l=2"]))
    schema = ind.Schema(quasi=quasi, sensitive=["disease"], insensitive=["key"])
    return tables[0], tables[1], schema, hierarchies, algorithm, model


@laws
@given(data=st.data(), sample=samples(most_columns=2), model=models())
def test_the_same_rows_give_the_same_release(data: st.DataObject, sample: Sample, model: ind.Model) -> None:
    algorithm = data.draw(algorithms())
    assume(algorithm.traits.reusable)
    options = {"model": model, "hierarchies": sample.hierarchies}
    try:
        release = ind.anonymize(sample.table, sample.schema, algorithm=algorithm, suppression=0.3, **options)
    except IndistinctError:
        assume(False)
    again = ind.apply(recoding_from_json(recoding_to_json(release.recoding)), sample.table, **options)
    assert rows_of(again) == rows_of(release)


@laws
@given(case=months(), share=st.sampled_from([0.0, 0.4, 1.0]))
@example(
    case=(
        pa.table({"age": [20, 22, 30, 31], "disease": ["flu", "HIV"] * 2, "key": [0, 1, 2, 3]}),
        pa.table({"age": [-4, 25, 29, 99, None, 21], "disease": ["flu", "HIV"] * 3, "key": [0, 1, 2, 3, 4, 5]}),
        ind.Schema(quasi=["age"], sensitive=["disease"], insensitive=["key"]),
        {},
        "mondrian:extent=region",
        "k-anonymity:k=2",
    ),
    share=0.4,
)
@example(
    case=(
        pa.table({"score": [0.5] * 6 + [3.0, 8.5], "disease": ["flu"] * 8, "key": list(range(8))}),
        pa.table({"score": [0.5, 0.5, 1.25, 1.25], "disease": ["flu"] * 4, "key": [0, 1, 2, 3]}),
        ind.Schema(quasi=["score"], sensitive=["disease"], insensitive=["key"]),
        {"score": Hierarchy.intervals(cuts=[[1, 3], [3]])},
        "bottom-up",
        "k-anonymity:k=2",
    ),
    share=0.0,
)
def test_new_rows_give_a_true_release_that_keeps_the_promise(case: Any, share: float) -> None:
    first, second, schema, hierarchies, algorithm, model = case
    options: dict[str, Any] = {"hierarchies": hierarchies, "algorithm": algorithm}
    try:
        recoding = ind.anonymize(first, schema, model=model, suppression=0.2, **options).recoding
    except IndistinctError:
        assume(False)
    recoding = recoding_from_json(recoding_to_json(recoding))
    release = applied(recoding, second, share)
    event("refused" if release is None else "published")
    if release is None:
        return
    assert release.table.num_rows >= second.num_rows - int(share * second.num_rows)
    check_promise(release, model)
    for name in schema.quasi:
        if "numeric=mean" not in algorithm or name not in ("age", "score", "day"):
            check_true(release, second, recoding, name, known=first[name].to_pylist())


def applied(recoding: Any, table: pa.Table, share: float) -> ind.Release | None:
    """Return a release, or None where it is refused; no message tells a value."""
    try:
        return ind.apply(recoding, table, suppression=share)
    except IndistinctError as error:
        told = error
    assert told.hint
    assert not [value for value in ("33333", "unheard of", "pilot", "Voss") if value in str(told)]
    return None


def rows_of(release: ind.Release) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row.values()) for row in release.table.to_pylist())


def check_promise(release: ind.Release, model: str) -> None:
    """Count the classes of the published rows by hand."""
    classes = defaultdict(list)
    for row in release.table.to_pylist():
        classes[tuple(row[name] for name in release.schema.quasi)].append(row["disease"])
    for rows in classes.values():
        assert (len(set(rows)) >= 2) if "l=2" in model else (len(rows) >= int(model[-1]))


def check_true(release: ind.Release, table: pa.Table, recoding: Any, name: str, *, known: list[Any]) -> None:
    """Compare every published value of a column with the original one of its row."""
    (column,) = [column for column in release.assignment.columns if column.column == name]
    outputs = [output for output, _ in column.outputs]
    raw = isinstance(recoding, ByColumn) and (recoding.levels or {}).get(name) == 0
    originals = dict(zip(table["key"].to_pylist(), table[name].to_pylist(), strict=True))
    for row in release.table.to_pylist():
        original, shown = originals[row["key"]], row[outputs[0]]
        if outputs[0] == f"{name}_min":
            low, high, *absent = (row[output] for output in outputs)
            assert low <= original <= high if original is not None else absent == [True]
            continue
        if original not in known and original is not None:
            event(f"{name} is covered")
            assert raw or shown != spell_value(original), "an unknown value is published raw"
        assert is_true(name, shown, original), (name, shown, original)


def is_true(name: str, shown: Any, original: Any) -> bool:
    """Return whether a published text is true of a value, by rules of its own for each hierarchy."""
    if shown == "*" or shown == original or stands_for(shown, original, order=ORDER if name == "grade" else None):
        return True
    if original is None or shown is None:
        return False
    match name:
        case "zip":
            return len(shown) == len(original) and original.startswith(shown.rstrip("*"))
        case "job":
            return JOBS.get(original) == shown
        case "day":
            return str(original).startswith(shown)
        case "age":
            low, _, high = shown.strip("[]").replace(", ", "-").rpartition("-")
            return int(low) <= original <= int(high)
        case "score":
            ends = {"<1": (-1e9, 1), "[1, 3)": (1, 3), ">=3": (3, 1e9), "<3": (-1e9, 3)}
            return ends[shown][0] <= original < ends[shown][1]
    return False
