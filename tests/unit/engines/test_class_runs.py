"""Finished parts on disk, merged to one order; and classes counted as a file lists them."""

import numpy as np
import pyarrow as pa
import pytest

from indistinct.engines import class_batches, class_runs
from indistinct.engines.class_batches import NotInOrderError, classes_in_order
from indistinct.engines.class_runs import ClassRuns
from indistinct.engines.groups import Groups
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
        return Groups(counted.select(list(columns)), counted["count_all"].to_numpy())


@pytest.mark.parametrize("size", [1, 7, 100, 5000])
@pytest.mark.parametrize("together", [1, 5, 1000])
def test_classes_are_counted_as_they_are_listed(parts, size, together, monkeypatch):
    monkeypatch.setattr(class_batches, "TOGETHER", together)
    part = parts[0]
    table = pa.table({name: np.repeat(part.shown[name].to_numpy(), part.sizes) for name in ("x", "y")})
    table = table.append_column("s", pa.array(np.random.default_rng(1).choice(["u", "v"], len(table))))
    request = Request(("x", "y"), (("s",),), published=True)
    batches = list(classes_in_order(Rows(table, size), request))
    sizes = np.concatenate([each.frequencies.counts for each in batches])
    assert sizes.tolist() == part.sizes.tolist()
    histograms = [each.frequencies.classes.histograms["s",] for each in batches]
    counts = [(run.counts.sum(), len(run.indptr) - 1) for run in histograms]
    assert sum(total for total, _ in counts) == len(table)
    assert sum(classes for _, classes in counts) == len(part)
    first = histograms[0]
    own = dict(zip(first.codes[: first.indptr[1]].tolist(), first.counts[: first.indptr[1]].tolist(), strict=True))
    wanted = table["s"].slice(0, int(part.sizes[0])).value_counts().to_pylist()
    assert sorted(own.values()) == sorted(each["counts"] for each in wanted)


@pytest.mark.parametrize("size", [1, 2, 10])
def test_classes_in_another_order_are_not_taken_for_whole(size):
    table = pa.table({"x": ["a", "a", "b", "a"]})
    with pytest.raises(NotInOrderError):
        list(classes_in_order(Rows(table, size), Request(("x",), published=True)))
