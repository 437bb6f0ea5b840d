"""Every main verb and every format on tables with missing values in every type, odd texts and odd files.

Engines that need a server or Java answer the same questions in `integration/test_nasty_tables_on_engines.py`.
"""

import pyarrow as pa
import pytest

import indistinct as ind
from references.nasty_runs import VERBS, answers_of
from references.nasty_tables import MODEL, QUASI, SCHEMA, SHAPES, nasty_table, rows_of, write_shape

FORMATS = (".csv", ".tsv", ".parquet", ".feather", ".xlsx", ".sav", ".dta", ".xpt")
# Programs of statistics have no type for a text that is empty and not missing.
STATISTICS = (".sav", ".dta", ".xpt")


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """What each engine of this process answers, and what memory does on one file."""
    table, found = nasty_table(), {}
    for engine in ("memory", "duckdb"):
        for shape in SHAPES:
            folder = tmp_path_factory.mktemp(f"{engine}-{shape}")
            found[engine, shape] = answers_of(engine, write_shape(table, folder, shape), folder, table)
    return found


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(("engine", "shape"), [("memory", "folder"), ("duckdb", "file"), ("duckdb", "folder")])
def test_every_verb_answers_as_memory_does_on_one_file(answers, engine, shape, verb):
    assert answers[engine, shape][verb] == answers["memory", "file"][verb]


def test_unmodified_columns_are_those_of_the_original(answers):
    """No value under a missing cell comes up, and no value is lost."""
    names = nasty_table().column_names
    others = [name for name in names if name not in (*QUASI, "person")]
    published, _ = answers["memory", "file"]["anonymize"]
    kept = sorted(row[len(QUASI) :] for row in published)
    assert kept == rows_of(nasty_table().select(others))


@pytest.mark.parametrize("rows", [0, 1])
@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_tables_of_one_row_and_of_none(tmp_path, engine, rows):
    source = write_shape(nasty_table().drop_null().slice(0, rows), tmp_path, "folder")
    if not rows:
        with pytest.raises(ind.IndistinctError, match="row"):
            ind.anonymize(source, SCHEMA, model="k-anonymity:k=1", algorithm="mondrian", engine=engine)
        return
    release = ind.anonymize(source, SCHEMA, model="k-anonymity:k=1", algorithm="mondrian", engine=engine)
    assert release.table.num_rows == rows


@pytest.mark.parametrize("suffix", FORMATS)
def test_every_format_holds_the_release(tmp_path, suffix):
    table = nasty_table()
    if suffix in STATISTICS:
        table = _for_statistics(table)
    release = ind.anonymize(table, SCHEMA, model=MODEL, algorithm="mondrian", seed=3)
    path = tmp_path / f"release{suffix}"
    release.write(path)
    assert ind.verify(path, SCHEMA, MODEL, original=table, recoding=release.recoding).holds
    assessed = ind.assess(path, SCHEMA, original=table, recoding=release.recoding)
    assert assessed.to_json()["prosecutor"] == ind.assess(release).to_json()["prosecutor"]
    assert not [each for each in ind.scan(path, schema=SCHEMA).findings if each.severity == "leak"]
    assert ind.open(path, published=True).rows == len(table)


def _for_statistics(table):
    """Return a table that programs of statistics can hold: empty texts are missing, names of columns are short."""
    columns = []
    for column in table.columns:
        plain = column.cast(pa.string()) if isinstance(column.type, pa.DictionaryType) else column
        if pa.types.is_string(plain.type):
            cells = [None if text is None or not text.strip() else text for text in plain.to_pylist()]
            plain = pa.chunked_array([pa.array(cells, pa.string())])
        columns.append(plain)
    return pa.table(columns, names=table.column_names)
