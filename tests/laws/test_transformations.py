"""Laws of transformations: to count a transformed source is to count the transformed table, on every engine."""

from datetime import date, timedelta

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import indistinct as ind
from indistinct.engines import open_source
from indistinct.engines.base import transformed_source
from indistinct.frequencies.count import Request

HIERARCHY = ind.Hierarchy.masking(length=3)
numbers = st.one_of(
    st.builds(
        lambda step, top, bottom: ind.Transformation(round=step, top=top, bottom=bottom),
        st.integers(1, 40) | st.none(),
        st.integers(50, 90),
        st.integers(-30, 20) | st.none(),
    )
)
TRANSFORMATIONS = st.fixed_dictionaries(
    {
        "whole": numbers,
        "part": st.one_of(numbers, st.sampled_from([0.1, 0.25, 5]).map(lambda step: ind.Transformation(round=step))),
        "day": st.sampled_from(["day", "month", "quarter", "year"]).map(lambda to: ind.Transformation(truncate=to)),
        "code": st.integers(1, 3).map(lambda level: ind.Transformation(level=level, hierarchy=HIERARCHY)),
        "note": st.sampled_from(["all", "presence"]).map(lambda how: ind.Transformation(clear=how)),
    }
)
ROWS = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.integers(-100, 100) | st.none(),
        st.sampled_from([-0.0, 0.0, 0.25, 0.35, 12.5, -7.75, 80.0]) | st.none(),
        st.integers(0, 500).map(lambda days: date(2023, 1, 1) + timedelta(days=days)) | st.none(),
        st.sampled_from(["a11", "a12", "b1", "ccc"]) | st.none(),
        st.sampled_from(["x", "y", ""]) | st.none(),
    ),
    min_size=1,
    max_size=25,
)


def table_of(rows):
    kinds = [pa.int64(), pa.int64(), pa.float64(), pa.date32(), pa.string(), pa.string()]
    names = ["q", "whole", "part", "day", "code", "note"]
    columns = zip(*rows, strict=True)
    return pa.table(
        [pa.array(values, kind) for values, kind in zip(columns, kinds, strict=True)],
        schema=pa.schema(zip(names, kinds, strict=True)),
    )


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
@settings(deadline=None, max_examples=25)
@given(rows=ROWS, transformations=TRANSFORMATIONS)
def test_counting_what_is_transformed(engine, rows, transformations):
    table = table_of(rows)
    whole, _ = transformed_source(open_source(table, engine="memory")[1], transformations)
    where, source = open_source(table, engine=engine)
    changed, _ = transformed_source(source, transformations)
    request = Request(["q"], [(name,) for name in transformations], published=True)
    assert _plain(where.count(changed, request)) == _plain(open_source(whole.data)[0].count(whole, request))
    alone = where.count(changed, Request((), alone=list(transformations))).alone
    assert alone == {name: _alone(whole.data[name].to_pylist()) for name in transformations}


@settings(deadline=None, max_examples=40)
@given(rows=ROWS, transformations=TRANSFORMATIONS)
def test_every_row_is_transformed_by_itself(rows, transformations):
    """What a cell becomes depends on no other row, so that batches of any size give the same."""
    whole, made = transformed_source(open_source(table_of(rows))[1], transformations)
    parts = [made.table(whole_part) for whole_part in (table_of([row]) for row in rows)]
    assert pa.concat_tables(parts).to_pylist() == whole.data.to_pylist()
    assert made.schema(table_of(rows).schema) == whole.data.schema


def _plain(counted):
    cells = counted.frequencies
    found = {}
    for key, histogram in cells.classes.histograms.items():
        texts = histogram.texts
        found[key] = [
            {texts[histogram.codes[i]]: int(histogram.counts[i]) for i in range(*histogram.indptr[cell : cell + 2])}
            for cell in range(len(cells))
        ]
    return cells.vectors.tolist(), cells.counts.tolist(), found


def _alone(cells):
    return sum(cells.count(cell) == 1 for cell in cells if cell is not None)
