"""Releases whose classes the driver does not hold: workers finish parts and write them, with the answer of memory."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import indistinct as ind
from indistinct.engines.passes import Room
from indistinct.engines.spark import Spark, parts, publish
from indistinct.errors import InfeasibleError, InputError, OutOfMemoryError, OutputError, VerificationError
from indistinct.job.parts import CutTable
from indistinct.recoding.class_rows import class_words
from indistinct.release.verification import check
from references.engine_runs import rows_of
from references.pass_runs import MODELS, NOWHERE, by_passes
from references.spark_session import QUIET, needs_java, spark

pytestmark = [*QUIET, pytest.mark.xdist_group("spark")]
SCHEMA = ind.Schema(quasi=["height", "weight", "ward"], sensitive=["disease"], insensitive=["note"])


def measured(rows=900):
    rng = np.random.default_rng(5)
    return pa.table(
        {
            "note": [f"note {row}" for row in range(rows)],
            "height": pa.array(rng.normal(size=rows), mask=rng.random(rows) < 0.05),
            "weight": rng.integers(0, 40, rows),
            "ward": rng.choice(["north", "south", "west"], rows),
            "disease": rng.choice(["flu", "gout", "mumps"], rows),
        }
    )


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "in" / "measured.parquet"
    path.parent.mkdir()
    pq.write_table(measured(), path, row_group_size=200)
    return path


@pytest.fixture
def output(tmp_path):
    path = tmp_path / "out" / "release.parquet"
    path.parent.mkdir()
    return path


@pytest.fixture
def small(monkeypatch):
    """Let the driver hold no class and few values, a worker few rows of a part, and a file few rows."""
    spark()
    monkeypatch.setattr("indistinct.engines.spark.Spark", lambda *_: Spark(room=Room(150, 20, 50, 0)))
    monkeypatch.setattr(publish, "MAX_ROWS", 130)
    monkeypatch.setattr(parts, "PIECE", 2000)


def read_in_order(folder):
    return pa.concat_tables([pq.read_table(path) for path in sorted(folder.glob("*.parquet"))])


def require_equal(mine, memory, output):
    written = read_in_order(output)
    assert rows_of(written) == rows_of(memory.table)
    assert written.column_names == memory.table.column_names
    assert replace(mine.certificate, **NOWHERE) == replace(memory.certificate, **NOWHERE)
    words = class_words(written.select(list(SCHEMA.quasi))).to_pylist()
    assert words == sorted(words)


@needs_java
@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("model", MODELS)
def test_files_go_part_by_part_with_the_answer_of_memory(file, output, model):
    options = {"model": model.format(k=3), "algorithm": "mondrian"}
    try:
        memory = ind.anonymize(file, SCHEMA, engine="memory", **options)
    except InfeasibleError:
        with pytest.raises(InfeasibleError):
            ind.anonymize(file, SCHEMA, engine="spark", output=output, **options)
        return
    mine = ind.anonymize(file, SCHEMA, engine="spark", output=output, **options)
    require_equal(mine, memory, output)
    assert mine.check.assignment is None
    assert len(list(output.glob("*.parquet"))) > 3
    assert sorted(path.name for path in output.parent.iterdir()) == [output.name, f"{output.name}.certificate.json"]
    assert not spark().sparkContext._jsc.getPersistentRDDs()
    wanted = ind.measure(memory)
    for name, value in ind.measure(mine).items():
        assert value == pytest.approx(wanted[name], rel=1e-9), name


@needs_java
@pytest.mark.usefixtures("small")
def test_regions_of_known_values_are_those_of_memory(file, output, monkeypatch):
    monkeypatch.setattr("indistinct.engines.spark.Spark", lambda *_: Spark(room=Room(40, 50, 50, 0)))
    schema = ind.Schema(quasi=["weight", "ward"], sensitive=["disease"], insensitive=["note", "height"])
    options = {"model": "k-anonymity:k=20", "algorithm": "mondrian:extent=region"}
    memory = ind.anonymize(file, schema, engine="memory", **options)
    mine = ind.anonymize(file, schema, engine="spark", output=output, **options)
    assert mine.check.assignment is None
    assert rows_of(read_in_order(output)) == rows_of(memory.table)
    assert replace(mine.certificate, **NOWHERE) == replace(memory.certificate, **NOWHERE)


@needs_java
@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("form", ["mondrian", "mondrian:choose=information-gain,target=disease"])
def test_a_seed_gives_the_same_rows_in_the_same_order(file, tmp_path, form):
    options = {"model": "k-anonymity:k=4", "algorithm": form, "seed": 1}
    orders = []
    for number, source in enumerate([file, spark().createDataFrame(measured()).repartition(5)]):
        output = tmp_path / f"{number}.parquet"
        ind.anonymize(source, SCHEMA, engine="spark", output=output, **options)
        orders.append(read_in_order(output).to_pylist())
    duckdb = tmp_path / "duckdb.parquet"
    with pytest.MonkeyPatch.context() as patch:
        by_passes(Room(150, 20, 50, 0), patch)
        ind.anonymize(file, SCHEMA, engine="duckdb", output=duckdb, **options)
    assert orders == [pq.read_table(duckdb).to_pylist()] * 2


def next_month():
    """Return other rows: some have values that no class covers, some classes have too few of them, some parts none."""
    first, rng = measured(), np.random.default_rng(6)
    rows = first.take(pa.array(np.flatnonzero(pc.less(first["weight"], 25).to_numpy())[rng.integers(0, 400, 700)]))
    heights = rows["height"].to_numpy(zero_copy_only=False) + np.where(rng.random(700) < 0.1, 9.0, 0.0)
    return rows.set_column(rows.column_names.index("height"), "height", pa.array(heights, from_pandas=True))


@needs_java
@pytest.mark.usefixtures("small")
def test_a_recoding_that_is_kept_is_applied_to_another_file_with_the_answer_of_memory(file, output, tmp_path):
    saved, other = tmp_path / "recoding.json", tmp_path / "other.parquet"
    options = {"model": "k-anonymity:k=4 & distinct-l-diversity:sensitive=disease,l=2", "algorithm": "mondrian"}
    memory = ind.anonymize(file, SCHEMA, engine="memory", **options)
    mine = ind.anonymize(file, SCHEMA, engine="spark", output=output, save_recoding=saved, **options)
    assert json.loads(saved.read_text())["kind"] == "by-part"
    pq.write_table(next_month(), other, row_group_size=100)
    wanted = ind.apply(memory.recoding, other, suppression=1.0)
    assert 0 < wanted.certificate.rows < 700
    again = tmp_path / "again.parquet"
    found = ind.apply(saved, other, suppression=1.0, engine="spark", output=again)
    mine_told, memory_told = found.certificate.warnings, wanted.certificate.warnings
    assert memory_told[0].startswith(f"{mine_told[0]}: column 'height'")  # memory knows all values of the first table
    assert mine_told[1:] == memory_told[1:]
    told = replace(wanted.certificate, warnings=mine_told)
    require_equal(found, replace(wanted, certificate=told), again)
    assert found.certificate.recoding_digest == mine.certificate.recoding_digest
    with pytest.raises(InfeasibleError) as refused:
        ind.apply(saved, other, suppression=0.01, engine="spark", output=tmp_path / "refused.parquet")
    lost = wanted.certificate.suppressed_rows
    assert str(refused.value).startswith(f"the recoding would suppress {lost:,} of 700 rows")
    Path(f"{saved}.arrow").write_bytes(Path(f"{saved}.arrow").read_bytes()[:-1])
    with pytest.raises(InputError, match="the recoding cannot be read"):
        ind.apply(saved, other, suppression=1.0, engine="spark", output=tmp_path / "refused.parquet")
    assert not (tmp_path / "refused.parquet").exists()


@needs_java
@pytest.mark.usefixtures("small")
def test_verification_brings_no_class_to_the_driver(file, output, monkeypatch):
    """Workers judge the classes of what they wrote, each some files; the driver judges those where these meet."""
    counted, judged = [], []
    count, judge = Spark.count, check.judge_classes

    def counting(self, source, request):
        counted.append(request.quasi)
        return count(self, source, request)

    def judging(evidence, model):
        judged.append(len(evidence.sizes))
        return judge(evidence, model)

    monkeypatch.setattr(Spark, "count", counting)
    monkeypatch.setattr(check, "judge_classes", judging)
    made = ind.anonymize(file, SCHEMA, engine="spark", output=output, model="k-anonymity:k=4", algorithm="mondrian")
    assert not [quasi for quasi in counted if quasi]
    tasks = 2 * spark().sparkContext.defaultParallelism
    assert [number <= 2 * tasks < made.certificate.classes for number in judged] == [True]


@needs_java
@pytest.mark.usefixtures("small")
def test_verification_sees_what_was_written(file, output, monkeypatch):
    """A file that is not what was meant to be written is not published."""
    take = publish._take_file

    def spoil(written, target, rows):
        take(written, target, rows)
        table = pq.read_table(target)
        wards = table["ward"].to_pylist()
        if target.name.startswith("part-00001"):  # its first row gets a class of its own
            column = pa.array([f"{wards[0]} ", *wards[1:]])
            table = table.set_column(table.column_names.index("ward"), "ward", column)
            pq.write_table(table, target, store_schema=False)

    monkeypatch.setattr(publish, "_take_file", spoil)
    with pytest.raises(VerificationError, match="does not satisfy k-anonymity"):
        ind.anonymize(file, SCHEMA, engine="spark", output=output, model="k-anonymity:k=4", algorithm="mondrian")
    assert list(output.parent.iterdir()) == []


@needs_java
@pytest.mark.usefixtures("small")
def test_what_is_not_made_part_by_part_is_refused_by_name(file, output):
    with pytest.raises(OutOfMemoryError, match="part by part, but not with a release without an output"):
        ind.anonymize(file, SCHEMA, engine="spark", model="k-anonymity:k=4", algorithm="mondrian")
    with pytest.raises(
        OutOfMemoryError, match="part by part, but not with extent=region, as not all values of column 'height' fit"
    ):
        ind.anonymize(
            file, SCHEMA, engine="spark", model="k-anonymity:k=4", algorithm="mondrian:extent=region", output=output
        )


@needs_java
@pytest.mark.parametrize("classes", [0, 10_000], ids=["part by part", "level by level"])
def test_a_folder_that_is_rewritten_after_the_cuts_is_not_published(file, output, monkeypatch, classes):
    """As many rows of the same values, which other people have: verification alone would not notice."""
    spark()
    monkeypatch.setattr("indistinct.engines.spark.Spark", lambda *_: Spark(room=Room(150, 20, 50, classes)))
    made = CutTable.goes_by_part.fget

    def change(plan):
        table = pq.read_table(file)
        heights = table["height"].take(pa.array(np.random.default_rng(1).permutation(len(table))))
        other = table.set_column(table.column_names.index("height"), "height", heights)
        pq.write_table(other, file, row_group_size=200)
        return made(plan)

    monkeypatch.setattr(CutTable, "goes_by_part", property(change))
    with pytest.raises(InputError, match="has changed while it was read"):
        ind.anonymize(file.parent, SCHEMA, engine="spark", output=output, model="k-anonymity:k=4", algorithm="mondrian")
    assert list(output.parent.iterdir()) == []


@needs_java
@pytest.mark.usefixtures("small")
def test_a_failure_leaves_nothing(file, output, monkeypatch):
    monkeypatch.setattr(parts, "split_words", lambda *_: ["b", "[-0.5"])  # ranges that do not ascend
    with pytest.raises(OutputError, match="workers wrote other rows"):
        ind.anonymize(file, SCHEMA, engine="spark", output=output, model="k-anonymity:k=4", algorithm="mondrian")
    assert list(output.parent.iterdir()) == []
    assert not spark().sparkContext._jsc.getPersistentRDDs()
