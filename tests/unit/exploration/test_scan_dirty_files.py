"""Files that look clean and are not: identifiers without a policy, names in bytes that no program shows, kept order."""

import io
import struct
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import indistinct as ind
from indistinct.exploration.scan import suggested
from indistinct.exploration.scan.scan import ScanVerdict
from indistinct.samples import generate_patients
from references.workbooks import workbook

NAMES = [f"Agathe Lindqvist-{number}" for number in range(40)]
HIDDEN = "\n".join(NAMES).encode()
ROWS = [["age", "disease"], *([f"[{20 + n % 3 * 10}-{29 + n % 3 * 10}]", ("flu", "cold")[n % 2]] for n in range(40))]
AGES = [20 + n % 3 * 10 + n % 7 for n in range(40)]
PATIENTS = pa.table({"name": NAMES, "age": AGES, "disease": [row[1] for row in ROWS[1:]]}).take(
    np.random.default_rng(1).permutation(40)
)
SCHEMA = ind.Schema(identifiers=["name"], quasi=["age"], sensitive=["disease"])


def put(tmp_path, content, name="published.xlsx"):
    (tmp_path / name).write_bytes(content)
    return tmp_path / name


def edited(add, *, links="", **options):
    """Return a sound workbook to whose archive something was added."""
    packed = io.BytesIO(workbook(ROWS, **options))
    with zipfile.ZipFile(packed, "a", zipfile.ZIP_DEFLATED) as archive:
        add(archive)
    return packed.getvalue()


def with_extra_field(*, local):
    """Return a workbook with an extra field in the header of an entry, or in the list of entries."""
    field = struct.pack("<HH", 0x9999, len(HIDDEN)) + HIDDEN

    def add(archive):
        entry = zipfile.ZipInfo("docProps/app.xml")
        entry.extra = field if local else b""
        archive.writestr(entry, "<Properties/>")
        entry.extra = b"" if local else field

    return edited(add)


def between_entries():
    content = workbook(ROWS)
    start = zipfile.ZipFile(io.BytesIO(content)).start_dir
    end = content.rfind(b"PK\x05\x06")
    moved = content[:start] + HIDDEN + content[start:end] + content[end:]
    place = end + len(HIDDEN) + 16
    return moved[:place] + struct.pack("<I", start + len(HIDDEN)) + moved[place + 4 :]


def behind_stream():
    """Return a workbook of which one entry has bytes behind the end of its compressed content."""
    content = workbook(ROWS)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        last, start = archive.infolist()[-1], archive.start_dir
    longer = struct.pack("<I", last.compress_size + len(HIDDEN))
    local, listed = last.header_offset, content.rfind(b"PK\x01\x02")
    end = content.rfind(b"PK\x05\x06")
    parts = [content[: local + 18], longer, content[local + 22 : start], HIDDEN, content[start : listed + 20], longer]
    parts += [content[listed + 24 : end + 16], struct.pack("<I", start + len(HIDDEN)), content[end + 20 :]]
    return b"".join(parts)


def comment(archive):
    archive.comment = HIDDEN


def twice(archive):
    with pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("xl/sharedStrings.xml", archive.read("xl/sharedStrings.xml"))


def first_of_two():
    """Return a workbook with an entry of names, and a sound one of the same name that programs show."""
    texts = zipfile.ZipFile(io.BytesIO(workbook(ROWS))).read("xl/sharedStrings.xml")
    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(workbook(ROWS))) as old, zipfile.ZipFile(packed, "w") as new:
        new.writestr("xl/sharedStrings.xml", b"<sst>" + HIDDEN + b"</sst>")
        for entry in old.infolist():
            if entry.filename == "xl/sharedStrings.xml":
                with pytest.warns(UserWarning, match="Duplicate"):
                    new.writestr(entry.filename, texts)
            else:
                new.writestr(entry.filename, old.read(entry))
    return packed.getvalue()


JPEG = b"\xff\xd8\xff\xe0\x00\x10JFIF\x00" + bytes(40) + b"\xff\xd9"
THUMBNAIL = (
    '<Relationships><Relationship Id="r1" Target="xl/workbook.xml"/>'
    '<Relationship Id="r2" Target="docProps/thumbnail.jpeg"/></Relationships>'
)


