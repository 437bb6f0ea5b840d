"""The step `hierarchies`: trees edited as rows, previews that equal the taxonomy, files that come back as they went."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indistinct import Hierarchy, KAnonymity, Mondrian, Optimal, Schema, TCloseness, Transformation
from indistinct.errors import HierarchyError, ParameterError
from indistinct.hierarchy import KINDS, hierarchy_from_json
from indistinct.job.policy import Policy, policy_from_toml, policy_to_toml
from indistinct.job.policy.value import Input
from indistinct.tables.domain import Domain
from indistinct.web.steps.hierarchies.declarations import (
    AS_TREES,
    builder_of,
    builders_for,
    columns_with_hierarchies,
    cuts_of,
    describe_hierarchy,
    parse_numbers,
    remark,
    spell_numbers,
    whole_number_of,
)
from indistinct.web.steps.hierarchies.editor import find_groups, page_of
from indistinct.web.steps.hierarchies.fields import with_unit
from indistinct.web.tasks import hierarchies as tasks
from indistinct.web.tasks.hierarchies import (
    begin_hierarchy,
    complete_hierarchy,
    export_hierarchy,
    import_hierarchy,
    outline,
    preview,
    survey,
)
from indistinct.web.tree_edits import (
    Group,
    add_level,
    add_top,
    add_values,
    groups_of,
    levels_of,
    put,
    remove_group,
    remove_level,
    rename,
    rows_of_values,
    take_out,
    tree_of,
)
from indistinct.web.worker import Desk, TaskError

TABLE = """age,zip,city,day,wage,disease
21,43510,Oslo,2024-01-03,10.5,flu
22,43511,Bergen,2024-02-11,11.5,cold
38,43522,Malmo,2024-05-01,12.0,ulcer
40,51002,Lund,2023-12-24,99.0,flu
40,51002,Lund,,99.0,flu
"""
VALUES = ("Oslo", "Bergen", "Malmo", "Lund")
NORDIC = (("Oslo", "Norway", "*"), ("Bergen", "Norway", "*"), ("Malmo", "Sweden", "*"), ("Lund", "Sweden", "*"))


@pytest.fixture
def policy(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text(TABLE)
    schema = Schema(quasi=["age", "zip", "city", "day", "wage"], sensitive=["disease"])
    return Policy(Input(Path("people.csv")), schema, (KAnonymity(2),), base=tmp_path)


def having(policy, **hierarchies):
    return replace(policy, hierarchies=hierarchies)


def test_rare_values_are_joined_by_what_an_outline_offers(policy):
    rare = ["Oslo"] * 60 + ["Bergen"] * 60 + ["Malmo"] * 3 + ["Lund"] * 3
    policy.source.write_text("city,disease\n" + "".join(f"{city},flu\n" for city in rare))
    job = replace(policy, schema=Schema(quasi=["city"], sensitive=["disease"]))
    about = outline(Desk(), job, ["city"])["city"]
    assert about.rare == 2
    assert {row[0]: row[1] for row in about.joined.rows} == {
        "Oslo": "Oslo", "Bergen": "Bergen", "Malmo": "other", "Lund": "other"
    }  # fmt: skip
    few = replace(policy, schema=Schema(quasi=["city"], sensitive=["disease"]))
    policy.source.write_text("city,disease\n" + "".join(f"{city},flu\n" for city in rare[:120]))
    assert outline(Desk(), few, ["city"])["city"].joined is None


# Trees


def test_members_are_put_into_groups_one_level_after_the_other():
    rows = put(rows_of_values(VALUES), ["Oslo", "Bergen"], level=1, group="Norway")
    rows = put(rows, ["Malmo", "Lund"], level=1, group="Sweden")
    assert rows == NORDIC
    rows = put(add_level(rows), ["Norway"], level=2, group="west")
    assert [row[1:] for row in rows] == [("Norway", "west", "*")] * 2 + [("Sweden", "Sweden", "*")] * 2
    assert list(levels_of(rows)) == [1, 2]
    assert list(levels_of(rows, rooted=False)) == [1, 2, 3]


def test_who_joins_a_group_gets_its_parent():
    rows = put(add_level(NORDIC), ["Norway"], level=2, group="west")
    moved = put(rows, ["Malmo"], level=1, group="Norway")
    assert moved[2] == ("Malmo", "Norway", "west", "*")


def test_a_new_group_is_not_named_after_its_first_member_above():
    rows = put(add_level(rows_of_values(VALUES)), ["Oslo", "Lund"], level=1, group="ports")
    assert {row[1:] for row in rows if row[0] in ("Oslo", "Lund")} == {("ports", "ports", "*")}


def test_groups_are_renamed_joined_and_removed():
    assert groups_of(rename(NORDIC, "Norway", level=1, name="N"), 1)[0] == Group("N", ("Oslo", "Bergen"))
    assert len(groups_of(rename(NORDIC, "Norway", level=1, name="Sweden"), 1)) == 1
    removed = remove_group(NORDIC, "Norway", level=1)
    assert removed[:2] == (("Oslo", "Oslo", "*"), ("Bergen", "Bergen", "*"))
    assert [group.alone for group in groups_of(removed, 1)] == [True, True, False]
    assert take_out(NORDIC, ["Lund"], level=1)[3] == ("Lund", "Lund", "*")


def test_levels_tops_and_values_come_and_go():
    assert remove_level(add_level(NORDIC), 2) == NORDIC
    assert remove_level(NORDIC, 1)[0] == ("Oslo", "*")
    with pytest.raises(ParameterError, match="keeps one level"):
        remove_level(remove_level(NORDIC, 1), 1)
    open_top = tuple(row[:-1] for row in NORDIC)
    assert add_top(open_top) == NORDIC
    assert add_values(NORDIC, ["Turku", "Norway"])[4:] == (("Turku", "Turku", "*"), ("Norway", "Norway", "*"))
    assert add_values(open_top, ["Turku"], rooted=False)[4] == ("Turku", "Turku")


names = st.sampled_from(["a", "b", "c", "d", "x", "y"])
edits = st.one_of(
    st.tuples(st.just("put"), st.lists(names, min_size=1, max_size=3), st.integers(1, 3), names),
    st.tuples(st.just("rename"), names, st.integers(1, 3), names),
    st.tuples(st.just("remove"), names, st.integers(1, 3), names),
    st.tuples(st.just("add"), names, st.integers(1, 3), names),
    st.tuples(st.just("drop"), names, st.integers(1, 3), names),
)


@settings(max_examples=60)
@given(st.lists(edits, max_size=7))
def test_every_edit_leaves_a_tree_that_a_policy_can_hold(made):
    """Whatever is done, rows stay nested below one top, values stay, and the policy's form gives the same back."""
    rows = rows_of_values("abcd")
    for kind, what, level, name in made:
        if kind == "add" and len(rows[0]) < 5:
            rows = add_level(rows)
        if level not in levels_of(rows):
            continue
        if kind == "put":
            rows = put(rows, what, level=level, group=name)
        elif kind == "rename":
            rows = rename(rows, what, level=level, name=name)
        elif kind == "remove":
            rows = remove_group(rows, what, level=level)
        elif kind == "drop":
            rows = remove_level(rows, level)
        tree = tree_of(rows)
        assert set(tree.rows) == set(rows)
        assert {row[0] for row in rows} == set("abcd")
        assert hierarchy_from_json(tree.to_json(), base=Path()) == tree


