"""The picture of a lattice: every node once, every line, nothing over the edge, nothing active inside."""

import re
from itertools import combinations, product
from xml.etree import ElementTree

import pytest

from indistinct.drawing.lattice import FULL_LIMIT, PICTURE_LIMIT, Box, draw_lattice
from indistinct.errors import ParameterError
from indistinct.frequencies.lattice import Lattice

SVG = "{http://www.w3.org/2000/svg}"


def picture(heights, *, satisfied_from=3, chosen=None, columns=None, heading="k-anonymity:k=2"):
    names = columns or [f"column {place}" for place in range(len(heights))]
    axes = {name: [f"level {n}" for n in range(h + 1)] for name, h in zip(names, heights, strict=True)}
    boxes = [
        Box(
            node,
            "outside" if sum(node) < satisfied_from else "minimal" if sum(node) == satisfied_from else "satisfying",
            figures=("0.25", "1,234"),
            title=f"about {node}",
            chosen=node == chosen,
        )
        for node in product(*(range(h + 1) for h in heights))
    ]
    return draw_lattice(axes, boxes, heading=heading, figures=("loss", "suppressed rows"))


def nodes_of(text):
    """Return each drawn node with its class and place."""
    root = ElementTree.fromstring(text)  # noqa: S314
    found = {}
    for outer in root.findall(f"{SVG}g"):
        left, top = shift(outer)
        for group in outer.findall(f"{SVG}g"):
            title = group.find(f"{SVG}title")
            if title is not None and title.text.startswith("about"):
                rect = group.find(f"{SVG}rect")
                dx, dy = shift(group)
                found[title.text] = (
                    group.get("class"),
                    (left + dx, top + dy, float(rect.get("width")), float(rect.get("height"))),
                )
    return root, found


def shift(group):
    return tuple(map(float, re.match(r"translate\(([\d.-]+) ([\d.-]+)\)", group.get("transform")).groups()))


@pytest.mark.parametrize("heights", [(2, 1, 1), (3, 1, 2), (4, 1, 5), (3, 1, 3, 3), (1,) * 7, (4, 1, 5, 5), (6,), (0,)])
def test_every_node_is_drawn_once_apart_from_others_and_inside(heights):
    root, found = nodes_of(picture(heights))
    assert len(found) == Lattice(heights).size
    _, _, width, height = map(float, root.get("viewBox").split())
    places = [place for _, place in found.values()]
    for left, top, wide, high in places:
        assert left >= 0
        assert top >= 0
        assert left + wide <= width
        assert top + high <= height
    for (a, b, w, h), (c, d, _, _) in combinations(places, 2):
        assert abs(a - c) >= w or abs(b - d) >= h, "two boxes overlap"


def test_more_general_nodes_stand_higher():
    _, found = nodes_of(picture((3, 1, 2)))
    tops = {sum(map(int, re.findall(r"\d+", title))): place[1] for title, (_, place) in found.items()}
    assert [tops[height] for height in sorted(tops)] == sorted(tops.values(), reverse=True)


@pytest.mark.parametrize("heights", [(3, 1, 2), (3, 1, 3, 3)])
def test_every_direct_generalization_has_a_line(heights):
    lattice = Lattice(heights)
    wanted = sum(1 for node in product(*map(range, lattice.shape)) for _ in lattice.above(node))
    assert picture(heights).count("<polyline") == wanted


def test_a_large_lattice_has_lines_between_satisfying_nodes_alone():
    heights = (4, 1, 5, 5)
    lattice = Lattice(heights)
    assert FULL_LIMIT < lattice.size <= PICTURE_LIMIT
    wanted = sum(1 for node in product(*map(range, lattice.shape)) if sum(node) >= 12 for _ in lattice.above(node))
    text = picture(heights, satisfied_from=12)
    assert text.count("<polyline") == text.count('class="edge inside"') == wanted > 0
    assert "lines join nodes that satisfy it" in text


def test_states_are_told_apart():
    _, found = nodes_of(picture((3, 1, 2), chosen=(1, 1, 1)))
    kinds = [kind for kind, _ in found.values()]
    assert {kind: kinds.count(kind) for kind in set(kinds)} == {
        "outside": 9,
        "minimal": 5,
        "minimal chosen": 1,
        "satisfying": 9,
    }
    for words in ("does not satisfy the model", "satisfies it, and nothing below does", "chosen"):
        assert f">{words}</text>" in picture((3, 1, 2), chosen=(1, 1, 1))
    assert ">chosen</text>" not in picture((3, 1, 2))


def test_columns_levels_and_figures_are_written_out():
    text = picture((2, 1), columns=["age", "sex"])
    for words in ("age", "sex", "level 2", "0.25", "1,234", "loss", "suppressed rows", "height 3", "2,1"):
        assert f">{words}</text>" in text


def test_names_cannot_break_the_picture():
    names = ['<script>alert("x")</script>', "a&b\x00\x1b", "größe 人 “q”", "]]>"]
    text = picture((1, 1, 1, 1), columns=names, heading="<b>& \x07")
    root, found = nodes_of(text)
    assert len(found) == 16
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= {
        "svg",
        "title",
        "style",
        "rect",
        "g",
        "text",
        "polyline",
        "path",
    }
    assert not re.search(r"<script|href|\son\w+=|@import|url\(", text)
    shown = {element.text for element in root.iter(f"{SVG}text")}
    assert names[0] in shown
    assert "a&b\ufffd\ufffd" in shown


def test_a_lattice_that_fits_no_page_is_refused():
    with pytest.raises(ParameterError, match="512 nodes") as caught:
        picture((1,) * 9)
    assert caught.value.hint