def thumbnail(content):
    def add(archive):
        archive.writestr("docProps/thumbnail.jpeg", content)

    return edited(add, entries={"_rels/.rels": THUMBNAIL})


DIRTY = {
    "before": lambda: HIDDEN + workbook(ROWS),
    "behind": lambda: workbook(ROWS) + HIDDEN,
    "between": between_entries,
    "behind-stream": behind_stream,
    "comment": lambda: edited(comment),
    "extra-field-of-the-header": lambda: with_extra_field(local=True),
    "extra-field-of-the-list": lambda: with_extra_field(local=False),
    "thumbnail": lambda: thumbnail(HIDDEN),
    "thumbnail-behind-the-picture": lambda: thumbnail(JPEG + HIDDEN),
    "twice": lambda: edited(twice),
    "first-of-two": first_of_two,
    "unused-entry": lambda: workbook(ROWS, entries={"xl/worksheets/sheet9.xml": f"<names>{HIDDEN.decode()}</names>"}),
}


def test_the_workbook_without_anything_added_is_clean(tmp_path):
    scan = ind.scan(put(tmp_path, workbook(ROWS)), original=PATIENTS, schema=SCHEMA)
    assert (scan.verdict, scan.suspicions) == (ScanVerdict.NO_LEAK, ())


@pytest.mark.parametrize("what", DIRTY)
def test_names_in_bytes_that_no_program_shows_are_a_leak(what, tmp_path):
    """Without an original: that there are such bytes is enough."""
    scan = ind.scan(put(tmp_path, DIRTY[what]()))
    assert scan.verdict is ScanVerdict.LEAK
    assert "Lindqvist" not in str(scan.to_json())


@pytest.mark.parametrize("what", [what for what in DIRTY if what != "twice"])
def test_names_there_are_found_beside_the_original(what, tmp_path):
    scan = ind.scan(put(tmp_path, DIRTY[what]()), original=PATIENTS, schema=SCHEMA)
    assert "values-in-the-bytes" in {finding.check for finding in scan.leaks}


def test_fields_and_padding_that_programs_write_are_no_leak(tmp_path):
    times = struct.pack("<HHBI", 0x5455, 5, 1, 0)
    padding = struct.pack("<HHHH", 0xA220, 204, 0xA028, 200) + bytes(200)

    def add(archive):
        entry = zipfile.ZipInfo("docProps/app.xml")
        entry.extra = times + padding
        archive.writestr(entry, "<Properties/>")

    links = THUMBNAIL.replace("thumbnail.jpeg", "app.xml")
    assert ind.scan(put(tmp_path, edited(add, entries={"_rels/.rels": links}))).clean


def test_a_streamed_archive_has_no_strays(tmp_path):
    class Stream(io.BytesIO):
        def seekable(self):
            return False

    packed = Stream()
    with zipfile.ZipFile(io.BytesIO(workbook(ROWS))) as old, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.infolist():
            with new.open(entry.filename, "w", force_zip64=entry.filename.endswith("sheet1.xml")) as file:
                file.write(old.read(entry))
    assert ind.scan(put(tmp_path, packed.getvalue())).clean


@pytest.mark.parametrize(
    ("entries", "sentence"),
    [
        ({"docProps/thumbnail.jpeg": JPEG.decode("latin-1")}, "a picture of its first page"),
        ({"xl/drawings/drawing1.xml": "<a/>"}, "drawings or charts"),
        ({"xl/worksheets/_rels/sheet1.xml.rels": '<R><L TargetMode="External" Target="mailto:a@b.c"/></R>'}, "links"),
        ({"xl/theme/theme1.xml": "<a><!-- names --></a>"}, "comments in its XML"),
        ({"xl/names.dat": "x"}, "of no kind that workbooks have"),
        ({"docProps/custom.xml": "<a><property/></a>"}, "that a person added"),
    ],
)
def test_entries_that_may_name_people_are_suspicions(entries, sentence, tmp_path):
    targets = "".join(f'<Relationship Id="x{n}" Target="{name}"/>' for n, name in enumerate(entries))
    root = f'<Relationships><Relationship Id="r1" Target="xl/workbook.xml"/>{targets}</Relationships>'
    scan = ind.scan(put(tmp_path, workbook(ROWS, entries={**entries, "_rels/.rels": root})))
    assert any(sentence in finding.sentence for finding in scan.suspicions)


