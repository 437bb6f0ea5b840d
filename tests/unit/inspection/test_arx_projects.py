"""Projects of ARX: what becomes of roles, hierarchies, models and limits, and of archives that mean harm."""

import stat
import zipfile

import pytest

import indistinct as ind
from indistinct.errors import InputError, OutputError
from indistinct.inspection.arx_project import read_arx_project
from indistinct.inspection.taking_over import take_over
from indistinct.job.policy import read_policy
from indistinct.schema import Role
from references.arx_projects import JAVA, arx_project, clinic_project, clinic_rows, column, configuration

ROWS = [["zip", "disease"], *([f"0{4100 + n % 3}", "flu" if n % 2 else "HIV"] for n in range(12))]
TWO = [column("zip"), column("disease", "sensitive")]


def taken_over(project, **more):
    taken = take_over(project, project.with_name("job.toml"), **more)
    return taken, read_policy(taken.policy)


def models_of(tmp_path, *criteria):
    project = arx_project(tmp_path / "p.deid", ROWS, TWO, config=configuration(criteria))
    return read_arx_project(project)


def test_roles_models_limits_and_weights_are_those_of_the_project(tmp_path):
    taken, policy = taken_over(clinic_project(tmp_path / "clinic.deid"))
    assert policy.schema.quasi == ("age", "zip")
    assert policy.schema.identifiers == ("name", "born")
    assert policy.schema.role("disease") is Role.SENSITIVE
    assert policy.schema.role("note") is Role.INSENSITIVE
    assert policy.models == (ind.KAnonymity(k=5), ind.DistinctLDiversity("disease", l=2))
    assert policy.suppression.amount == 0.05
    assert policy.levels.of("age", 2) == (1, 2)
    assert policy.importance.of("zip") == 2
    assert policy.importance.of("age") == 1
    assert taken.lost == ("the utility measure, Loss: `optimal:metric=loss` searches as ARX does, auto tries several",)


def test_the_policy_runs_and_publishes_labels_of_the_hierarchies(tmp_path):
    taken, _ = taken_over(clinic_project(tmp_path / "clinic.deid"))
    release = ind.run(taken.policy)
    assert release.certificate.achieved["k"] >= 5
    assert set(release.table["zip"].to_pylist()) <= {*(f"0{4100 + n}" for n in range(6)), "041**", "*"}
    assert not {str(age) for age in range(20, 70)} & set(map(str, release.table["age"].to_pylist()))


def test_hierarchies_are_written_as_arx_has_them_and_the_table_is_private(tmp_path):
    taken, policy = taken_over(clinic_project(tmp_path / "clinic.deid"))
    assert list(taken.hierarchies) == ["age", "zip"]
    assert taken.hierarchies["zip"].read_text().splitlines()[0] == "04100;041**;*"
    assert policy.hierarchies["zip"].rows[0] == ("04100", "041**", "*")
    assert stat.S_IMODE(taken.data.stat().st_mode) == 0o600
    assert ind.open(taken.data, delimiter=";").rows == 60


@pytest.mark.parametrize(
    ("criterion", "model"),
    [
        ("7-anonymity", ind.KAnonymity(k=7)),
        ("distinct-3-diversity for attribute 'disease'", ind.DistinctLDiversity("disease", l=3)),
        ("entropy-1.5-diversity for attribute 'disease'", ind.EntropyLDiversity("disease", l=1.5)),
        ("shannon-entropy-2.0-diversity for attribute 'disease'", ind.EntropyLDiversity("disease", l=2.0)),
        (
            "grassberger-entropy-2.0-diversity for attribute 'disease'",
            ind.EntropyLDiversity("disease", l=2.0, estimator="grassberger"),
        ),
        ("recursive-(4.0,2)-diversity for attribute 'disease'", ind.RecursiveLDiversity("disease", c=4.0, l=2)),
        ("0.2-closeness with equal distance for attribute 'disease'", ind.TCloseness("disease", t=0.2)),
        (
            "0.2-closeness with ordered distance for attribute 'disease'",
            ind.TCloseness("disease", t=0.2, distance="ordered"),
        ),
        ("0.2-closeness with equal ground-distance for attribute 'disease'", ind.TCloseness("disease", t=0.2)),
        (
            "0.2-closeness with hierarchical ground-distance for attribute 'disease'",
            ind.TCloseness("disease", t=0.2, distance="hierarchical"),
        ),
        ("1.0-disclosure privacy for attribute 'disease'", ind.DeltaDisclosure("disease", delta=1.0)),
        ("basic-2.0-likeness for attribute 'disease'", ind.BasicBetaLikeness("disease", beta=2.0)),
        ("enhanced-2.0-likeness for attribute 'disease'", ind.EnhancedBetaLikeness("disease", beta=2.0)),
        ("(0.05)-avg-reidentification-risk", ind.AverageRisk(threshold=0.05)),
        ("(<0.05)-avg-reidentification-risk", ind.AverageRisk(threshold=0.05)),
        ("(0.01)-sample-uniqueness", ind.SampleUniqueness(share=0.01)),
        ("(<0.01)-sample-uniques", ind.SampleUniqueness(share=0.01)),
    ],
)
def test_models_are_read_from_what_arx_writes(tmp_path, criterion, model):
    assert models_of(tmp_path, criterion).models == (model,)


