"""The chart of matching buckets: every bar once and as high as its share, nothing over the edge or unescaped."""

import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from indistinct.report.histograms import HEIGHT, WIDTH, draw_matching
from indistinct.risks.membership import Membership

SVG = "{http://www.w3.org/2000/svg}"
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


def drawn(found, title="Sliced"):
    root = ElementTree.fromstring(draw_matching(found, title=title))  # noqa: S314
    return root, ["".join(text.itertext()) for text in root.iter(f"{SVG}text")]


def test_bars_are_as_high_as_their_shares():
    root, texts = drawn(figures())
    bars = [rect for rect in root.iter(f"{SVG}rect") if rect.get("class") == "bar"]
    heights = [float(bar.get("height")) for bar in bars]
    whole = heights[0] / 0.75
    assert heights == pytest.approx([whole * share for share in (0.75, 0.25, 0, 0.25, 0.25, 0.5)], abs=0.2)
    assert len({bar.get("fill") for bar in bars[:3]}) == len({bar.get("fill") for bar in bars[3:]}) == 1
    assert bars[0].get("fill") != bars[3].get("fill")
    places = [(float(bar.get("x")), float(bar.get("width"))) for bar in bars]
    ordered = sorted(places)
    assert all(x + width < after for (x, width), (after, _) in pairwise(ordered))
    assert [texts.count(told) for told in ("75.0%", "25.0%", "50.0%")] == [1, 3, 1]


def test_labels_legend_and_axes_are_told():
    _, texts = drawn(figures(original=(1, 0, 0), unique=1))
    assert set(LABELS) <= set(texts)
    assert {"1 original tuple", "4 fake tuples", "share of tuples", "matching buckets of a tuple"} <= set(texts)
    assert "5 candidates" in texts
    assert any(text.endswith("originals with one bucket: 1") for text in texts)
    assert not any("confidence" in text for text in texts)


def test_an_estimate_says_so_with_its_interval():
    _, texts = drawn(figures(fake=(2.5e6, 1e6, 20.0), interval=(3.41e6, 3.59e6)))
    assert any(text.endswith("candidates (3.41M to 3.59M with 95% confidence)") for text in texts)
    assert {"71.4%", "28.6%", "under 0.1%"} <= set(texts)


def test_almost_all_is_not_all():
    _, texts = drawn(figures(original=(99_999, 1, 0)))
    assert {"over 99.9%", "under 0.1%", "0%"} <= set(texts)


@pytest.mark.parametrize(
    "found", [figures((0, 0, 0), (0, 0, 0)), figures((1, 0, 0), (0.0, 1e60, 0.0), interval=(1, 1e60))]
)
def test_nothing_and_very_much_stay_inside_the_picture(found):
    root, texts = drawn(found)
    assert root.get("viewBox") == f"0 0 {WIDTH} {HEIGHT}"
    for rect in root.iter(f"{SVG}rect"):
        x, y = (float(rect.get(name, 0)) for name in ("x", "y"))
        assert 0 <= x <= x + float(rect.get("width")) <= WIDTH
        assert 0 <= y <= y + float(rect.get("height")) <= HEIGHT
    for text in root.iter(f"{SVG}text"):
        if text.get("y"):
            assert 0 < float(text.get("y")) < HEIGHT
    assert not any(re.search(r"nan|inf", text) for text in texts)


def test_titles_are_escaped():
    root, texts = drawn(figures(), title='<script>alert("&")</script>')
    assert texts[0] == '<script>alert("&")</script>'
    assert not list(root.iter(f"{SVG}script"))
