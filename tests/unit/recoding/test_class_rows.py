"""Classes in the order of what they show, united where they show the same."""

import numpy as np
import pyarrow as pa
import pytest

from indistinct.recoding.class_rows import ClassRows, class_words, gather_classes, unite_classes


def words(*columns):
    return class_words(pa.table({f"c{index}": pa.array(cells) for index, cells in enumerate(columns)})).to_pylist()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("a\0b", "c"), ("a", "b\0c")),
        ((None, "a"), ("", "a")),
        (("\0\3", "a"), (None, "a")),
        (("a", "\0\1"), ("a\0", "\1")),
        (("a\0\1b", "c"), ("a", "b\0\1c")),
    ],
)
def test_different_classes_have_different_words(one, other):
    first, second = words(*zip(one, other, strict=True))
    assert first != second


def test_words_do_not_depend_on_how_a_column_is_stored():
    texts = ["3", "10", None]
    plain = words(pa.array([3, 10, None]), ["x", "y", "z"])
    coded = words(pa.array(texts).dictionary_encode(), ["x", "y", "z"])
    assert plain == coded == words(texts, ["x", "y", "z"])


def test_rows_go_with_their_class():
    shown = pa.table({"age": ["b", "a", "b"]})
    made = gather_classes(shown, np.array([0, 1, 2, 1, 0]), pa.table({"id": [0, 1, 2, 3, 4]}), ["age", "id"])
    assert made.shown["age"].to_pylist() == ["a", "b"]
    assert made.sizes.tolist() == [2, 3]
    assert made.rows["id"].to_pylist() == [1, 3, 0, 2, 4]


def test_classes_of_several_parts_are_one_if_they_show_the_same():
    first = ClassRows(pa.table({"age": ["a", "c"]}), np.array([1, 2]), pa.table({"id": [0, 1, 2]}), ("age", "id"))
    second = ClassRows(pa.table({"age": ["b", "c"]}), np.array([1, 1]), pa.table({"id": [3, 4]}), ("age", "id"))
    made = unite_classes([first, second])
    assert made.shown["age"].to_pylist() == ["a", "b", "c"]
    assert made.sizes.tolist() == [1, 1, 3]
    assert made.rows["id"].to_pylist() == [0, 3, 1, 2, 4]


def test_there_may_be_nothing_but_what_classes_show():
    made = gather_classes(pa.table({"age": ["b", "a"]}), np.array([0, 1, 1]), pa.table({}), ["age"])
    assert (made.shown["age"].to_pylist(), made.sizes.tolist()) == (["a", "b"], [2, 1])