def test_members_are_sought_and_paged():
    groups = groups_of(NORDIC, 1)
    assert find_groups(groups, "SWE") == [groups[1]]
    assert find_groups(groups, "") == list(groups)
    assert find_groups(groups, "lu") == [Group("Sweden", ("Lund",))]
    pages = [page_of(groups, first, most=3) for first in (0, 3)]
    assert [each.members for page in pages for each in page] == [("Oslo", "Bergen"), ("Malmo",), ("Lund",)]


# Fields


def test_what_is_typed_becomes_what_a_policy_declares():
    assert parse_numbers(spell_numbers([5, 2.5, -3])) == [5, 2.5, -3]
    assert cuts_of("18 40 65\n\n40") == [[18, 40, 65], [40]]
    assert whole_number_of(" ") is None
    assert with_unit(Hierarchy.dates(["month", "year"]), "month", False) == Hierarchy.dates(["year"])


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (lambda: parse_numbers("5, ten"), "entry 2 is not a number"),
        (lambda: parse_numbers(" "), "one number at least"),
        (lambda: cuts_of("18\n40, x"), "level 2: entry 2"),
        (lambda: cuts_of(""), "one cut point"),
        (lambda: whole_number_of("2.5"), "whole number"),
        (lambda: with_unit(Hierarchy.dates(["month"]), "month", False), "one period"),
    ],
)
def test_what_cannot_be_read_is_told_by_its_place(wrong, told):
    with pytest.raises(TaskError, match=told):
        wrong()