def test_headers_and_footers_of_printed_pages_are_suspicions(tmp_path):
    extra = "<headerFooter><oddHeader>&amp;LWard 7</oddHeader></headerFooter>"
    scan = ind.scan(put(tmp_path, workbook(ROWS, extra=extra)))
    assert any("headers or footers" in finding.sentence for finding in scan.suspicions)


def with_gap(path, **options):
    """Write a Parquet file with bytes between its last column and its footer."""
    pq.write_table(pa.table({"age": ["20-29", "30-39"] * 50}), path, store_schema=False, **options)
    content = path.read_bytes()
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    path.write_bytes(content[:footer] + HIDDEN + content[footer:])


@pytest.mark.parametrize("page_index", [False, True])
def test_bytes_before_the_footer_of_parquet_are_a_leak(page_index, tmp_path):
    path = tmp_path / "published.parquet"
    with_gap(path, write_page_index=page_index)
    assert "parquet-stray-bytes" in {finding.check for finding in ind.scan(path).leaks}
    pq.write_table(pa.table({"age": ["20-29", "30-39"] * 50}), path, write_page_index=page_index, row_group_size=30)
    assert ind.scan(path).clean


def test_files_of_other_writers_have_no_bytes_of_no_column(tmp_path):
    duckdb, polars = pytest.importorskip("duckdb"), pytest.importorskip("polars")
    path = tmp_path / "published.parquet"
    polars.DataFrame({"age": ["20-29", "30-39"] * 50, "n": [1, 2] * 50}).write_parquet(path)
    assert ind.scan(path).clean
    duckdb.sql(f"COPY (SELECT i % 9 AS n, 'x' || (i % 5) AS t FROM range(9000) r(i)) TO '{path}' (FORMAT parquet)")  # noqa: S608
    assert ind.scan(path).clean


def test_identifiers_are_leaks_without_a_policy(tmp_path):
    frame = generate_patients(300, seed=1).to_pandas()
    frame.to_csv(tmp_path / "patients.csv", index=False)
    scan = ind.scan(tmp_path / "patients.csv")
    (found,) = [finding for finding in scan.leaks if finding.check == "identifiers"]
    assert "'name'" in found.sentence
    assert "texts like names of people" in found.sentence or "points at a person" in found.sentence
    frame.drop(columns="name").to_csv(tmp_path / "better.csv", index=False)
    assert [each for each in ind.scan(tmp_path / "better.csv").leaks if each.check == "identifiers"] == []


def test_few_rows_with_names_are_leaks_too():
    assert not ind.scan(PATIENTS.slice(0, 2)).clean


def test_tables_that_cannot_be_inspected_are_scanned_all_the_same():
    assert ind.scan(pa.table({"age": pa.array([], pa.int64())})).clean
    assert ind.scan(pa.table({"age": pa.array([None] * 30, pa.int64()), "sex": ["f"] * 30})).clean
    twice = pa.table([pa.array(["x", "y"] * 20)] * 2, names=["a", "a"])
    assert ind.scan(twice).clean
    assert not ind.scan(pa.table([pa.array(NAMES)] * 2, names=["patient", "patient"])).clean


def test_a_column_without_a_role_is_judged_by_its_values():
    shown = pa.table({"disease": PATIENTS["disease"], "mail": [f"a{n % 20}@example.org" for n in range(40)]})
    scan = ind.scan(shown, schema=SCHEMA)
    assert {finding.place for finding in scan.leaks if finding.check == "identifiers"} >= {"column 'mail'"}


def test_a_longer_table_is_judged_by_a_sample(monkeypatch):
    monkeypatch.setattr(suggested, "MAX_ROWS_INSPECTED", 200)
    rng = np.random.default_rng(3)
    shown = pa.table({"code": [f"x{code:05d}" for code in rng.permutation(np.repeat(np.arange(4000), 5))]})
    assert ind.scan(shown).clean, "each value is in five rows, though it is unique in the sample"
    assert not ind.scan(shown.append_column("name", pa.array([f"Ida Berg {n}" for n in range(len(shown))]))).clean


