"""Releases whose classes are large enough, and that still point at people: no profile gives them the all-clear."""

import json

import numpy as np
import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.reporting.editions import EDITIONS


def line_of(assessment, kind):
    return next(line for line in assessment.verdict.lines if line.kind == kind)


def alone_by_hand(table, names, whose):
    """Return the members who have a combination of values that no other member has."""
    owners = {}
    rows = list(zip(*(table[name].to_pylist() for name in names), table[whose].to_pylist(), strict=True))
    for *values, owner in rows:
        owners.setdefault(tuple(values), set()).add(owner)
    return {owner for *values, owner in rows if owners[tuple(values)] == {owner}}


# Unmodified columns with the class


@pytest.fixture(scope="module")
def regions():
    chance = np.random.default_rng(7)
    return pa.table(
        {
            "age": chance.integers(18, 90, 2000),
            "sex": chance.choice(["f", "m"], 2000),
            "disease": chance.choice(["flu", "cold", "gout", "asthma"], 2000),
            "region": chance.choice([f"region {place:02}" for place in range(30)], 2000),
        }
    )


def test_a_region_points_at_people_within_their_class(regions):
    schema = ind.Schema(quasi=["age", "sex"], sensitive=["disease"], insensitive=["region"])
    release = ind.anonymize(regions, schema, model="k-anonymity:k=12 & distinct-l-diversity:sensitive=disease,l=2")
    told = ind.assess(release, profile="public")
    shown = release.table
    numbered = shown.append_column("row", pa.array(range(len(shown))))
    expected = len(alone_by_hand(numbered, ["age", "sex", "region"], "row"))
    assert expected > 500
    assert not alone_by_hand(numbered, ["region"], "row")  # the column alone points at no row
    assert told.risk.published.least == told.risk.published.most == expected
    assert [line.figure for line in told.gate.failed] == ["published_uniques"]
    line = line_of(told, "published-columns")
    assert (line.state, line.columns, line.remedies) == (
        "failed",
        ("region",),
        ("quasi-identifier", "coarsen", "drop"),
    )
    sentence = told.verdict.sentences[0]
    assert f"{expected:,} of 2,000 rows" in sentence
    assert "'region' with their equivalence class" in sentence
    assert "make it a quasi-identifier, coarsen it or drop it" in sentence
    finding = next(each for each in told.practice if each.rule == "wp216-singling-out")
    assert (finding.status, finding.value) == ("failed", expected)
    known = ind.Schema(quasi=["age", "sex", "region"], sensitive=["disease"])
    mended = ind.anonymize(regions, known, model="k-anonymity:k=12 & distinct-l-diversity:sensitive=disease,l=2")
    assert ind.assess(mended, profile="public").passed


def test_five_columns_of_ten_values_point_at_nearly_all_together():
    chance = np.random.default_rng(3)
    names = [f"answer {place}" for place in range(5)]
    table = pa.table({"age": chance.integers(18, 90, 1000)} | {name: chance.integers(0, 10, 1000) for name in names})
    schema = ind.Schema(quasi=["age"], insensitive=names)
    release = ind.anonymize(table, schema, model="k-anonymity:k=100")
    told = ind.assess(release, profile="licensed")
    shown = release.table.append_column("row", pa.array(range(1000)))
    expected = len(alone_by_hand(shown, names, "row"))
    assert expected > 950
    assert told.risk.published.by_columns[tuple(names)] == expected
    assert told.gate.state == "failed"
    sets = [line for line in told.verdict.lines if line.kind == "column-set"]
    assert sets[0].columns == tuple(names)  # the set that singles out most is named first


# People with several rows


def visits():
    """Return people with several rows, and amounts that some of them share."""
    chance = np.random.default_rng(11)
    who = np.sort(chance.integers(0, 1500, 6000))
    age, sex = chance.normal(45, 15, 1500).clip(18, 99).astype(int), chance.choice(["f", "m"], 1500)
    return pa.table(
        {
            "who": [f"p{one}" for one in who.tolist()],
            "age": pa.array(age[who]),
            "sex": pa.array(sex[who]),
            "amount": chance.integers(0, 9000, 6000),
        }
    )


