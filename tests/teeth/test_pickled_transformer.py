"""A fitted transformer is saved and shared: it must contain no value of the training data but published labels."""

import copy
import io
import pickle
import struct
from datetime import datetime, timedelta

import joblib
import numpy as np
import pandas as pd
import pytest

import indistinct as ind
from indistinct.sklearn import Anonymizer

ROWS = 400
ALGORITHMS = ("mondrian:extent=region", "mondrian", "optimal", "tds", "single-dimensional:extent=region")


def training_rows(rows=ROWS, *, missing=False):
    rng = np.random.default_rng(11)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    frame = pd.DataFrame(
        {
            "height": rng.normal(1e3, 50, rows),
            "account": rng.choice(10**9, rows, replace=False) + 10**8,
            "moment": [datetime(1980, 1, 1) + timedelta(seconds=int(at)) for at in rng.integers(0, 10**9, rows)],
            "name": ["".join(rng.choice(letters, 12)) for _ in range(rows)],
        }
    )
    if missing:
        frame = frame.mask(rng.random(frame.shape) < 0.05)
    return frame


def spellings(value):
    """Return the ways in which a value may be stored in bytes."""
    if isinstance(value, str):
        return [value.encode(), value.encode("utf-16-le"), value.encode("utf-16-be")]
    if isinstance(value, pd.Timestamp):
        days, micros = value.toordinal() - 719_163, round(value.timestamp() * 1e6)
        numbers = [struct.pack(f"{order}q", micros * scale) for order in "<>" for scale in (1, 1000)]
        texts = [value.isoformat(), str(value), value.strftime("%Y-%m-%d %H:%M:%S")]
        return [
            *numbers,
            *(struct.pack(f"{order}d", days + value.hour / 24) for order in "<>"),
            *map(str.encode, texts),
        ]
    found = [struct.pack(f"{order}d", value) for order in "<>"] + [repr(float(value)).encode()]
    if float(value).is_integer():
        whole = int(value)
        found += [struct.pack(f"{order}{width}", whole) for order in "<>" for width in "iIqQ"]
        found += [str(whole).encode(), pickle.dumps(whole, protocol=2)[2:-1]]
    else:
        found += [struct.pack(f"{order}f", value) for order in "<>"]
    return found


def contained(frame, content, *, named=""):
    """Return the values of a frame that bytes contain and that no published label names."""
    values = (value for name in frame for value in frame[name].dropna())
    return [
        value
        for value in values
        if any(each in content for each in spellings(value))
        and not any(text.decode(errors="ignore") in named for text in spellings(value) if text.isascii())
    ]


def labels_of(fitted):
    shown = [column.summary.published.outputs[0][1].to_pylist() for column in fitted.recoding_.columns]
    return "\n".join(str(label) for each in shown for label in each)


def saved(fitted):
    """Return a transformer as it is saved and copied."""
    file = io.BytesIO()
    joblib.dump(fitted, file)
    pickles = [pickle.dumps(fitted, protocol=protocol) for protocol in (2, 5)]
    return b"".join([file.getvalue(), *pickles, pickle.dumps(copy.deepcopy(fitted)), repr(vars(fitted)).encode()])


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("columns", [["height", "account"], ["moment", "height"], ["name", "height"], ["account"]])
def test_a_saved_transformer_contains_no_training_value(columns, algorithm, missing):
    frame = training_rows(missing=missing)[columns]
    hierarchies = {"name": ind.Hierarchy.masking(), "account": ind.Hierarchy.intervals([10**6, 10**7, 10**8])}
    given = {name: each for name, each in hierarchies.items() if name in columns}
    if algorithm.startswith("single") and "name" in given:
        del given["name"]  # its groups end between values of one label, which would have to be kept
    fitted = Anonymizer("k-anonymity:k=4", algorithm=algorithm, hierarchies=given).fit(frame)
    assert contained(frame, saved(fitted), named=labels_of(fitted)) == []
    again = pickle.loads(pickle.dumps(fitted))  # noqa: S301 (made right here)
    np.testing.assert_array_equal(again.transform(frame).astype(str), fitted.transform(frame).astype(str))


def test_the_search_finds_values_of_every_type_in_a_recoding_that_keeps_them():
    frame = training_rows()
    schema = ind.Schema(quasi=list(frame))
    release = ind.anonymize(frame, schema, model="k-anonymity:k=4", algorithm="mondrian:extent=region")
    found = contained(frame, pickle.dumps(release.recoding))
    assert {type(value).__name__ for value in found} == {"float", "int", "Timestamp", "str"}
    assert len(found) > 0.9 * frame.size


def test_the_middle_of_an_open_region_is_not_the_end_of_the_training_data():
    frame = training_rows()[["height"]]
    middles = Anonymizer("k-anonymity:k=4").fit_transform(frame)[:, 0]
    values = frame["height"].to_numpy()
    for end in (values.min(), values.max()):
        distances = np.abs(np.unique(middles) - end)
        assert distances.min() > 1e-6
    shifted = values.copy()
    shifted[values.argmax()] += 1e6
    again = Anonymizer("k-anonymity:k=4").fit_transform(pd.DataFrame({"height": shifted}))[:, 0]
    np.testing.assert_array_equal(again, middles)


def test_a_recoding_that_needs_the_training_values_is_refused():
    frame = training_rows()[["height", "name"]]
    with pytest.raises(ind.ParameterError, match="without the values of the table"):
        Anonymizer("k-anonymity:k=4", algorithm="auto").fit(frame)


def test_texts_of_a_release_in_a_notebook_contain_no_original_value():
    frame = training_rows()
    release = ind.anonymize(frame, ind.Schema(quasi=list(frame)), model="k-anonymity:k=4", algorithm="mondrian")
    parts = (release, release.recoding, release.check, release.assignment, release.certificate, release.explanation)
    shown = " ".join([*map(repr, parts), release._repr_html_()])
    assert contained(frame, shown.encode()) == []
