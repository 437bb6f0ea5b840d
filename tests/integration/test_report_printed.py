"""A report on A4: no page but the last is half empty, pages are numbered, and no picture is cut."""

import base64
import re
import shutil
import subprocess

import numpy as np
import pytest

import indistinct as ind
from indistinct.samples import generate_patients

LEAST = 0.6
"""So much of a page is filled, at least, unless it is the last."""
FOOT = 0.94
"""Below this share of its height a page has its number alone."""


@pytest.fixture(scope="module")
def tools():
    missing = [name for name in ("pdftoppm", "pdftotext") if shutil.which(name) is None]
    if missing:
        pytest.skip(f"{' and '.join(missing)} cannot be found: on Debian, apt-get install poppler-utils")


@pytest.fixture(scope="module", params=["internal", "external"])
def printed(request, chrome, tools, tmp_path_factory):
    """A report on a release of patients, printed."""
    folder = tmp_path_factory.mktemp("printed")
    schema = ind.Schema(
        identifiers=["name"], quasi=["age", "sex", "zipcode", "admitted"], sensitive=["disease"], insensitive=["cost"]
    )
    coarser = {"cost": ind.Transformation(round=500)}
    release = ind.anonymize(generate_patients(1_000, seed=1), schema, model="k-anonymity:k=5", transformations=coarser)
    page = ind.report(release, edition=request.param, profile="licensed", seconds=1).write(folder / "report.html")
    chrome.get(page.as_uri())
    told = chrome.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True, "printBackground": True})
    path = folder / "report.pdf"
    path.write_bytes(base64.b64decode(told["data"]))
    chrome.get("about:blank")
    return path


def pages_of(path):
    """Return every page in shades of grey: 0 is ink."""
    subprocess.run(["pdftoppm", "-gray", "-r", "30", path, path.with_suffix("")], check=True)
    for each in sorted(path.parent.glob(f"{path.stem}-*.pgm")):
        _, size, _, pixels = each.read_bytes().split(b"\n", 3)
        width, height = map(int, size.split())
        yield np.frombuffer(pixels, dtype=np.uint8)[: width * height].reshape(height, width)


def test_no_page_is_half_empty_and_nothing_reaches_over_the_edge(printed):
    pages = list(pages_of(printed))
    assert len(pages) > 2
    filled = []
    for page in pages:
        above = page[: int(FOOT * len(page))] < 200
        filled.append(np.flatnonzero(above.any(axis=1)).max() / len(above))
        assert not (page[:, -int(0.04 * page.shape[1]) :] < 200).any(), "something reaches into the right margin"
    assert min(filled[:-1]) > LEAST, [round(each, 2) for each in filled]


def test_pages_are_numbered_and_the_verdict_is_on_the_first(printed):
    said = subprocess.run(["pdftotext", "-layout", printed, "-"], check=True, capture_output=True, text=True).stdout
    pages = said.split("\f")[:-1]
    numbers = [re.search(r"(\d+) */ *(\d+)\s*$", page) for page in pages]
    assert [each and (int(each[1]), int(each[2])) for each in numbers] == [
        (number, len(pages)) for number in range(1, len(pages) + 1)
    ]
    assert "The release FAILS the profile licensed." in pages[0]
    assert "Privacy guarantee" in said