def by_class(rng, *, shuffled, rows=600):
    """Return an original, and a release of it sorted by class; inside each class the order is kept or random."""
    original = pa.table(
        {
            "age": rng.integers(20, 80, rows),
            "sex": rng.choice(["f", "m"], rows),
            "disease": rng.choice(["flu", "cold", "cancer", "HIV", "asthma"], rows),
        }
    )
    frame = original.to_pandas()
    frame["age"] = [f"[{age // 10 * 10}-{age // 10 * 10 + 9}]" for age in frame["age"]]
    frame = frame.sample(frac=1, random_state=int(rng.integers(1 << 31))) if shuffled else frame
    return original, frame.sort_values(["age", "sex"], kind="stable").reset_index(drop=True)


ORDERED = ind.Schema(quasi=["age", "sex"], sensitive=["disease"])


@pytest.mark.parametrize("schema", [ORDERED, None])
def test_the_original_order_inside_sorted_classes_is_a_leak(schema, tmp_path):
    original, shown = by_class(np.random.default_rng(2), shuffled=False, rows=1200)
    shown.to_csv(tmp_path / "published.csv", index=False)
    assert ind.attack("unsorted-matching", shown, ORDERED, original=original).succeeds
    for published in (tmp_path / "published.csv", shown, shown.iloc[::-1].reset_index(drop=True)):
        scan = ind.scan(published, original=original, schema=schema)
        assert "row-order" in {finding.check for finding in scan.leaks}


def with_unknown_labels(shown, original):
    """Return a release, sorted by class, with a third quasi-identifier whose labels follow no hierarchy."""
    return shown.assign(area="region A"), original.append_column("area", pa.array(np.arange(len(original)) % 90))


def test_kept_order_is_found_although_the_labels_of_one_column_cannot_be_read():
    original, shown = by_class(np.random.default_rng(2), shuffled=False, rows=1200)
    shown, original = with_unknown_labels(shown, original)
    schema = ind.Schema(quasi=["age", "sex", "area"], sensitive=["disease"])
    for published in (shown, shown.iloc[::-1].reset_index(drop=True)):
        found = ind.scan(published, original=original, schema=schema)
        assert "row-order" in {finding.check for finding in found.leaks}


def test_shuffled_rows_with_labels_that_cannot_be_read_are_not_called_ordered():
    rng, alarms = np.random.default_rng(5), 0
    schema = ind.Schema(quasi=["age", "sex", "area"], sensitive=["disease"])
    for _ in range(20):
        original, shown = by_class(rng, shuffled=True, rows=300)
        shown, original = with_unknown_labels(shown, original)
        found = ind.scan(shown, original=original, schema=schema)
        alarms += "row-order" in {finding.check for finding in found.findings}
    assert alarms <= 1, "more have a probability of 0.02 % at the stated rate"


def test_kept_order_without_the_original_is_listed_as_not_checked():
    _, shown = by_class(np.random.default_rng(2), shuffled=False)
    found = ind.scan(shown, schema=ORDERED)
    assert found.clean
    assert "row-order" not in found.checked
    assert any("order" in str(each) or "stand" in str(each) for each in found.not_checked)


@pytest.mark.parametrize("columns", [["age"], ["age", "sex"], ["age", "sex", "disease"]])
def test_rows_in_the_order_of_the_original_are_a_leak(columns):
    original, _ = by_class(np.random.default_rng(2), shuffled=False)
    ages = [f"[{age // 10 * 10}-{age // 10 * 10 + 9}]" for age in original["age"].to_pylist()]
    kept = original.set_column(0, "age", pa.array(ages)).select(columns)
    schema = ind.Schema.from_roles({name: ORDERED.role(name) for name in columns})
    assert "row-order" in {each.check for each in ind.scan(kept, original=original, schema=schema).leaks}


def test_shuffled_classes_are_rarely_called_ordered():
    rng, alarms = np.random.default_rng(4), 0
    for number in range(60):
        original, shown = by_class(rng, shuffled=True, rows=300)
        scan = ind.scan(shown, original=original, schema=ORDERED if number % 2 else None)
        alarms += "row-order" in {finding.check for finding in scan.findings}
    assert alarms <= 1, "more have a probability of 0.2 % at the stated rate"
