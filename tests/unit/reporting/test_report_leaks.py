"""What an external edition and a certificate must not tell, searched in their bytes: three tables made to leak.

One has values that nobody else has, one has people with several rows, and one shows these people as pseudonyms.
"""

import json
import re
from html import unescape
from itertools import combinations

import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.reporting.editions import for_readers
from indistinct.reporting.facts import Facts
from indistinct.reporting.subject import Subject

USUAL, SMALLEST = 300, 11
RARE = ind.Schema(identifiers=["name"], quasi=["age", "town"], sensitive=["disease"], insensitive=["note"])
PEOPLE = ind.Schema(quasi=["age"], sensitive=["disease"], person=["who"])
SECRETS = ("Nom0", "Pers", "710001", "710002", "810001", "810002", "Remote", "Rare", "Only")


def table_of(kind):
    if kind == "rare":
        return pa.table(
            {
                "name": [f"Nom{place:04d}" for place in range(USUAL + 3)],
                "age": [20 + place % 4 for place in range(USUAL)] + [71000171, 71000272, 71000373],
                "town": [("north", "south")[place // 4 % 2] for place in range(USUAL)]
                + ["RemoteA", "RemoteB", "RemoteC"],
                "disease": [("flu", "cold", "gout")[place % 3] for place in range(USUAL)] + ["RareX", "RareY", "RareZ"],
                "note": [("a", "b")[place % 2] for place in range(USUAL)] + ["OnlyP", "OnlyQ", "OnlyR"],
            }
        )
    return pa.table(
        {
            "who": [f"Pers{place // 3:03d}" for place in range(USUAL)] + ["PersA", "PersA", "PersB", "PersC"],
            "age": [20 + place // 3 % 4 for place in range(USUAL)] + [81000181, 81000181, 81000282, 81000383],
            "disease": [("flu", "cold", "gout", "pox")[place % 4] for place in range(USUAL)] + ["RareX"] * 4,
        }
    )


@pytest.fixture(scope="module", params=["rare", "person", "pseudonyms"])
def told(request, tmp_path_factory):
    """External editions from all sides, of certificates that hide small counts and of those that do not."""
    kind, folder = request.param, tmp_path_factory.mktemp(request.param)
    table, schema = table_of(kind), RARE if kind == "rare" else PEOPLE
    model = "k-anonymity:k=5" + (" & t-closeness:sensitive=disease,t=0.9" if kind == "rare" else "")
    more = {"pseudonyms": {"who": ind.Pseudonym(random=True)}} if kind == "pseudonyms" else {}
    release = ind.anonymize(table, schema, model=model, algorithm="optimal", suppression=0.05, **more)
    assert 0 < release.certificate.suppressed_rows < SMALLEST
    release.write(folder / "release.csv")
    release.write(folder / "open.csv", smallest_count=0)
    given = {"edition": "external", "seconds": 1}
    pages = {"release": ind.report(release, original=table, population=table, **given)}
    for name in ("release", "open"):
        for known in (None, table):
            path = folder / f"{name}.csv"
            key = f"{name}.csv, {'with' if known is not None else 'without'} the original"
            pages[key] = ind.report(path, schema, model=model, original=known, **given)
    certificate = (folder / "release.csv.certificate.json").read_text(encoding="utf-8")
    return pages, certificate, release


def figures(html):
    """Return the numbers of a page, and where in a document each stands."""
    found = re.findall(r'<data value="([^"]*)" data-of="([^"]*)">', html)
    pairs = [(tuple(json.loads(unescape(path))), json.loads(unescape(value))) for value, path in found]
    return [(path, value) for path, value in pairs if isinstance(value, int | float) and not isinstance(value, bool)]


def test_secrets_are_in_no_byte(told):
    pages, certificate, _ = told
    for name, text in ({key: page.html for key, page in pages.items()} | {"certificate": certificate}).items():
        shown = re.sub("[0-9a-f]{64}", "", text)
        assert [secret for secret in SECRETS if secret in shown] == [], name


def test_no_count_of_the_original_is_small_nor_a_difference_of_two(told):
    pages, certificate, release = told
    made = release.certificate
    secret = {made.original_rows, made.suppressed_rows}
    secret |= set() if made.people is None else {made.people.original, made.people.suppressed}
    for name, page in pages.items():
        told_by_file = {made.rows, made.classes, made.smallest_class, *made.achieved.values()}
        counted = [(path, value) for path, value in figures(page.html) if path[0] == "certificate"]
        assert [path for path, value in counted if value in secret - told_by_file] == [], name
        totals = {value for _, value in counted if isinstance(value, int) and value > 2 * SMALLEST}
        assert [pair for pair in combinations(totals, 2) if abs(pair[0] - pair[1]) < SMALLEST] == [], name
        document = page.content.documents["certificate"]
        assert document["original_rows"] is document["suppressed_rows"] is None, name
        beside = [
            verdict["achieved"][key]
            for verdict in document["verdicts"]
            for key in verdict["achieved"]
            if key not in ("k", "l") and verdict["compared_with_original"] and "with the" in name
        ]
        assert set(beside) <= {None}, name
    assert json.loads(certificate)["original_rows"] is None


def test_a_reason_tells_no_count():
    table, schema = pa.table({"age": [1, 1], "disease": ["a", "b"]}), ind.Schema(quasi=["age"], sensitive=["disease"])
    reasons = {"certificate": "The release was not verified here: 3 rows of it are alone.", "classify": "No target."}
    shown = for_readers(Facts(Subject(ind.published(table, schema)), {}, reasons)).reasons
    assert shown["certificate"] == "The release was not verified here."


def test_earlier_releases_tell_no_small_count(tmp_path):
    table = table_of("person")
    schema = ind.Schema(quasi=["age"], sensitive=["disease"], person=["who"])
    given = {"model": "k-anonymity:k=5", "algorithm": "optimal", "suppression": 0.05}
    ledger = tmp_path / "ledger.json"
    for month in (1, 2):
        some = table.slice(0, USUAL - 3 * (month - 1))
        release = ind.anonymize(some, schema, ledger=ledger, accept_overlap=True, **given)
        release.write(tmp_path / f"{month}.csv", smallest_count=0)
    told = json.loads((tmp_path / "2.csv.certificate.json").read_text(encoding="utf-8"))["overlap"]
    assert told is not None
    small = {key: value for key, value in told.items() if key.startswith(("people", "smallest")) and value}
    assert any(value < SMALLEST for value in small.values()), "there is something to hide"
    report = ind.report(tmp_path / "2.csv", schema, model="k-anonymity:k=5", edition="external")
    shown = report.content.documents["certificate"]["overlap"]
    assert [key for key in small if 0 < (shown[key] or 0) < SMALLEST] == []