def test_every_declaration_has_a_builder_and_words():
    every = [
        None,
        Hierarchy.intervals([5, 10], origin=1),
        Hierarchy.intervals(cuts=[[1, 2], [2]]),
        Hierarchy.dates(),
        Hierarchy.masking(),
        tree_of(NORDIC),
        Hierarchy.order(["low", "high"]),
        Hierarchy.suppression(),
    ]
    assert [builder_of(each) for each in every] == ["none", *(key for key in KINDS if key not in AS_TREES)]
    assert len({describe_hierarchy(each) for each in every}) == len(every)
    assert "intervals" not in builders_for("text", "none")
    assert "intervals" in builders_for("text", "intervals")


def test_columns_are_listed_for_what_a_hierarchy_is_good_for(policy):
    assert "disease" not in columns_with_hierarchies(policy)
    closeness = TCloseness("disease", t=0.2, distance="hierarchical")
    assert "t-closeness" in columns_with_hierarchies(replace(policy, models=(closeness,)))["disease"]
    levelled = replace(policy, transformations={"disease": Transformation(level=1)})
    assert columns_with_hierarchies(levelled)["disease"] == "published on level 1"


def test_bands_that_are_not_published_are_told():
    bands, tree = Hierarchy.intervals([5]), tree_of(NORDIC)
    assert "does not publish" in remark(Mondrian(), bands, kind="number", quasi=True)
    assert "nothing needs to be done" in remark(Mondrian(), None, kind="number", quasi=True)
    assert remark(Optimal(), bands, kind="number", quasi=True) == ""
    assert remark(Mondrian(), tree, kind="text", quasi=True) == ""
    assert "unmodified, or not at all" in remark(Optimal(), None, kind="text", quasi=True)
    assert remark(Mondrian(), bands, kind="number", quasi=False) == ""


# Tasks


@pytest.mark.parametrize(
    ("column", "hierarchy"),
    [
        ("age", Hierarchy.intervals([5, 10])),
        ("age", Hierarchy.intervals(cuts=[[30, 40], [40]])),
        ("zip", Hierarchy.masking()),
        ("city", tree_of(NORDIC)),
        ("day", Hierarchy.dates(["month", "year"])),
        ("disease", Hierarchy.order(["cold", "flu", "ulcer"])),
        ("city", Hierarchy.suppression()),
    ],
)
def test_a_preview_is_what_the_taxonomy_says(policy, column, hierarchy):
    desk, policy = Desk(), having(policy, **{column: hierarchy})
    fit, shown = survey(desk, policy, [column])[column], preview(desk, policy, column, hierarchy)
    values = desk.kept[next(key for key in desk.kept if key[0] == "column values")][0]
    taxonomy, texts = hierarchy.bind(values), values.texts()
    assert fit.message == ""
    assert fit.sizes == tuple(map(len, taxonomy.labels))
    assert len(shown.meanings) == taxonomy.height
    assert len(shown.values) == len(texts)
    for _, value, _, labels in shown.values:
        code = texts.index(value or None)
        wanted = [taxonomy.labels[level][taxonomy.ancestors[code, level]] for level in range(1, taxonomy.height + 1)]
        assert labels == tuple(label or "" for label in wanted)
    assert sum(count for _, _, count, _ in shown.values) == 5