@pytest.mark.parametrize(
    "criterion",
    [
        "(2.0,1.0E-6)-differential privacy",
        "(0.05, 0.2, 0.1)-avg-reidentification-risk",
        "(0.01)-population-uniqueness (dankar)",
        "profitability",
        "0-anonymity",
        "9999999999999999999999-closeness with equal distance for attribute 'disease'",
        "distinct-3-diversity for attribute 'zip'",
    ],
)
def test_a_model_that_is_not_taken_over_is_named(tmp_path, criterion):
    project = models_of(tmp_path, "5-anonymity", criterion)
    assert project.models == (ind.KAnonymity(k=5),)
    assert any(criterion in each for each in project.lost)


@pytest.mark.parametrize("criterion", ["Inclusion", "(0.1,0.3)-presence", "5-map"])
def test_a_subset_that_only_java_objects_name_is_said_with_its_consequence(tmp_path, criterion):
    lost = models_of(tmp_path, "5-anonymity", criterion).lost
    assert any(criterion in each and "publishes all rows" in each for each in lost)


def test_an_archive_as_arx_writes_it_is_read_with_all_its_entries(tmp_path):
    """Indented XML without a declaration, letters as character references, and the results of an anonymization."""
    definition = (
        "<definition>\n\t<assigment>\n\t\t<name>Gr&#246;&#223;e &amp; Ort</name>\n"
        "\t\t<type>QUASI_IDENTIFYING_ATTRIBUTE</type>\n\t\t<datatype>String</datatype>\n"
        "\t\t<ref>hierarchies/Gr&#246;&#223;e &amp; Ort.csv</ref>\n\t\t<min>All</min>\n\t\t<max>1</max>\n"
        "\t</assigment>\n"
        "\t<assigment>\n\t\t<name>disease</name>\n\t\t<type>SENSITIVE_ATTRIBUTE</type>\n"
        "\t\t<datatype>String</datatype>\n\t</assigment>\n</definition>\n"
    )
    rows = [["Größe & Ort", "disease"], *ROWS[1:]]
    made = dict.fromkeys(("data/output.dat", "lattice.dat", "infoloss.dat", "attributes.dat", "filter.dat"), JAVA)
    made |= {"lattice.xml": "<lattice>\n</lattice>", "output/definition.xml": definition, "output/config.dat": JAVA}
    made |= {"input/definition.xml": definition}
    levels = {"Größe & Ort": [[f"0{4100 + n}", "041**", "*"] for n in range(3)]}
    found = read_arx_project(arx_project(tmp_path / "p.deid", rows, [], hierarchies=levels, entries=made))
    assert [(each.name, each.role) for each in found.columns] == [
        ("Größe & Ort", Role.QUASI),
        ("disease", Role.SENSITIVE),
    ]
    assert found.columns[0].hierarchy == "input/hierarchies/Größe & Ort.csv"
    assert found.columns[0].bounds == (0, 1)
    assert "the result that ARX computed: it is searched again" in found.lost


def test_without_a_model_a_careful_k_is_proposed_and_said(tmp_path):
    project = arx_project(tmp_path / "p.deid", ROWS, TWO, config=configuration([]))
    taken, policy = taken_over(project)
    assert policy.models == (ind.KAnonymity(k=12),)
    assert taken.lost[0] == "no model was taken over: the k of the policy is a proposal"


def test_a_research_subset_is_published_and_the_whole_table_is_its_population(tmp_path):
    project = clinic_project(
        tmp_path / "clinic.deid",
        entries={"data/input_subset.csv": "\n".join(";".join(map(str, row)) for row in clinic_rows(20))},
    )
    taken, policy = taken_over(project)
    assert ind.open(taken.data, delimiter=";").rows == 20
    assert ind.open(taken.population, delimiter=";").rows == 60
    assert policy.locate(policy.input.population) == taken.population


def test_a_column_without_a_known_role_or_outside_the_definition_is_dropped(tmp_path):
    rows = [["zip", "disease", "insurance"], *([*row, f"A{n}"] for n, row in enumerate(ROWS[1:]))]
    project = arx_project(tmp_path / "p.deid", rows, [column("zip", "UNKNOWN"), column("disease", "sensitive")])
    taken, policy = taken_over(project)
    assert policy.schema.identifiers == ("zip", "insurance")
    assert sum("identifier, and dropped" in each for each in taken.lost) == 2