@pytest.mark.parametrize("algorithm", ["samarati", "mondrian", "auto"])
def test_people_are_counted_alike_under_every_role_where_rows_are_suppressed(algorithm):
    table = visits()
    found = {}
    for role in ("insensitive", "sensitive"):
        schema = ind.Schema(person=["who"], quasi=["age", "sex"], **{role: ["amount"]})
        hierarchies = {"age": ind.Hierarchy.intervals([2, 8]), "sex": ind.Hierarchy.suppression()}
        release = ind.anonymize(
            table,
            schema,
            model="k-anonymity:k=25",
            algorithm=algorithm,
            hierarchies=hierarchies,
            suppression=0.2,
        )
        risk = ind.assess(release, original=table).risk
        found[role] = risk.published.by_columns[("amount",)] if role == "insensitive" else risk.own_values["amount"]
        if role == "insensitive":
            assert risk.published.exact
            assert found[role] <= risk.published.least <= risk.published.members
            line = line_of(ind.assess(release, original=table, profile="public"), "published-columns")
            assert (line.state, line.numbers["alone"], line.unit) == ("failed", risk.published.least, "people")
            hidden = ind.assess(release).risk.published
            assert hidden.least < risk.published.least <= hidden.most  # a tenth of the truth is no number to pass by
    if algorithm == "samarati":
        assert release.certificate.suppressed_rows > 0
    assert found["insensitive"] == found["sensitive"]


# Free text and values that point at people


def texts(kind):
    chance = np.random.default_rng(5)
    first, last = ["Anna", "Peter", "Maria", "Tom", "Emil"], ["Smith", "Weber", "Khan", "Rossi", "Novak"]
    names = [f"{one} {other}" for one in first for other in last]
    phones = [f"+49 171 {number}" for number in chance.integers(1_000_000, 9_999_999, 40).tolist()]
    plain = [f"no change since the last visit, ward {place}" for place in range(12)]
    drawn = {
        "notes": [
            *plain * 3,
            *(f"{name} asked to be called back, {phone}" for name, phone in zip(names, phones, strict=False)),
        ],
        "names": names,
        "phones": phones,
        "mails": [f"{name.replace(' ', '.').lower()}@example.org" for name in names],
        "streets": [
            f"{street} {number}"
            for street in (
                "Lindenweg",
                "Marktgasse",
                "Am Anger",
                "Ostring",
                "Seestrasse",
                "Hofallee",
                "Bergweg",
                "Talgasse",
                "Waldrain",
                "Rosenweg",
                "Kirchplatz",
                "Nordwall",
            )
            for number in (3, 8)
        ],
        "calls": [*plain, *(f"please call {phone} before noon" for phone in phones[:3])],
        "letters": [*plain, "write to the mother, anna@example.org, not to him"],
    }[kind]
    return chance.choice(drawn, 800).tolist()


@pytest.mark.parametrize("role", ["sensitive", "insensitive", "quasi", None])
@pytest.mark.parametrize("kind", ["notes", "calls", "letters", "names", "phones", "mails", "streets"])
def test_values_that_point_at_people_are_not_public(kind, role):
    chance = np.random.default_rng(2)
    table = pa.table(
        {"age": chance.integers(2, 9, 800) * 10, "remark": texts(kind), "disease": chance.choice(["flu", "cold"], 800)}
    )
    schema = {"quasi": ["age"], "sensitive": ["disease"]}
    if role is not None:
        schema[role] = [*schema.get(role, []), "remark"]
    told = {profile: ind.assess(table, ind.Schema(**schema), profile=profile) for profile in ("public", "licensed")}
    for profile, state in (("public", "failed"), ("licensed", "warning")):
        line = line_of(told[profile], "identifying-values")
        assert (line.state, line.columns) == (state, ("remark",))
        assert any("column 'remark' holds" in sentence for sentence in told[profile].verdict.sentences)
    assert told["public"].verdict.state == "failed"
    rule = next(each for each in told["public"].practice if each.rule == "safe-harbor-identifiers")
    assert rule.status == ("failed" if kind in ("phones", "mails") else "not checkable")
    assert "'remark'" in rule.note