def test_values_that_are_not_covered_are_shown_and_can_be_added(policy):
    desk, policy = Desk(), having(policy, city=tree_of(NORDIC[:2]))
    fit = survey(desk, policy, ["city"])["city"]
    assert (fit.uncovered, set(fit.strangers)) == (2, {"Malmo", "Lund"})
    assert fit.message
    assert not {"Malmo", "Lund"} & set(fit.message.split())
    labels = {value: labels for _, value, _, labels in preview(desk, policy, "city", policy.hierarchies["city"]).values}
    assert labels["Oslo"] == ("Norway", "*")
    assert labels["Lund"] == (None, None)
    whole = having(policy, city=complete_hierarchy(desk, policy, "city"))
    assert survey(desk, whole, ["city"])["city"].message == ""
    order = having(policy, disease=Hierarchy.order(["flu"]))
    assert complete_hierarchy(desk, order, "disease") == Hierarchy.order(["flu", "cold", "ulcer"])


def test_an_outline_takes_a_value_through_the_levels_now_and_as_suggested(policy):
    found = outline(Desk(), having(policy, city=tree_of(NORDIC), day=Hierarchy.dates(["year"])), ["city", "day", "age"])
    assert found["city"].now == ("Lund", "Sweden", "*")
    assert found["city"].advised == ("Lund", "*")
    assert found["day"].now[1] == found["day"].now[0][:4], "a value that is there, not a missing one"
    assert found["age"].now == ("40",)
    assert found["age"].advised == ("40", "40-41", "40-49", "*")
    empty = outline(Desk(), having(policy, city=tree_of(NORDIC[:2])), ["city"])["city"]
    assert empty.now == ("Lund",), "a value that is not covered has no label"
    assert empty.fit.uncovered == 2


def test_a_hierarchy_of_the_wrong_kind_is_told_without_a_preview(policy):
    desk, policy = Desk(), having(policy, city=Hierarchy.intervals([5]))
    assert "need numbers; column" in survey(desk, policy, ["city"])["city"].message
    assert preview(desk, policy, "city", Hierarchy.intervals([5])).meanings == ()


def test_every_kind_begins_with_something_that_fits(policy):
    desk = Desk()
    for column in policy.schema.published:
        kind = survey(desk, policy, [column])[column].kind
        for key in builders_for(kind, "none"):
            if key == "none" or (key == "dates" and kind == "text"):
                continue
            made = having(policy, **{column: begin_hierarchy(desk, policy, column, kind=key)})
            assert builder_of(made.hierarchies[column]) == key
            assert survey(desk, made, [column])[column].message == ""
    with pytest.raises(HierarchyError, match="not ISO dates"):
        begin_hierarchy(desk, policy, "city", kind="dates")


def test_a_tree_begins_with_the_levels_that_there_are(policy):
    desk = Desk()
    masked = having(policy, zip=Hierarchy.masking(levels=1))
    tree = begin_hierarchy(desk, masked, "zip", kind="tree")
    assert dict(row[:2] for row in tree.rows) == {
        "43510": "4351*",
        "43511": "4351*",
        "43522": "4352*",
        "51002": "5100*",
    }


def test_the_suggestion_is_the_library_s(policy):
    assert outline(Desk(), policy, ["age"])["age"].advice == Hierarchy.intervals([2, 10])
    assert outline(Desk(), policy, ["day"])["day"].advice == Hierarchy.dates()


