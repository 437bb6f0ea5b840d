"""The table of LeFevre, DeWitt and Ramakrishnan (2005): nodes searched on Adult with k = 2, in both readings."""

import os
from pathlib import Path

import pytest

from indistinct_papers.adult import adult_hierarchies, load_adult
from indistinct_papers.incognito_nodes import HEADINGS, PUBLISHED, search_table

DATA = Path(os.environ.get("INDISTINCT_DATA") or Path(__file__).parents[3] / "shared" / "data")

pytestmark = pytest.mark.skipif(
    not (DATA / "adult.csv").is_file() or not (DATA / "adult-reference").is_dir(),
    reason="the Adult table and its reference hierarchies are not there; set INDISTINCT_DATA to their folder",
)

# cells, nodes, (bottom-up, Incognito) direct and transitive, satisfying, minimal, lowest height
OURS = {
    3: (561, 20, (14, 14), (12, 13), 10, 2, 2),
    4: (1_900, 60, (47, 35), (41, 33), 22, 3, 3),
    5: (7_478, 240, (206, 103), (195, 97), 53, 8, 6),
    6: (9_880, 720, (680, 246), (667, 237), 64, 11, 8),
    7: (14_668, 2_160, (2_090, 669), (2_068, 654), 112, 20, 10),
}


@pytest.fixture(scope="module")
def adult():
    return load_adult(DATA), adult_hierarchies(folder=DATA)


@pytest.mark.parametrize("size", OURS)
def test_nodes_searched(adult, size):
    row = dict(zip(HEADINGS, search_table(*adult, size), strict=True))
    cells, nodes, direct, transitive, satisfying, minimal, height = OURS[size]
    assert (row["size"], row["cells"], row["nodes"]) == (size, cells, nodes)
    assert (row["bottom-up"], row["incognito"]) == direct
    assert (row["bottom-up transitive"], row["incognito transitive"]) == transitive
    assert (row["satisfying"], row["minimal"], row["height"]) == (satisfying, minimal, height)
    assert (row["published bottom-up"], row["published incognito"]) == PUBLISHED[size]
    assert (direct == PUBLISHED[size]) == (size <= 6)