def test_a_hierarchy_with_several_values_at_its_top_gets_one(tmp_path):
    project = arx_project(
        tmp_path / "p.deid",
        ROWS,
        [column("zip", ref="hierarchies/zip.csv"), TWO[1]],
        hierarchies={"zip": [["04100", "A"], ["04101", "A"], ["04102", "B"]]},
    )
    taken, policy = taken_over(project)
    assert policy.hierarchies["zip"].rows[2] == ("04102", "B", "*")
    assert "column 'zip': its hierarchy ended in 2 values; a level * was added" in taken.lost


def test_a_hierarchy_that_does_not_nest_is_left_out_and_said(tmp_path):
    broken = [["04100", "A", "x", "*"], ["04101", "A", "y", "*"], ["04102", "B", "y", "*"]]
    project = arx_project(
        tmp_path / "p.deid", ROWS, [column("zip", ref="hierarchies/zip.csv"), TWO[1]], hierarchies={"zip": broken}
    )
    taken, policy = taken_over(project)
    assert "zip" not in policy.hierarchies
    assert any("column 'zip': its hierarchy, levels do not nest" in each for each in taken.lost)


def test_values_alone_are_no_hierarchy(tmp_path):
    project = arx_project(
        tmp_path / "p.deid",
        ROWS,
        [column("zip", ref="hierarchies/zip.csv"), TWO[1]],
        hierarchies={"zip": [["04100"], ["04101"], ["04102"]]},
    )
    taken, policy = taken_over(project)
    assert taken.hierarchies == {}
    assert policy.hierarchies == {}


def test_dates_with_a_hierarchy_are_texts_and_others_are_read_by_their_format(tmp_path):
    days = ["01.02.2020", "03.02.2020", "13.12.2021"]
    rows = [["seen", "left", "disease"], *([days[n % 3], days[n % 3], "flu"] for n in range(9))]
    project = arx_project(
        tmp_path / "p.deid",
        rows,
        [
            column("seen", kind="Date/Time", format="dd.MM.yyyy", ref="hierarchies/seen.csv"),
            column("left", kind="Date/Time", format="dd.MM.yyyy"),
            column("disease", "sensitive"),
        ],
        hierarchies={"seen": [[day, day[-4:], "*"] for day in days]},
        config=configuration(["3-anonymity"]),
    )
    taken, policy = taken_over(project)
    assert "seen" in policy.input.reading.text
    assert policy.input.reading.dates_in["left"] == "%d.%m.%Y"
    assert ind.run(taken.policy).certificate.achieved["k"] >= 3


def test_roles_that_the_values_put_in_doubt_are_said(tmp_path):
    project = clinic_project(
        tmp_path / "p.deid",
        columns=[
            column("name", "insensitive"),
            *(column(each, "identifier") for each in ("born", "age", "note")),
            column("zip"),
            column("disease", "sensitive"),
        ],
        hierarchies={},
    )
    taken, _ = taken_over(project)
    assert any("'name' is insensitive in ARX" in each for each in taken.lost)


# Archives that are damaged or mean harm


def refused(path, **more):
    with pytest.raises(InputError) as caught:
        read_arx_project(path, **more)
    return str(caught.value)


def test_a_file_that_is_no_archive_is_refused(tmp_path):
    path = tmp_path / "p.deid"
    path.write_bytes(b"PK\x03\x04 this is no archive")
    assert "cannot be read as a project of ARX" in refused(path)
    assert "there is no file" in refused(tmp_path / "none.deid")
    assert "cannot be read" in refused(tmp_path)


def test_an_archive_without_data_or_definition_is_refused(tmp_path):
    for entry in ("data/input.csv", "input/definition.xml"):
        path = clinic_project(tmp_path / "p.deid", entries={entry: None})
        assert f"has no {entry}" in refused(path)


def test_a_truncated_archive_is_refused(tmp_path):
    path = clinic_project(tmp_path / "p.deid")
    path.write_bytes(path.read_bytes()[:-40])
    assert "copied whole" in refused(path)


def test_an_entry_whose_bytes_were_changed_is_refused(tmp_path):
    path = arx_project(tmp_path / "p.deid", ROWS, TWO)
    with zipfile.ZipFile(path) as archive:
        start = archive.getinfo("input/definition.xml").header_offset
    content = bytearray(path.read_bytes())
    content[start + 60] ^= 0xFF
    path.write_bytes(content)
    assert "cannot be read" in refused(path)


def test_damage_of_another_compression_is_refused(tmp_path):
    path = arx_project(tmp_path / "p.deid", ROWS, TWO)
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        for name, text in entries.items():
            archive.writestr(name, text)
    content = bytearray(path.read_bytes())
    for entry in archive.infolist():
        start = entry.header_offset + 30 + len(entry.filename) + 9
        content[start : start + 4] = b"\xff" * 4
    path.write_bytes(content)
    assert "cannot be read" in refused(path)