@pytest.mark.parametrize("column", ["age", "zip", "city", "day"])
def test_what_is_exported_comes_back(policy, tmp_path, column):
    desk = Desk()
    made = {
        "age": Hierarchy.intervals([5, 10]),
        "zip": Hierarchy.masking(),
        "city": tree_of((("Oslo", 'a;"b"', "*"), *NORDIC[2:], ("Bergen", "Ber\ngen", "*"))),
        "day": Hierarchy.dates(),
    }
    policy = having(policy, **made)
    found = import_hierarchy(desk, policy, column, export_hierarchy(desk, policy, column, tmp_path / "out" / "h.csv"))
    assert found.notes == ()
    before, after = (preview(desk, policy, column, each) for each in (policy.hierarchies[column], found.hierarchy))
    assert before.values == after.values
    again = policy_from_toml(policy_to_toml(having(policy, **{column: found.hierarchy})), base=policy.base)
    assert again.hierarchies[column] == found.hierarchy


@pytest.mark.parametrize(
    ("lines", "notes"),
    [
        ([";".join(row) for row in NORDIC], 0),
        (["city;country;top", *(";".join(row) for row in NORDIC)], 1),
        ([",".join(row[:-1]) for row in NORDIC], 1),
        (["city;country", *(";".join(row[:-1]) for row in NORDIC)], 2),
    ],
)
def test_files_with_or_without_names_and_top_are_the_same_tree(policy, tmp_path, lines, notes):
    path = tmp_path / "cities.csv"
    path.write_text("\n".join(lines))
    found = import_hierarchy(Desk(), policy, "city", path)
    assert found.hierarchy == tree_of(NORDIC)
    assert len(found.notes) == notes


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (["Oslo;Norway;*", "Lund;Sweden"], "line 2 of the hierarchy"),
        (["Oslo;Norway;*", "Lund;Sweden;*", "Oslo;Sweden;*"], r"different coarser values.*\(lines 1, 3\)"),
        (["Oslo;Norway;n;*", "Lund;Sweden;n;*", "Bergen;Norway;w;*"], r"level 1 lie below several.*\(lines 1, 3\)"),
        (['Oslo;"Norway', "Lund;Sweden"], "quote"),
        ([""], "empty"),
    ],
)
def test_errors_of_a_file_name_lines_and_no_folder_and_no_value(policy, tmp_path, lines, told):
    path = tmp_path / "cities.csv"
    path.write_text("\n".join(lines))
    with pytest.raises(HierarchyError, match=told) as caught:
        import_hierarchy(Desk(), policy, "city", path)
    assert str(tmp_path) not in str(caught.value)
    assert not any(name in str(caught.value) for name in ("Oslo", "Norway", "Lund"))


def test_too_many_values_are_not_arranged_by_hand(policy, monkeypatch):
    monkeypatch.setattr("indistinct.web.tasks.hierarchies.MAX_WRITTEN", 3)
    with pytest.raises(HierarchyError, match="at most 3 can be arranged"):
        begin_hierarchy(Desk(), policy, "city", kind="tree")


def test_a_tree_binds_as_its_rows_say():
    import pyarrow as pa

    taxonomy = tree_of(NORDIC).bind(Domain("city", pa.array(sorted(VALUES))))
    assert taxonomy.labels[1] == ("Norway", "Sweden")


def test_values_of_many_columns_are_counted_once(tmp_path, monkeypatch):
    names = [f"c{place}" for place in range(100)]
    (tmp_path / "wide.csv").write_text(",".join(names) + "\n" + (",".join("12" * 50) + "\n") * 3)
    policy = Policy(Input(Path("wide.csv")), Schema(quasi=names), (), base=tmp_path)
    counted, count = [], tasks.encode_column
    monkeypatch.setattr(tasks, "encode_column", lambda name, *a, **b: counted.append(name) or count(name, *a, **b))
    desk = Desk()
    for _ in range(2):
        assert len(tasks.survey(desk, policy, names)) == 100
    assert counted == names
