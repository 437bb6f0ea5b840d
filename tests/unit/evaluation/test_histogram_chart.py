"""The chart of matching buckets: every bar once and as high as its share, with its texts."""

import pytest

from indistinct.evaluation.assess.membership import Membership, draw_matching, matching_chart

LABELS = ("1 to 10", "11 to 20", "over 20")


def figures(original=(6, 2, 0), fake=(1, 1, 2), *, interval=None, unique=3):
    candidates = sum(original) + sum(fake)
    return Membership(
        candidates,
        sum(original),
        sum(fake),
        interval is None,
        interval or (candidates, candidates),
        tuple(zip(LABELS, original, strict=True)),
        tuple(zip(LABELS, fake, strict=True)),
        unique,
        4.0,
        5.0,
    )


def bars(found):
    """Return what the description of the chart says of each bar."""
    rows = matching_chart(found, matched="buckets").to_dict()["data"]["values"]
    return {(row["tuples"], row["matching"]): (row["share"], *row["text"].split("\n")) for row in rows}


def test_bars_are_as_high_as_their_shares():
    drawn = bars(figures())
    assert drawn == {
        ("8 original tuples", "1 to 10"): (0.75, "75 %", "6"),
        ("8 original tuples", "11 to 20"): (0.25, "25 %", "2"),
        ("8 original tuples", "over 20"): (0.0, "0 %", "0"),
        ("4 fake tuples", "1 to 10"): (0.25, "25 %", "1"),
        ("4 fake tuples", "11 to 20"): (0.25, "25 %", "1"),
        ("4 fake tuples", "over 20"): (0.5, "50 %", "2"),
    }


def test_bars_stand_in_order_side_by_side_from_zero():
    layer, _ = matching_chart(figures(), matched="buckets").to_dict()["layer"]
    encoding, names = layer["encoding"], ["8 original tuples", "4 fake tuples"]
    assert (layer["mark"]["type"], encoding["y"]["field"], encoding["y"]["scale"]["domain"][0]) == ("bar", "share", 0)
    assert (encoding["x"]["field"], encoding["x"]["sort"]) == ("matching", list(LABELS))
    assert encoding["xOffset"]["sort"] == encoding["color"]["sort"] == names


def test_labels_legend_and_axes_are_drawn():
    text = draw_matching(figures(original=(1, 0, 0), unique=1), title="Sliced")
    for words in (*LABELS, "1 original tuple", "4 fake tuples", "share of tuples", "matching buckets of a tuple"):
        assert f">{words}</text>" in text
    assert ">5 candidates<" in text
    assert "originals with one bucket: 1<" in text
    assert "confidence" not in text


def test_an_estimate_says_so_with_its_interval():
    found = figures(fake=(2.5e6, 1e6, 20.0), interval=(3.41e6, 3.59e6))
    assert "candidates (3.41M to 3.59M with 95% confidence)" in draw_matching(found, title="Sliced")
    assert [text for _, text, _ in bars(found).values()][3:] == ["71.4 %", "28.6 %", "< 0.01 %"]


def test_almost_all_is_not_all():
    told = [text for _, text, _ in bars(figures(original=(99_999, 1, 0))).values()]
    assert told[:3] == ["> 99.99 %", "< 0.01 %", "0 %"]


@pytest.mark.parametrize(
    ("found", "shares"),
    [
        (figures((0, 0, 0), (0, 0, 0)), [0.0] * 6),
        (figures((1, 0, 0), (0.0, 1e60, 0.0), interval=(1, 1e60)), [1.0, 0.0, 0.0, 0.0, 1.0, 0.0]),
    ],
)
def test_nothing_and_very_much_are_drawn(found, shares):
    assert [share for share, _, _ in bars(found).values()] == shares
    text = draw_matching(found, title="Sliced")
    assert "NaN" not in text
    assert "Infinity" not in text