def test_plain_categories_are_no_text_about_people():
    chance = np.random.default_rng(4)
    table = pa.table(
        {
            "age": ["[20-40)"] * 400 + ["[40-60)"] * 400,
            "disease": chance.choice(["viral infection of the lung", "fracture of the wrist", "gout"], 800),
            "town": chance.choice(["Frankfurt", "New York", "San Jose", "Bad Homburg"], 800),
        }
    )
    told = ind.assess(table, ind.Schema(quasi=["age", "town"], sensitive=["disease"]), profile="public")
    assert told.risk.identifying == {}
    assert told.passed


@pytest.mark.parametrize("algorithm", ["mondrian", "mondrian:extent=region", "auto"])
def test_labels_of_a_release_are_no_text_about_people(algorithm):
    chance = np.random.default_rng(6)
    seen = np.datetime64("2020-01-01T00:00") + chance.integers(0, 900_000, 900).astype("timedelta64[m]")
    table = pa.table(
        {
            "seen": pa.array(seen.astype("datetime64[us]")),
            "amount": chance.integers(10**8, 10**10, 900),
            "zone": chance.choice([f"zone {place} of the north" for place in range(9)], 900),
        }
    )
    release = ind.anonymize(table, ind.Schema(quasi=table.column_names), model="k-anonymity:k=5", algorithm=algorithm)
    assert ind.assess(release).risk.identifying == {}


def test_names_in_sets_of_a_release_are_found():
    sets = [
        "{Anna Smith, Tom Weber}",
        "{Maria Khan, Peter Novak}",
        "{Emil Rossi, Sofia Braun}",
        "[Anna Lenz .. Paul Zorn]",
    ]
    sets += ["{Nina Holt, Oscar Reed}", "{Clara Moss, David Kern}", "[10-20]", "*"]
    table = pa.table({"keeper": sets * 10})
    assert ind.assess(table, ind.Schema(quasi=["keeper"])).risk.identifying["keeper"].name == "name"


# Editions


def test_editions_have_the_same_lines_and_the_external_one_no_figures_of_people():
    table = visits().append_column("remark", pa.array(texts("notes") * 7 + texts("notes")[:400]))
    schema = ind.Schema(person=["who"], quasi=["age", "sex"], sensitive=["remark"], insensitive=["amount"])
    release = ind.anonymize(table, schema, model="k-anonymity:k=12", algorithm="mondrian")
    told = {
        edition: ind.report(release, original=table, profile="internal", edition=edition, seconds=1)
        for edition in EDITIONS
    }
    verdicts = {edition: report.content.documents["verdict"] for edition, report in told.items()}
    inside, outside = verdicts["internal"], verdicts["external"]
    for key in ("state", "tone", "headline", "sentence"):
        assert outside[key] == inside[key]
    lines = {
        edition: [(each["kind"], each["state"], each["columns"]) for each in verdicts[edition]["lines"]]
        for edition in EDITIONS
    }
    assert lines["external"] == lines["internal"]
    assert sum(state == "warning" for _, state, _ in lines["external"]) >= 2
    shown, hidden = (
        next(line for line in told["lines"] if line["kind"] == "published-columns") for told in (inside, outside)
    )
    counted = shown["numbers"]["alone"]
    assert "alone" not in hidden["numbers"]
    assert f"{counted:,}" in json.dumps(inside["sentences"])
    assert f"{counted:,}" not in json.dumps(outside["sentences"])
    # No cell's value is in either verdict.
    values = {text for name in ("who", "remark") for text in table[name].to_pylist()}
    assert not [value for value in values if value in json.dumps(verdicts)]
