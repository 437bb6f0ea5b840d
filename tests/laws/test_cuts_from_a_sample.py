"""Beyond memory, cuts that are weighed come from a sample: the release keeps its promise whatever the sample says."""

import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import indistinct as ind
from indistinct.algorithms.partition.by_sample import SampledTree, sound_nodes
from indistinct.engines.passes import Room
from indistinct.errors import InfeasibleError, InputError
from indistinct.frequencies.passes import LAST_KEY, KeySets, KeyTree, SampledRows, sample_rows
from indistinct.frequencies.value import Classes
from indistinct.models import KAnonymity
from indistinct.recoding.kinds import Cuts
from indistinct.testing.strategies import samples
from references.engine_runs import rows_of
from references.pass_runs import MODELS, by_passes, measurements

few = settings(deadline=None, max_examples=6)
quick = settings(deadline=None, max_examples=60)
FORMS = [
    "choose=loss",
    "choose=loss,trees=set",
    "choose=loss,extent=region",
    "choose=information-gain,target=disease",
    "choose=variance,target=age",
]


def release_of(table, schema, room, **options):
    with pytest.MonkeyPatch.context() as patch:
        by_passes(room, patch)
        try:
            return ind.anonymize(table, schema, engine="duckdb", seed=1, **options)
        except (InfeasibleError, InputError):
            assume(False)


def census(rows=3000, seed=3):
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, rows)
    return pa.table(
        {
            "age": age,
            "job": rng.choice(["clerk", "cook", "driver", "nurse", "teacher", "welder"], rows, p=[3 / 8, *[1 / 8] * 5]),
            "height": np.round(rng.normal(170, 10, rows), 3),
            "disease": np.where(rng.random(rows) < age / 100, "gout", rng.choice(["flu", "mumps"], rows)),
        }
    )


CENSUS = ind.Schema(quasi=["age", "job", "height"], sensitive=["disease"])


@pytest.mark.parametrize("form", FORMS[:4])
@few
@given(data=st.data())
def test_releases_keep_their_promise_for_tables_of_every_kind(form, data):
    sample = data.draw(samples(most_rows=40))
    assume(sample.table["disease"].null_count < sample.table.num_rows)
    room = Room(data.draw(st.integers(1, 12)), data.draw(st.sampled_from([0, 3, 100])), 100, 1000)
    model = data.draw(st.sampled_from(MODELS)).format(k=data.draw(st.integers(2, 5)))
    hierarchies = sample.hierarchies
    release = release_of(
        sample.table, sample.schema, room, model=model, algorithm=f"mondrian:{form}", hierarchies=hierarchies
    )
    assert release.certificate.holds
    assert release.table.num_rows == sample.table.num_rows
    checked = ind.verify(release.table, sample.schema, model, original=sample.table, hierarchies=hierarchies)
    assert checked.holds


@few
@given(table=measurements(), k=st.integers(2, 5), cells=st.integers(1, 60), extent=st.sampled_from(["range", "region"]))
def test_releases_keep_their_promise_for_measurements(table, k, cells, extent):
    schema = ind.Schema(quasi=table.column_names[:-1], sensitive=["disease"])
    form = f"mondrian:choose=loss,extent={extent}"
    release = release_of(table, schema, Room(cells, 10, 100, 1000), model=f"k-anonymity:k={k}", algorithm=form)
    assert ind.verify(release.table, schema, f"k-anonymity:k={k}", original=table).holds


@pytest.mark.parametrize("form", FORMS)
def test_a_sample_loses_about_as_much_as_the_whole_table(form):
    table = census()
    options = {"model": "k-anonymity:k=5", "algorithm": f"mondrian:{form}"}
    memory = ind.anonymize(table, CENSUS, engine="memory", **options)
    release = release_of(table, CENSUS, Room(700, 50, 100, 2000), **options)
    assert release.certificate.classes == pytest.approx(memory.certificate.classes, rel=0.05)
    loss = [ind.measure(each, ["gcp"])["gcp"] for each in (release, memory)]
    assert loss[0] == pytest.approx(loss[1], rel=0.15)


def test_a_workload_is_answered_about_as_well(tmp_path):
    table, path = census(), tmp_path / "queries.sql"
    path.write_text("SELECT COUNT(*) WHERE age BETWEEN 30 AND 44;\nSELECT COUNT(*) WHERE job = 'nurse' AND age > 60;\n")
    workload, options = ind.Workload.read(path), {"model": "k-anonymity:k=20"}
    sampled = release_of(table, CENSUS, Room(700, 50, 100, 2000), algorithm=ind.Mondrian(workload=workload), **options)
    plain = release_of(table, CENSUS, Room(700, 50, 100, 2000), algorithm="mondrian", **options)
    errors = [ind.workload_error(each, table, workload).relative for each in (sampled, plain)]
    assert errors[0] < errors[1] / 2


