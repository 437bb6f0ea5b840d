"""One way to a release: whatever is published was verified as it was written, and replaces nothing it came from."""

import csv
import gzip
import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import indistinct as ind
from indistinct.release.verification import check
from indistinct.release.writing import files

ROWS = 60
TABLE = pa.table(
    {
        "name": [f"person {row}" for row in range(ROWS)],
        "age": [20 + row % 30 for row in range(ROWS)],
        "disease": [("flu", "cold", "HIV")[row % 3] for row in range(ROWS)],
        "cost": [row * 7 % 13 for row in range(ROWS)],
    }
)
SCHEMA = ind.Schema(identifiers=["name"], quasi=["age"], sensitive=["disease"], insensitive=["cost"])
MODEL = "k-anonymity:k=3 & distinct-l-diversity:sensitive=disease,l=2"
SUFFIXES = (".csv", ".tsv", ".parquet", ".arrow")


def release_of(**options):
    return ind.anonymize(TABLE, SCHEMA, model=MODEL, **options)


def listing(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize(
    "values", [[None, ""], ["1.50", "1.5"], ["NA", None], ["a", "a "], ["true", "TRUE"], ["#N/A N/A", "NA"]]
)
def test_values_that_readers_of_text_take_for_one_are_no_two_values_there(tmp_path, values):
    """Parquet keeps them apart; a text file does not, so that its release is refused and nothing is written."""
    table = pa.table({"age": [1, 1, 2, 2], "d": values * 2})
    schema = ind.Schema(quasi=["age"], sensitive=["d"])
    release = ind.anonymize(table, schema, model="distinct-l-diversity:sensitive=d,l=2")
    certificate = release.write(tmp_path / "r.parquet")
    assert certificate.holds
    assert ind.verify(tmp_path / "r.parquet", schema, "distinct-l-diversity:sensitive=d,l=2").holds
    with pytest.raises(ind.VerificationError, match="Parquet") as caught:
        release.write(tmp_path / "r.csv")
    assert not caught.value.details["certificate"].holds
    assert listing(tmp_path) == ["r.parquet", "r.parquet.certificate.json"]


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("place", ["start", "middle", "end"])
def test_ten_changed_bytes_of_a_staged_file_are_found(tmp_path, monkeypatch, suffix, place):
    """Whatever they change, and whether or not a model looks at it."""
    read = check.read_as_written

    def tampered(file, *how):
        content = bytearray(file.read_bytes())
        begin = {"start": 40, "middle": len(content) // 2, "end": len(content) - 20}[place]
        content[begin : begin + 10] = bytes((byte ^ 1) for byte in content[begin : begin + 10])
        file.write_bytes(bytes(content))
        return read(file, *how)

    monkeypatch.setattr(check, "read_as_written", tampered)
    with pytest.raises(ind.IndistinctError):
        release_of(output=tmp_path / f"r{suffix}")
    assert listing(tmp_path) == []


def test_a_writer_that_changes_a_sensitive_value_is_caught_by_what_it_wrote(tmp_path, monkeypatch):
    """One flu becomes a cold in every class of the file: the model still holds, but it is not what was meant."""
    produce = files.producer_for

    def wrong(batches, path, writing):
        (table,) = batches
        diseases = table["disease"].to_pylist()
        diseases[diseases.index("flu")] = "cold"
        place = table.column_names.index("disease")
        return produce([table.set_column(place, "disease", pa.array(diseases))], path, writing)

    monkeypatch.setattr(files, "producer_for", wrong)
    with pytest.raises(ind.VerificationError, match="were to be published"):
        release_of(output=tmp_path / "r.csv")
    assert listing(tmp_path) == []


@pytest.mark.parametrize("algorithm", ["mondrian", "anatomy:l=3", "slicing:l=2", "multiset:l=2"])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_written_at_once_or_later_the_certificate_is_the_same(tmp_path, algorithm, suffix):
    at_once = release_of(algorithm=algorithm, output=tmp_path / f"a{suffix}", seed=1)
    later = release_of(algorithm=algorithm, seed=1)
    certificate = later.write(tmp_path / f"b{suffix}")
    # Commitments to recodings differ by their nonces.
    assert replace(certificate, recoding_digest=at_once.certificate.recoding_digest) == at_once.certificate
    written = json.loads((tmp_path / f"a{suffix}.certificate.json").read_text())
    assert written["output_digest"] == certificate.output_digest
    assert at_once.table.num_rows == ROWS
    assert at_once.classes()["rows"].to_pylist() == later.classes()["rows"].to_pylist()


def test_the_file_that_was_read_is_never_replaced(tmp_path):
    source = tmp_path / "july.csv"
    release_of().write(tmp_path / "june.csv")
    pa.csv.write_csv(TABLE, source)
    before = source.read_bytes()
    release = ind.anonymize(source, SCHEMA, model=MODEL)
    again = ind.apply(release.recoding, source)
    for made in (release, again):
        with pytest.raises(ind.OutputError, match="replace the input"):
            made.write(source, overwrite=True)
        with pytest.raises(ind.OutputError, match="replace the input"):
            made.write_recoding(source, overwrite=True)
    for publish in (
        lambda: ind.anonymize(source, SCHEMA, model=MODEL, output=source, overwrite=True),
        lambda: ind.apply(release.recoding, source, output=source, overwrite=True),
    ):
        with pytest.raises(ind.OutputError, match="replace the input"):
            publish()
    assert source.read_bytes() == before


def test_an_identifier_in_a_published_file_is_no_matter_of_the_command_line(tmp_path):
    release = release_of()
    shown = release.table.append_column("name", pa.array([f"person {row}" for row in range(ROWS)]))
    certificate = ind.verify(shown, SCHEMA, MODEL)
    assert not certificate.holds
    assert [verdict.model for verdict in certificate.verdicts if not verdict.holds] == ["no-identifier"]
    assert ind.verify(release.table, SCHEMA, MODEL).holds


def test_a_changed_cell_makes_the_certificate_that_of_another_file(tmp_path):
    path = tmp_path / "r.csv"
    release_of(output=path)
    assert ind.verify(path, SCHEMA, MODEL).holds
    with path.open(newline="") as file:
        header, first, *rows = list(csv.reader(file))
    place = header.index("cost")
    first[place] = str(int(first[place]) + 1)
    with path.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([header, first, *rows])
    certificate = ind.verify(path, SCHEMA, MODEL)
    assert [verdict.model for verdict in certificate.verdicts if not verdict.holds] == ["own-certificate"]


def test_applying_has_a_budget():
    """One suppressed class may be small in June and nearly everybody in July."""
    june = pa.table({"age": [1] * 10 + [2]})
    july = pa.table({"age": [1] * 5 + [2] * 95})
    schema = ind.Schema(quasi=["age"])
    levels = {"age": ind.Hierarchy.suppression()}
    release = ind.anonymize(
        june, schema, model="k-anonymity:k=2", algorithm="node:levels=0", hierarchies=levels, suppression=0.1
    )
    assert release.certificate.suppressed_rows == 1
    with pytest.raises(ind.InfeasibleError, match="95 of 100 rows; 10 may be"):
        ind.apply(release.recoding, july)
    assert ind.apply(release.recoding, july, suppression=0.95).table.num_rows == 5


@pytest.mark.parametrize("algorithm", ["mondrian", "optimal", "anatomy:l=3", "slicing:l=2"])
def test_counters_are_there_for_every_algorithm_and_every_application(algorithm):
    release = release_of(algorithm=algorithm, hierarchies={"age": ind.Hierarchy.suppression()})
    for made in (release, ind.apply(release.recoding, TABLE)):
        assert {"checks", "scans", "rollups", "merges", "seconds"} <= set(made.counters)


def test_two_different_l_are_an_error():
    with pytest.raises(ind.ParameterError, match="l = 3, and slicing for l = 2"):
        ind.anonymize(TABLE, SCHEMA, model="l-diverse-links:l=3", algorithm="slicing:l=2")
    release = ind.anonymize(TABLE, SCHEMA, model="l-diverse-links:l=2", algorithm="slicing:l=2")
    assert release.certificate.verdicts[0].model == "l-diverse-links:l=2,sensitive=disease"


def test_links_are_a_model_of_classes_too():
    release = ind.anonymize(TABLE, SCHEMA, model="l-diverse-links:l=2")
    classes = {}
    for row in release.table.to_pylist():
        classes.setdefault(row["age"], []).append(row["disease"])
    assert all(2 * max(map(values.count, values)) <= len(values) for values in classes.values())
    with pytest.raises(ind.InfeasibleError, match="more than one in 4"):
        ind.anonymize(TABLE, SCHEMA, model="l-diverse-links:l=4")


def test_classes_are_a_table(tmp_path):
    release = release_of()
    classes = release.classes()
    assert classes.column_names == ["age", "rows"]
    assert sum(classes["rows"].to_pylist()) == ROWS
    assert min(classes["rows"].to_pylist()) == release.certificate.smallest_class
    sizes = sorted(release.assignment.classes.sizes.tolist())
    assert sorted(classes["rows"].to_pylist()) == sizes


def test_a_hidden_column_is_counted_by_published_class(tmp_path):
    """(X,Y)-anonymity over an identifier that the file does not show: people are counted on the original by class."""
    rng = np.random.default_rng(2)
    table = TABLE.set_column(0, "name", pa.array([f"person {code}" for code in rng.integers(0, 25, ROWS)]))
    model = "xy-anonymity:y=name,k=4"
    path = tmp_path / "r.parquet"
    release = ind.anonymize(table, SCHEMA, model=model, output=path)
    assert release.certificate.holds
    assert any("'name'" in warning and "not published" in warning for warning in release.certificate.warnings)
    assert "name" not in pq.read_schema(path).names
    with pytest.raises(ind.InputError, match="'name'"):
        ind.verify(path, SCHEMA, model)


def test_exploring_ranks_by_people_where_the_model_counts_people():
    """Two rows of one person are no company: the risk of a node goes by people, not by rows."""
    table = pa.table({"age": [1, 1, 1, 1, 2, 2, 2, 2], "who": list("aabb") + list("cdef")})
    schema = ind.Schema(identifiers=["who"], quasi=["age"])
    levels = {"age": ind.Hierarchy.suppression()}
    found = ind.explore(table, schema, model="xy-anonymity:y=who,k=2", hierarchies=levels)
    assert found.node([0])["risk"] == 1 / 2
    assert found.node([1])["risk"] == 1 / 6
    assert ind.explore(table, schema, model="k-anonymity:k=2", hierarchies=levels).node([0])["risk"] == 1 / 4


def test_vectors_that_readers_of_text_take_for_one_are_refused_too(tmp_path):
    table = pa.table({"age": [1, 1, 2, 2], "d": ["1.5", "1.50"] * 2, "t": ["x"] * 4})
    schema = ind.Schema(quasi=["age"], sensitive=["d", "t"])
    release = ind.anonymize(table, schema, model="xy-anonymity:y=d|t,k=2")
    assert release.write(tmp_path / "r.parquet").holds
    with pytest.raises(ind.VerificationError, match="'d'"):
        release.write(tmp_path / "r.csv")


def test_a_release_has_no_more_rows_than_its_original():
    table = pa.table({"age": list(range(10)), "disease": ["a", "b"] * 5})
    schema = ind.Schema(quasi=["age"], sensitive=["disease"])
    certificate = ind.verify(pa.concat_tables([table] * 3), schema, "k-anonymity:k=3", original=table)
    assert [verdict.model for verdict in certificate.verdicts if not verdict.holds] == [
        "matches-original",
        "no-added-rows",
    ]


def test_the_second_table_of_anatomy_has_its_digest_in_the_certificate(tmp_path):
    path, apart = tmp_path / "r.csv", tmp_path / "r.sensitive.csv"
    release = release_of(algorithm="anatomy:l=3", output=path)
    published = ind.BucketTable(path, release.buckets.slices, "tables", apart)
    assert ind.verify(published, SCHEMA, "l-diverse-links:l=3").holds
    apart.write_text(apart.read_text().replace("flu", "fly"))
    certificate = ind.verify(published, SCHEMA, "l-diverse-links:l=3")
    assert [verdict.model for verdict in certificate.verdicts if not verdict.holds] == ["own-certificate"]


@pytest.mark.parametrize("suffix", [".csv", ".txt", ".csv.gz"])
def test_every_text_file_is_judged_by_its_finest_and_its_coarsest_reading(tmp_path, suffix):
    schema = ind.Schema(quasi=["q"], sensitive=["s"])
    written = gzip.open if suffix.endswith("gz") else open
    for text, model in (
        ("q,s\n1.50,a\n1.5,b\n2,a\n2,b\n", "k-anonymity:k=2"),
        ("q,s\n1,x\n1,x \n2,x\n2,x \n", "distinct-l-diversity:sensitive=s,l=2"),
    ):
        with written(tmp_path / f"r{suffix}", "wt") as file:
            file.write(text)
        assert not ind.verify(tmp_path / f"r{suffix}", schema, model).holds


def test_links_without_a_sensitive_column_are_an_error():
    table, schema = pa.table({"age": [1] * 4}), ind.Schema(quasi=["age"])
    for job in (
        lambda: ind.anonymize(table, schema, model="l-diverse-links:l=2"),
        lambda: ind.verify(table, schema, "l-diverse-links:l=2"),
    ):
        with pytest.raises(ind.SchemaError, match="names none"):
            job()


@pytest.mark.parametrize("kind", [pa.timestamp("us", "Europe/Berlin"), pa.timestamp("ns")])
@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("algorithm", ["mondrian", "slicing:l=2", "anatomy:l=2"])
def test_moments_are_read_back_as_they_were(tmp_path, kind, suffix, algorithm):
    ticks = pa.array([1 + 86_400_000_000 * (row % 5) for row in range(20)], pa.int64()).cast(pa.timestamp(kind.unit))
    moments = ticks.cast(kind)
    words = [f"v{row % 4}" for row in range(20)]
    for columns in ({"q": words, "s": moments}, {"q": moments, "s": words}):
        schema = ind.Schema(quasi=["q"], sensitive=["s"])
        model = "distinct-l-diversity:sensitive=s,l=2"
        release = ind.anonymize(
            pa.table(columns), schema, model=model, algorithm=algorithm, output=tmp_path / f"r{suffix}", overwrite=True
        )
        assert release.certificate.holds


@pytest.mark.parametrize("values", [[None, None, "a", "a"], [None, None, 1, 1]])
def test_one_column_with_missing_values_can_be_text(tmp_path, values):
    release = ind.anonymize(pa.table({"q": values}), ind.Schema(quasi=["q"]), model="k-anonymity:k=2")
    assert release.write(tmp_path / "r.csv").classes == 2


def test_a_release_that_was_written_at_once_is_the_same_again(tmp_path):
    table = pa.table({"q": ["", "", "a", "a"], "s": ["x", "y"] * 2, "w": ["1.50", "01", "", ""]})
    schema = ind.Schema(quasi=["q"], sensitive=["s"], insensitive=["w"])
    release = ind.anonymize(table, schema, model="k-anonymity:k=2", output=tmp_path / "a.csv")
    release.write(tmp_path / "b.csv")
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    assert release.write(tmp_path / "b.parquet").holds


def test_empty_text_of_the_original_is_found_in_a_text_file(tmp_path):
    table = pa.table({"q": [1, 1, 1, 2, 2, 2], "s": ["a", "", "b"] * 2})
    schema = ind.Schema(quasi=["q"], sensitive=["s"])
    ind.anonymize(table, schema, model="k-anonymity:k=2", output=tmp_path / "r.csv")
    model = "distinct-l-diversity:sensitive=s,l=3"
    assert ind.verify(tmp_path / "r.csv", schema, model, original=table).holds


def test_a_name_that_stands_twice_is_bad_input():
    table = pa.Table.from_arrays([pa.array([1, 1]), pa.array([7, 8])], names=["q", "q"])
    with pytest.raises(ind.InputError, match="several columns have the same name"):
        ind.anonymize(table, ind.Schema(quasi=["q"]), model="k-anonymity:k=2")


@pytest.mark.parametrize("algorithm", ["mondrian:relaxed=true", "kaca:stub=true"])
def test_recodings_of_rows_fit_their_own_table_under_a_sensitive_model(algorithm):
    levels = {"age": ind.Hierarchy.intervals([5, 10])}
    release = ind.anonymize(TABLE, SCHEMA, model=MODEL, algorithm=algorithm, hierarchies=levels)
    assert ind.apply(release.recoding, TABLE).certificate.achieved == release.certificate.achieved


@pytest.mark.parametrize("l", [2, 3])
def test_large_tables_of_anatomy_are_judged_as_small_ones(monkeypatch, l):
    """Only where the bound does not suffice, it is counted which bucket shows which known values."""
    release = release_of(algorithm="anatomy:l=3")
    moved = release.others["sensitive"]["disease"].to_pylist()
    moved = pa.array(sorted(moved))
    apart = release.others["sensitive"]
    apart = apart.set_column(apart.column_names.index("disease"), "disease", moved)
    for sensitive in (release.others["sensitive"], apart):
        published = ind.BucketTable(release.table, release.buckets.slices, "tables", sensitive)
        small = [ind.verify(published, SCHEMA, f"l-diverse-links:l={l}", original=each) for each in (None, TABLE)]
        with monkeypatch.context() as patch:
            patch.setattr("indistinct.view.bucket_evidence.MAX_ROWS_COMPUTED_EXACTLY", 1)
            large = [ind.verify(published, SCHEMA, f"l-diverse-links:l={l}", original=each) for each in (None, TABLE)]
        for one, other in zip(large, small, strict=True):
            assert [verdict.holds for verdict in one.verdicts] == [verdict.holds for verdict in other.verdicts]
