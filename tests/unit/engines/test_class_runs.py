"""Finished parts on disk, merged to one order; and classes judged as a file lists them."""

import operator
import pickle
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from indistinct.engines import class_batches, class_runs
from indistinct.engines.class_batches import judge_in_order
from indistinct.engines.class_runs import ClassRuns
from indistinct.engines.groups import ValueGroups
from indistinct.frequencies.count import Request
from indistinct.recoding.class_rows import class_words, gather_classes


@pytest.fixture
def parts():
    """Return three parts of random classes, some of which show the same."""
    rng = np.random.default_rng(4)
    made = []
    for part in range(3):
        shown = pa.table({"x": rng.integers(0, 60, 200).astype(str), "y": rng.choice(["a", "b", None], 200)})
        owners = np.concatenate([np.arange(200), rng.integers(0, 200, 300)])
        rows = pa.table({"id": np.arange(500) + 1000 * part})
        made.append(gather_classes(shown, owners, rows, ["x", "y", "id"]))
    return made


@pytest.mark.parametrize(("piece", "rows"), [(1, 1), (300, 70), (1 << 18, 10_000)])
def test_parts_are_merged_to_one_order(parts, piece, rows, monkeypatch):
    monkeypatch.setattr(class_runs, "PIECE", piece)
    runs = ClassRuns()
    for part in parts:
        runs.add(part)
    blocks = list(runs.merged(rows))
    runs.close()
    words = [word for block in blocks for word in class_words(block.shown).to_pylist()]
    assert words == sorted(set(words))
    assert set(words) == {word for part in parts for word in class_words(part.shown).to_pylist()}
    wanted = {}
    for several in (parts, blocks):
        found = {}
        for part in several:
            owners = np.repeat(np.arange(len(part)), part.sizes)
            names = class_words(part.shown).to_pylist()
            for owner, row in zip(owners.tolist(), part.rows["id"].to_pylist(), strict=True):
                found.setdefault(names[owner], set()).add(row)
        assert found == (wanted or found)
        wanted = found


def test_a_column_that_is_text_in_one_part_is_text_in_all():
    runs = ClassRuns()
    runs.add(gather_classes(pa.table({"age": [30]}), np.array([0]), pa.table({}), ["age"]))
    runs.add(gather_classes(pa.table({"age": ["[1-2]"]}), np.array([0, 0]), pa.table({}), ["age"]))
    (block,) = runs.merged(10)
    runs.close()
    assert block.shown["age"].to_pylist() == ["30", "[1-2]"]


class Rows:
    """A table that gives its rows some at a time."""

    def __init__(self, table, size):
        self.table, self.size = table, size

    def batches(self, columns):
        for first in range(0, len(self.table), self.size):
            yield self.table.select(list(columns)).slice(first, self.size)

    def groups(self, columns):
        counted = self.table.group_by(list(columns)).aggregate([([], "count_all")])
        return ValueGroups(counted.select(list(columns)), counted["count_all"].to_numpy())


def send(value):
    return pickle.loads(pickle.dumps(value))  # noqa: S301


class Stretches:
    """A table whose rows workers read, some stretch of them each, and whose answers come in any order."""

    def __init__(self, table, ends):
        self.table, self.ends = table, ends

    groups = Rows.groups

    def look_at_stretches(self, columns, look):
        answers = []
        for first, last in pairwise([0, *self.ends, len(self.table)]):
            rows = Rows(self.table.slice(first, last - first), 3)
            answers.append(send(send(look)(rows.batches(columns))))
        return answers[::-1]


def list_classes(counted):
    """Return the size of every class, and how often it has which values."""
    histogram = counted.frequencies.classes.histograms["s",]
    found = []
    for size, first, last in zip(
        counted.frequencies.counts.tolist(), histogram.indptr[:-1].tolist(), histogram.indptr[1:].tolist(), strict=True
    ):
        texts = [histogram.texts[code] for code in histogram.codes[first:last]]
        found.append((size, dict(zip(texts, histogram.counts[first:last].tolist(), strict=True))))
    return found


def in_order(found):
    return sorted(found, key=repr)


@pytest.fixture
def listed(parts):
    """Return a table that lists classes in order, and the size of each and how often it has which values."""
    part = parts[0]
    table = pa.table({name: np.repeat(part.shown[name].to_numpy(), part.sizes) for name in ("x", "y")})
    values = np.random.default_rng(1).choice(["u", "v"], len(table))
    ends = np.cumsum(part.sizes)
    wanted = [
        (last - first, {v: n for v in ("u", "v") if (n := int((values[first:last] == v).sum()))})
        for first, last in zip((ends - part.sizes).tolist(), ends.tolist(), strict=True)
    ]
    return table.append_column("s", pa.array(values)), wanted


REQUEST = Request(("x", "y"), (("s",),), published=True)


@pytest.mark.parametrize("size", [1, 7, 100, 5000])
@pytest.mark.parametrize("together", [1, 5, 1000])
def test_classes_are_judged_as_they_are_listed(listed, size, together, monkeypatch):
    monkeypatch.setattr(class_batches, "TOGETHER", together)
    table, wanted = listed
    assert in_order(judge_in_order(Rows(table, size), REQUEST, list_classes, operator.add)) == in_order(wanted)


@pytest.mark.parametrize("ends", [[], [1], [0, 0, 499], [100, 101, 102, 103, 104, 300], list(range(500))])
@pytest.mark.parametrize("together", [1, 40])
def test_stretches_share_the_classes_where_they_meet(listed, ends, together, monkeypatch):
    monkeypatch.setattr(class_batches, "TOGETHER", together)
    table, wanted = listed
    assert in_order(judge_in_order(Stretches(table, ends), REQUEST, list_classes, operator.add)) == in_order(wanted)


def test_a_worker_tells_no_more_than_the_classes_at_the_ends_of_its_stretch(listed):
    table, _ = listed
    told = []

    class Telling(Stretches):
        def look_at_stretches(self, columns, look):
            told.append(len(pickle.dumps(look(Rows(self.table, 100).batches(columns)))))
            return super().look_at_stretches(columns, look)

    judge_in_order(Telling(table, []), REQUEST, len_of, operator.add)
    judge_in_order(Telling(table.slice(0, 60), []), REQUEST, len_of, operator.add)
    assert abs(told[0] - told[1]) < 200


def len_of(counted):
    return len(counted.frequencies)


@pytest.mark.parametrize("size", [1, 2, 10])
def test_classes_in_another_order_are_not_taken_for_whole(size):
    table, request = pa.table({"x": ["a", "a", "b", "a"]}), Request(("x",), published=True)
    assert judge_in_order(Rows(table, size), request, len_of, operator.add) is None


@pytest.mark.parametrize(("rows", "ends"), [("abcb", [2]), ("abab", [2]), ("acbd", [2]), ("abca", [2])])
def test_stretches_that_reach_into_each_other_are_not_taken_for_whole(rows, ends):
    table, request = pa.table({"x": list(rows)}), Request(("x",), published=True)
    assert judge_in_order(Stretches(table, ends), request, len_of, operator.add) is None


@pytest.mark.parametrize(("rows", "ends", "classes"), [("ccdaab", [3], 4), ("abca", [1, 2, 3], 3), ("aaba", [3], 2)])
def test_stretches_may_come_in_any_order(rows, ends, classes):
    """Where no stretch reaches into another, all rows of a class are known where it is judged."""
    table, request = pa.table({"x": list(rows)}), Request(("x",), published=True)
    assert judge_in_order(Stretches(table, ends), request, len_of, operator.add) == classes