def test_the_release_does_not_depend_on_the_order_of_rows():
    table = census()
    mixed = table.take(pa.array(np.random.default_rng(1).permutation(table.num_rows)))
    first, second = (
        release_of(each, CENSUS, Room(300, 50, 100, 2000), model="k-anonymity:k=5", algorithm="mondrian:choose=loss")
        for each in (table, mixed)
    )
    assert rows_of(first.table) == rows_of(second.table)


def test_cuts_that_break_the_model_on_all_rows_are_taken_back():
    table, model = census(), "k-anonymity:k=50"
    release = release_of(table, CENSUS, Room(150, 50, 100, 2000), model=model, algorithm="mondrian:choose=loss")
    assert release.counters["taken-back"] > 0
    assert ind.verify(release.table, CENSUS, model, original=table).holds


def test_the_recoding_of_a_sample_is_kept_and_applied(tmp_path):
    table = census()
    options = {"model": "k-anonymity:k=5", "algorithm": "mondrian:choose=loss"}
    first = release_of(table, CENSUS, Room(300, 50, 100, 2000), **options)
    first.write_recoding(tmp_path / "recoding")
    again = ind.apply(tmp_path / "recoding", table, engine="memory")
    assert rows_of(again.table) == rows_of(first.table)


@pytest.mark.parametrize("form", [form for form in FORMS if "region" not in form])
def test_part_by_part_the_release_is_the_same(form, tmp_path):
    """Whether classes fit in memory decides how a release is made, never what it shows."""
    table, model, output = census(), "k-anonymity:k=5", tmp_path / "release.parquet"
    options = {"model": model, "algorithm": f"mondrian:{form}"}
    together = release_of(table, CENSUS, Room(300, 50, 100, 2000), **options)
    release_of(
        table, CENSUS, Room(300, 50, 100, 100), output=output, save_recoding=tmp_path / "recoding.json", **options
    )
    saved = (tmp_path / "recoding.json").read_text()
    assert '"kind": "by-part"' in saved
    assert rows_of(pq.read_table(output)) == rows_of(together.table)
    assert ind.verify(output, CENSUS, model, original=table).holds
    ind.apply(tmp_path / "recoding.json", table, engine="duckdb", output=tmp_path / "again.parquet")
    assert rows_of(pq.read_table(tmp_path / "again.parquet")) == rows_of(pq.read_table(output))


@pytest.mark.parametrize("form", [FORMS[0], FORMS[1], FORMS[3]])
@few
@given(data=st.data())
def test_part_by_part_releases_are_the_same_for_tables_of_every_kind(form, data, tmp_path_factory):
    sample = data.draw(samples(most_rows=40))
    assume(sample.table["disease"].null_count < sample.table.num_rows)
    room = Room(data.draw(st.integers(8, 12)), data.draw(st.sampled_from([0, 3, 100])), 100, 1000)
    model = data.draw(st.sampled_from(MODELS)).format(k=data.draw(st.integers(2, 5)))
    options = {"model": model, "algorithm": f"mondrian:{form}", "hierarchies": sample.hierarchies}
    together = release_of(sample.table, sample.schema, room, **options)
    folder = tmp_path_factory.mktemp("parts")
    places = {"output": folder / "release.parquet", "save_recoding": folder / "recoding.json"}
    release_of(sample.table, sample.schema, replace(room, classes=0), **places, **options)
    assert rows_of(pq.read_table(places["output"])) == rows_of(together.table)
    if "by-part" in places["save_recoding"].read_text():
        again = folder / "again.parquet"
        ind.apply(places["save_recoding"], sample.table, engine="duckdb", output=again)
        assert rows_of(pq.read_table(again)) == rows_of(together.table)


def test_part_by_part_a_name_in_no_set_is_suppressed_as_in_memory(tmp_path):
    """A name that the first table did not have is in no set of a cut, neither of an upper one nor inside a part."""
    form = "mondrian:choose=information-gain,target=disease"
    table, options = census(), {"model": "k-anonymity:k=5", "algorithm": form}
    together = release_of(table, CENSUS, Room(300, 50, 100, 2000), **options)
    places = {"output": tmp_path / "release.parquet", "save_recoding": tmp_path / "recoding.json"}
    release_of(table, CENSUS, Room(300, 50, 100, 100), **places, **options)
    assert json.loads(places["save_recoding"].read_text())["top"]["sets"] is not None
    jobs = table["job"].to_pylist()
    other = table.set_column(1, "job", pa.array(["pilot" if i % 50 == 0 else job for i, job in enumerate(jobs)]))
    wanted = ind.apply(together.recoding, other, suppression=1.0)
    again = tmp_path / "again.parquet"
    found = ind.apply(places["save_recoding"], other, suppression=1.0, engine="duckdb", output=again)
    assert rows_of(pq.read_table(again)) == rows_of(wanted.table)
    assert found.certificate.suppressed_rows == wanted.certificate.suppressed_rows >= 60


