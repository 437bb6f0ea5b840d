"""Laws of recodings: counting what was applied is regrouping what was counted, and JSON changes nothing."""

import json
from collections import Counter
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from indistinct.algorithms.base import Problem
from indistinct.errors import InfeasibleError, InputError, SchemaError
from indistinct.job.publishing import anonymize
from indistinct.recoding.assign import assign
from indistinct.recoding.kinds import ByRow, digest
from indistinct.recoding.storage import recoding_from_json, recoding_to_json
from indistinct.testing.strategies import algorithms, models, recodings, samples
from references.publishing import publish

quick = settings(deadline=None, max_examples=120)


@st.composite
def found_recodings(draw):
    """Return a sample, its count, and a recoding that an algorithm found for it."""
    sample = draw(samples())
    algorithm, model = draw(algorithms()), draw(models())
    assume(algorithm.refusal(model, suppression=False) is None)
    counted = sample.count(model, joint=algorithm.traits.splits)
    try:
        recoding = algorithm.find(Problem(counted.frequencies, sample.columns(counted), model))
    except InfeasibleError:
        assume(False)
    return sample, counted, recoding


@st.composite
def written_recodings(draw):
    """Return a sample, its count, and a recoding that nobody would look for."""
    sample = draw(samples())
    return sample, sample.count(), draw(recodings(sample))


any_recoding = st.one_of(found_recodings(), written_recodings())


def shown_classes(published):
    """Count the published rows by their visible quasi-identifier values."""
    rows = published.table.select(list(published.schema.quasi)).to_pylist()
    return Counter(tuple(row.values()) for row in rows)


def told_classes(assignment):
    """Return the same count as the recoding tells it."""
    columns = [values.to_pylist() for column in assignment.columns for _, values in column.outputs]
    owners = [place for place, column in enumerate(assignment.columns) for _ in column.outputs]
    told = Counter()
    for vector, size in zip(assignment.values.tolist(), assignment.classes.sizes.tolist(), strict=True):
        told[tuple(values[vector[owner]] for values, owner in zip(columns, owners, strict=True))] += size
    return told


@quick
@given(any_recoding)
def test_counting_the_applied_table_is_regrouping_the_count(drawn):
    sample, counted, recoding = drawn
    published = publish(recoding, sample.table, schema=sample.schema, counted=counted, source=sample.source)
    assignment = assign(counted.frequencies, recoding)
    shown = shown_classes(published)
    assert shown == told_classes(assignment)
    assert len(shown) == len(assignment.classes)
    assert published.table.num_rows == sample.table.num_rows - assignment.suppressed


@quick
@given(any_recoding)
def test_histograms_of_classes_are_those_of_their_rows(drawn):
    sample, counted, recoding = drawn
    published = publish(recoding, sample.table, schema=sample.schema, counted=counted, source=sample.source)
    diseases = published.table["disease"].to_pylist()
    histogram = published.assignment.classes.histograms.get(("disease",))
    assume(histogram is not None)
    start = 0
    for label, size in enumerate(published.assignment.classes.sizes.tolist()):
        entries = slice(histogram.indptr[label], histogram.indptr[label + 1])
        told = {
            histogram.texts[code]: count
            for code, count in zip(histogram.codes[entries].tolist(), histogram.counts[entries].tolist(), strict=True)
        }
        assert told == Counter(diseases[start : start + size])
        start += size


@quick
@given(any_recoding)
def test_json_round_trip(drawn):
    sample, counted, recoding = drawn
    recoding = replace(recoding, schema=sample.schema, promise="k-anonymity:k=2", suppression=0.25)
    again = recoding_from_json(recoding_to_json(recoding))
    assert again == recoding
    assert again != replace(recoding, suppression=0.5)
    assert digest(again) == digest(recoding)
    assert recoding_to_json(again) == recoding_to_json(recoding)
    published = [
        publish(r, sample.table, schema=sample.schema, counted=counted, source=sample.source) for r in (recoding, again)
    ]
    assert shown_classes(published[0]) == shown_classes(published[1])