def test_an_encrypted_archive_is_refused(tmp_path):
    path = clinic_project(tmp_path / "p.deid")
    content = bytearray(path.read_bytes())
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(mark) + offset] |= 1
    path.write_bytes(content)
    assert "is encrypted" in refused(path)


def test_entities_are_never_expanded(tmp_path):
    bomb = '<!DOCTYPE a [<!ENTITY b "xxxxxxxxxx"><!ENTITY c "&b;&b;&b;">]><definition><name>&c;</name></definition>'
    assert "document type" in refused(clinic_project(tmp_path / "p.deid", entries={"input/definition.xml": bomb}))
    wide = bomb.encode("utf-16")
    assert "document type" in refused(clinic_project(tmp_path / "p.deid", entries={"input/config.xml": wide}))


def test_broken_and_deep_xml_is_refused(tmp_path):
    for text in ("<definition><assigment>", "", "<a>" * 100_000, b"\xff\xfe<"):
        assert "cannot be read as XML" in refused(
            clinic_project(tmp_path / "p.deid", entries={"input/definition.xml": text})
        )


def test_an_archive_that_inflates_without_end_is_refused(tmp_path):
    path = clinic_project(tmp_path / "p.deid", entries={"data/input.csv": b"a" * (3 << 20)})
    assert path.stat().st_size < 1 << 20
    assert "decompresses to more than 2 MB" in refused(path, most=2 << 20)
    large = clinic_project(tmp_path / "p.deid", entries={"input/definition.xml": b" " * (17 << 20)})
    assert "larger than 16 MB" in refused(large)


def test_an_archive_that_understates_its_sizes_gives_no_more_than_them(tmp_path):
    path = clinic_project(tmp_path / "p.deid", entries={"input/definition.xml": b" " * (1 << 20)})
    content = bytearray(path.read_bytes())
    place = content.rindex(b"input/definition.xml") - 46
    content[place + 24 : place + 28] = (100).to_bytes(4, "little")
    path.write_bytes(content)
    assert "cannot be read" in refused(path)


def test_two_entries_of_one_name_are_refused(tmp_path):
    path = clinic_project(tmp_path / "p.deid")
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("input/definition.xml", "<definition/>")
    assert "several entries of one name" in refused(path)


def test_names_of_columns_and_entries_never_become_paths(tmp_path):
    """A column called like a path gets a file of its own in the folder of the policy, and nothing else is written."""
    name = "../../../escaped"
    home = tmp_path / "a" / "b" / "c"
    home.mkdir(parents=True)
    rows = [[name, "disease"], *ROWS[1:]]
    values = [["04100", "A", "*"], ["04101", "A", "*"], ["04102", "B", "*"]]
    project = arx_project(
        home / "p.deid",
        rows,
        [column(name, ref=f"hierarchies/{name}.csv"), TWO[1]],
        hierarchies={name: values},
        entries={"../../../../evil.csv": "x", "/etc/evil": "x"},
    )
    taken, policy = taken_over(project)
    assert policy.hierarchies[name].rows[0] == ("04100", "A", "*")
    assert {each.resolve().parent for each in taken.hierarchies.values()} == {home / "job-hierarchies"}
    written = {each.relative_to(tmp_path) for each in tmp_path.rglob("*") if each.is_file()}
    assert {each.parts[:3] for each in written} == {("a", "b", "c")}


def test_a_reference_out_of_the_input_finds_no_other_file(tmp_path):
    (tmp_path / "secret.csv").write_text("a;b\n")
    project = arx_project(tmp_path / "p.deid", ROWS, [column("zip", ref="../../secret.csv"), TWO[1]], hierarchies={})
    taken, _ = taken_over(project)
    assert taken.hierarchies == {}
    assert "column 'zip': its hierarchy is not in the archive" in taken.lost


def test_a_file_where_the_folder_of_hierarchies_would_be_is_refused(tmp_path):
    project = clinic_project(tmp_path / "clinic.deid")
    (tmp_path / "job-hierarchies").write_text("mine")
    with pytest.raises(OutputError, match="cannot be a folder"):
        taken_over(project, overwrite=True)
    assert (tmp_path / "job-hierarchies").read_text() == "mine"


def test_files_that_exist_stay_unless_overwriting_is_allowed(tmp_path):
    project = clinic_project(tmp_path / "clinic.deid")
    (tmp_path / "job-data.csv").write_text("mine")
    with pytest.raises(OutputError):
        taken_over(project)
    assert (tmp_path / "job-data.csv").read_text() == "mine"
    taken, _ = taken_over(project, overwrite=True)
    assert taken.data.read_text().startswith("name;born")