def test_a_set_does_not_hold_the_key_of_a_strange_value():
    sets = KeySets.of({0: np.array([1, 2]), 2: np.array([0])}, 3)
    keys = np.array([2, LAST_KEY, 0, LAST_KEY, 3], dtype=np.uint64)
    assert sets.hold(np.array([0, 0, 2, 2, 0]), keys).tolist() == [True, False, True, False, False]


@quick
@given(st.integers(0, 10_000), st.integers(1, 5))
def test_a_sample_is_that_of_all_batches_whatever_their_order(seed, batches):
    rng = np.random.default_rng(seed)
    keys, codes = rng.integers(0, 4, (60, 2)).astype(np.uint64), {("s",): rng.integers(0, 2, 60)}
    limit = 1 << 63
    whole = sample_rows(keys, codes, limit)
    parts = [
        sample_rows(keys[own], {("s",): codes[("s",)][own]}, limit)
        for own in np.array_split(rng.permutation(60), batches)
    ]
    together = SampledRows.merged(parts)
    assert np.array_equal(together.keys, whole.keys)
    assert np.array_equal(together.codes[("s",)], whole.codes[("s",)])
    assert np.array_equal(together.counts, whole.counts)
    rows = Counter(zip(*keys.T.tolist(), codes[("s",)].tolist(), strict=True))
    chosen = zip(*whole.keys.T.tolist(), whole.codes[("s",)].tolist(), whole.counts.tolist(), strict=True)
    assert all(rows[tuple(row)] == count for *row, count in chosen)


def test_a_sample_has_about_the_share_that_is_asked_for():
    keys = np.arange(40_000, dtype=np.uint64).reshape(-1, 2)
    assert len(sample_rows(keys, {}, (1 << 64) // 10).counts) == pytest.approx(2000, rel=0.1)
    assert len(sample_rows(keys, {}, (1 << 64) - 1).counts) == 20_000


@quick
@given(st.integers(0, 10_000))
def test_a_tree_with_sets_sends_keys_where_cuts_send_ranks(seed):
    rng = np.random.default_rng(seed)
    sets = [np.flatnonzero(rng.random(6) < 0.5).astype(np.int32) for _ in range(2)]
    assume(all(len(each) for each in sets))
    axis, left = np.array([0, 1, -1, -1, 0, -1, -1]), np.array([1, 3, 2, 0, 5, 1, 3])
    right = np.array([4, 2, -1, -1, 6, -1, -1])
    cuts = Cuts(
        axis,
        np.array([-1, 2, 0, 0, -2, 0, 0]),
        left,
        right,
        (np.array([0, len(sets[0]), len(sets[0]) + len(sets[1])]), np.concatenate(sets)),
    )
    tree = KeyTree(
        axis, np.array([0, 2, 0, 0, 0, 0, 0], dtype=np.uint64), left, right, KeySets.of({0: sets[0], 4: sets[1]}, 7)
    )
    ranks = rng.integers(0, 6, (50, 2))
    assert np.array_equal(tree.parts_of(ranks.astype(np.uint64)), cuts.locate(ranks.astype(np.uint32)))


@quick
@given(st.lists(st.integers(1, 9), min_size=8, max_size=8), st.integers(1, 12))
def test_what_is_taken_back_is_its_definition(sizes, k):
    """A tree of eight leaves in pairs: a node is a leaf if something below it broke the model with what is left."""
    assume(sum(sizes) >= k)
    axis = np.array([0] * 7 + [-1] * 8)
    left, right = np.arange(15) * 2 + 1, np.arange(15) * 2 + 2
    left[7:] = np.arange(8)
    tree = SampledTree(axis, np.zeros(15, dtype=np.uint64), left, right, {})
    classes = Classes(np.array(sizes))
    owners = sound_nodes(tree, np.arange(7, 15), classes, KAnonymity(k), counters=Counter())

    def leaves(node):
        """Return the leaves below a node, None if cutting it breaks the model."""
        if node >= 7:
            return [[node - 7]]
        children = [leaves(2 * node + 1), leaves(2 * node + 2)]
        parts = children[0] + children[1]
        sound = all(sum(sizes[leaf] for leaf in part) >= k for part in parts)
        return parts if sound else [sorted(leaf for part in parts for leaf in part)]

    expected = sorted(leaves(0))
    found = {}
    for leaf, owner in enumerate(owners.tolist()):
        found.setdefault(owner, []).append(leaf)
    assert sorted(found.values()) == expected