@quick
@given(any_recoding, st.randoms(use_true_random=False))
def test_rows_in_another_order_are_published_alike(drawn, dice):
    sample, _, recoding = drawn
    assume(not isinstance(recoding, ByRow))
    places = list(range(sample.table.num_rows))
    dice.shuffle(places)
    turned = sample.table.take(pa.array(places))
    rows = [
        Counter(tuple(row.values()) for row in published.table.to_pylist())
        for published in (publish(recoding, t, schema=sample.schema) for t in (sample.table, turned))
    ]
    assert rows[0] == rows[1]


@quick
@given(any_recoding)
def test_every_row_twice_is_published_twice(drawn):
    sample, counted, recoding = drawn
    twice = pa.concat_tables([sample.table, sample.table])
    if isinstance(recoding, ByRow):
        with pytest.raises(InputError):
            publish(recoding, twice, schema=sample.schema)
        return
    once = shown_classes(publish(recoding, sample.table, schema=sample.schema, counted=counted, source=sample.source))
    assert shown_classes(publish(recoding, twice, schema=sample.schema)) == Counter(
        {vector: 2 * size for vector, size in once.items()}
    )


@quick
@given(any_recoding)
def test_the_nonce_is_in_the_digest_and_not_in_the_comparison(drawn):
    _, _, recoding = drawn
    other = replace(recoding, nonce="0" * 32)
    assert other == recoding
    assert digest(other) != digest(recoding)


@st.composite
def bucket_recodings(draw):
    """Return a sample, nothing, and a recoding into buckets for it."""
    sample = draw(samples())
    form = draw(
        st.sampled_from(["anatomy:l=1", "multiset:l=1", "slicing:l=1,columns=each", "slicing:l=1,generalize=2"])
    )
    try:
        return sample, None, anonymize(sample.table, sample.schema, algorithm=form, seed=1).recoding
    except (InfeasibleError, InputError):
        assume(False)


@st.composite
def forged_documents(draw):
    """Return a sample and the document of a recoding for it of which some parts were changed."""
    sample, _, recoding = draw(st.one_of(any_recoding, bucket_recodings()))
    document = json.loads(recoding_to_json(replace(recoding, schema=sample.schema, promise="k-anonymity:k=2")))
    for _ in range(draw(st.integers(1, 3))):
        owner, key = draw(st.sampled_from(list(steps(document))))
        owner[key] = draw(changes(owner[key]))
    return sample, document


def steps(part):
    """Yield every list or object of a document with the index or key of each of its parts."""
    for key, inner in list(part.items() if isinstance(part, dict) else enumerate(part)):
        yield part, key
        if isinstance(inner, dict | list):
            yield from steps(inner)


def changes(part):
    """Return what may stand in place of a part of a document: something near it, or something else altogether."""
    anything = st.sampled_from([None, True, -1, 0, 1, 2**31 - 1, 2**31, 2**63, 10**30, 1.5, 1e300, "", "7", [], {}])
    match part:
        case int() | float():
            return st.one_of(st.sampled_from([part - 1, part + 1, -part, part / 2]), anything)
        case str():
            return st.one_of(st.sampled_from([*"ab", "int8", "int64", "double", "string", "date32[day]"]), anything)
        case [_, *_]:
            return st.one_of(st.permutations(part), st.sampled_from([part[1:], part[:-1], part * 2, [part]]), anything)
    return anything


@settings(deadline=None, max_examples=200)
@given(forged_documents())
def test_a_forged_recoding_is_refused_or_can_be_applied(drawn):
    sample, document = drawn
    try:
        recoding = recoding_from_json(json.dumps(document))
        schema = recoding.schema or sample.schema
        schema.check(sample.table.column_names, decided=True)  # as whoever applies it does first
        published = publish(recoding, sample.table, schema=schema)
    except (InputError, SchemaError):
        return
    assert published.table.num_rows <= sample.table.num_rows
    assert digest(recoding) == digest(recoding_from_json(recoding_to_json(recoding)))


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", "null", '{"format": "indistinct-recoding", "version": 99}', '{"format": "other", "version": 1}'],
)
def test_other_files_are_refused(text):
    with pytest.raises(InputError) as caught:
        recoding_from_json(text)
    assert caught.value.hint
