"""Patterns of values, against labelled lists of texts that have them and texts that do not, in several scripts."""

import datetime as dt
import random
import string

import numpy as np
import pyarrow as pa
import pytest

from indistinct.inspection.patterns.base import matching
from indistinct.inspection.patterns.names import is_name_like
from indistinct.inspection.patterns.ordered_values import coordinate_pairs, pattern_of_dates, pattern_of_numbers
from indistinct.inspection.patterns.registry import PATTERNS, patterns_of_digits, patterns_of_texts
from indistinct.inspection.patterns.safe_harbor import IDENTIFIERS, SafeHarbor

# Published specimens of issuers, and the same with something wrong.
CASES = {
    "e-mail": (
        ["a@example.org", "jörg.müller@пример.рф", "x+y@mail.example.co.uk"],
        ["a@b", "a b@example.org", "@example.org", "example.org", "a@@example"],
    ),
    "url": (["https://example.org/p/7", "www.example.org", "HTTP://例え.jp/x"], ["example", "http://", "ftp:x"]),
    "ip-address": (
        ["192.168.100.101", "10.0.0.1", "2001:db8::1", "::ffff:192.0.2.1"],
        ["256.1.1.1", "10.0.0", "1.2.3.4.5", "12:30:59:1:2:3:4:5:6", "10:30"],
    ),
    "uuid": (
        ["123e4567-e89b-12d3-a456-426614174000", "{123E4567-E89B-12D3-A456-426614174000}"],
        [
            "123e4567-e89b-12d3-a456-42661417400",
            "123e4567e89b12d3a456426614174000",
            "g23e4567-e89b-12d3-a456-426614174000",
        ],
    ),
    "mac-address": (["00:1A:2b:3c:4d:5e", "00-1a-2b-3c-4d-5e"], ["00:1a:2b:3c:4d", "00:1g:2b:3c:4d:5e"]),
    "hash": (["d41d8cd98f00b204e9800998ecf8427e", "a" * 64], ["d41d8cd98f00b204e9800998ecf8427", "z" * 32]),
    "iban": (
        [
            "GB82 WEST 1234 5698 7654 32",
            "DE89370400440532013000",
            "FR14 2004 1010 0505 0001 3M02 606",
            "NL91ABNA0417164300",
            "CH93 0076 2011 6238 5295 7",
            "NO93 8601 1117 947",
        ],
        [
            "GB83 WEST 1234 5698 7654 32",
            "DE8937040044053201300",
            "ZZ89370400440532013000",
            "DE89 3704 0044 0532 0130 01",
        ],
    ),
    "payment-card": (
        ["4111 1111 1111 1111", "5500-0000-0000-0004", "340000000000009", "6011000000000004", "3530111333300000"],
        ["4111 1111 1111 1112", "411111111111", "9111111111111111", "34000000000000"],
    ),
    "vin": (["1M8GDM9AXKP042788", "11111111111111111"], ["1M8GDM9AYKP042788", "1M8GDM9AXKP04278", "1I8GDM9AXKP042788"]),
    "imei": (["490154203237518"], ["490154203237517", "690154203237518", "49015420323751"]),
    "telephone": (
        [
            "+49 171 1234567",
            "(030) 1234-5678",
            "06 12 34 56 78",
            "03-1234-5678",
            "0044 20 7946 0958",
            "+81-90-1234-5678",
        ],
        ["2024-01-31", "31.01.2024 08:30", "02104-6743", "12345", "100-1000", "1234567890", "+1"],
    ),
    "us-ssn": (
        ["078-05-1120", "219-09-9999", "123 45 6789"],
        ["000-12-3456", "666-12-3456", "900-12-3456", "123-00-4567", "123-45-0000", "123456789"],
    ),
    "it-codice-fiscale": (["RSSMRA85T10A562S", "MRTMTT25D09F205Z"], ["RSSMRA85T10A562T", "RSSMRA85T10A562"]),
    "es-dni": (["12345678Z", "00000000T", "X1234567L", "12345678-z"], ["12345678A", "X1234567A", "1234567Z"]),
    "de-insured": (["A123456780"], ["A123456781", "1123456780", "a12345678"]),
    "de-tax-id": (
        ["36574261809", "86 095 742 719", "47036892816", "65929970489"],
        ["36574261890", "12345678901", "06574261809", "11111111111"],
    ),
    "fi-hetu": (["131052-308T", "131052A308T"], ["131052-308U", "321352-308T"]),
    "cn-id": (["11010519491231002X", "440524188001010014"], ["110105194912310021", "11010519491331002X"]),
    "fr-nir": (["2 55 08 14 168 025 38", "184127645108946"], ["2 55 08 14 168 025 39", "984127645108946"]),
    "ch-ahv": (["756.9217.0769.85", "7561234567897"], ["756.9217.0769.84", "757.9217.0769.85"]),
    "pl-pesel": (["44051401359", "02070803628"], ["44051401358", "44059901359", "4405140135"]),
    "no-number": (["15108695088", "151086 95088"], ["15108695077", "99108695088"]),
    "be-number": (["85.07.30-033 28", "17073003384"], ["85.07.30-033 29", "85.17.30-033 28"]),
    "br-cpf": (["111.444.777-35", "39053344705"], ["231.002.999-00", "111.111.111-11"]),
    "jp-my-number": (["123456789018", "6214 9832 0257"], ["123456789017", "6214 9832 0258"]),
    "in-aadhaar": (["2341 2341 2346"], ["2341 2341 2347", "1341 2341 2346"]),
    "se-number": (["811228-9874", "19880320-0016"], ["811228-9875", "881320-0016"]),
    "uk-nhs": (["943 476 5870", "9434765919"], ["943 476 5871", "0000000000"]),
    "nl-bsn": (["111222333", "1112.22.333"], ["111252333", "000000000"]),
    "postal-code": (
        [
            "SW1A 1AA",
            "ec1a1bb",
            "K1A 0B1",
            "1012 AB",
            "102-0072",
            "00-950",
            "01310-100",
            "20500-0003",
            "06108",
            "114 55",
            "D02 X285",
            "CH-8001",
        ],
        ["SW1A", "1012", "K1A 0B", "123456", "A1", "06108-1", "QQ1 1AA"],
    ),
    "coordinates": (["52.5200, 13.4050", "(-33.87;151.21)"], ["95.1234, 13.4050", "52, 13", "52.5200"]),
    "icd-10": (["E11.9", "I10", "C50.9", "S72.00", "M54.5!"], ["11.9", "EE1.9", "U1", "E11.", "E1"]),
    "atc": (["A10BA02", "C09AA05"], ["A10BA2", "E10BA02", "10BA02A"]),
}


def has(name, text):
    return any(matching(pa.array([text]), each) for each in PATTERNS if each.name == name)


@pytest.mark.parametrize("name", CASES)
def test_labelled_texts(name):
    true, false = CASES[name]
    assert [text for text in true if not has(name, text)] == []
    assert [text for text in false if has(name, text)] == []


def test_every_pattern_has_its_cases_and_a_letter_of_the_list_that_exists():
    assert {each.name for each in PATTERNS} == set(CASES)
    assert {each.safe_harbor for each in PATTERNS} - {None} <= set(IDENTIFIERS)


def first(texts, rows=None):
    """Return the name of the pattern that a column of texts is taken for."""
    found = patterns_of_texts(pa.array(texts, pa.string()), np.ones(len(texts), int), rows=rows or len(texts))
    return next((each.name for each in found if each.holds), None)


@pytest.mark.parametrize("name", sorted(set(CASES) - {"icd-10"}))
def test_a_column_of_true_texts_is_found(name):
    true = CASES[name][0]
    if name == "postal-code":
        true = ["SW1A 1AA", "EC1A 1BB", "M1 1AE"]
    if name == "telephone":
        true = [f"+49 171 {1_000_000 + 7919 * place}" for place in range(20)]
    needed = max(each.fewest for each in PATTERNS if each.name == name)
    assert first([*true] * -(-needed // len(true))) == name


def test_a_few_strangers_do_not_hide_a_pattern_and_many_do():
    mails = [f"m{place}@example.org" for place in range(20)]
    assert first([*mails, "none"]) == "e-mail"
    found = patterns_of_texts(pa.array([*mails, *(f"x{place}" for place in range(30))]), np.ones(50, int), rows=500)
    assert [(each.name, each.holds, each.share) for each in found] == [("e-mail", False, 0.4)]


@pytest.mark.parametrize("length", range(4, 20))
def test_random_digits_are_nobodys_numbers(length):
    draw = random.Random(length)  # noqa: S311 (no secret)
    texts = sorted({"".join(draw.choices(string.digits, k=length)) for _ in range(400)})
    assert first(texts) == ("postal-code" if length == 5 else None)
    whole = pa.array([int(text) for text in texts if int(text) < 2**63])
    assert patterns_of_digits(whole) == ()


def test_whole_numbers_get_back_the_zeros_that_reading_took():
    numbers = [2070803628, 44051401359, 44051401359, 2070803628, 44051401359]
    assert [each.name for each in patterns_of_digits(pa.array(numbers))] == ["pl-pesel"]
    assert patterns_of_digits(pa.array([-5, 7])) == ()


def test_codes_of_diagnoses_need_points_to_be_sure():
    pointed = ["E11.9", "I10", "J45.0", "K29.1", "M54.5", "C61"]
    bare = ["E11", "I10", "J45", "K29", "M54", "C61"]
    sure, unsure = (patterns_of_texts(pa.array(texts), np.ones(6, int), rows=600) for texts in (pointed, bare))
    assert [(each.name, each.certain) for each in sure] == [("icd-10", True)]
    assert [(each.name, each.certain) for each in unsure] == [("icd-10", False)]


GIVEN = ["Ottilie", "Ansgar", "Runa", "Tjark", "Edda", "Wenzel", "Roswitha", "Korbinian"]
FAMILY = ["Ahlers", "Brodersen", "Clüver", "Dankert", "Ehmke", "Fock", "Gätjens", "Hinrichs"]
NAMES = {
    "frequent names": [f"{one} {other}" for one in ("Anna", "Peter", "José") for other in FAMILY[:6]],
    "rare names that recombine": [f"{one} {other}" for one in GIVEN for other in FAMILY[:5]],
    "family name first": [f"{other}, {one}" for one in GIVEN for other in FAMILY[:5]],
    "with initials and particles": [f"{one[0]}. van der {other}" for one in GIVEN for other in FAMILY],
    "capitals": [f"{one} {other}".upper() for one in GIVEN for other in FAMILY[:5]],
    "given names alone": ["Anna", "Peter", "José", "Maria", "Hans", "Emma", "Olga", "Ivan", "Fatima", "Ali", "Runa"],
    "Russian": [
        f"{two} {one}" for one in ("Иван", "Ольга", "Сергей") for two in ("Смирнов", "Кузнецов", "Попов", "Волков")
    ],
    "Greek": [f"{one} Παππάς" for one in ("Μαρία", "Νίκος", "Ελένη")] * 4,
    "Arabic": [f"{one} {two}" for one in ("محمد", "فاطمة", "علي") for two in ("الحسن", "المصري", "العلي", "النجار")],
    "Chinese": [f"{one}{two}" for one in "王李张刘" for two in ("伟", "芳", "秀英", "敏")],
    "Korean": [f"{one}{two}" for one in "김이박최" for two in ("민준", "서연", "도윤")],
    "Japanese": [f"{one}{two}" for one in ("佐藤", "鈴木", "田中") for two in ("太郎", "花子", "健", "愛")],
    "Hindi": [f"{one} {two}" for one in ("राम", "प्रिया", "राहुल") for two in ("शर्मा", "वर्मा", "गुप्ता", "सिंह")],
}
NO_NAMES = {
    "towns": ["New York", "Los Angeles", "San Diego", "Las Vegas", "Bad Homburg", "Buenos Aires", "Cape Town",
              "Hong Kong", "Kuala Lumpur", "Addis Ababa", "Rio Branco", "Santa Fe"],
    "towns of one word": ["Oslo", "Bergen", "Berlin", "Hamburg", "Wien", "Graz", "Paris", "Lyon", "Roma", "Milano"],
    "jobs": ["craft worker", "Clerks", "Service and sales workers", "Technicians", "Managers", "farm worker",
             "Plant operators", "Professionals", "soldier", "cook", "nurse"],
    "hospitals": [f"{one} Hospital" for one in ("Mercy", "North", "South", "Lake", "River", "Hill", "Royal", "City",
                                               "Grace", "Union", "Garden", "Forest")],
    "wards": [f"Ward {place}" for place in range(20)],
    "Chinese towns": ["北京市", "上海市", "广州市", "深圳市", "成都市", "杭州市", "武汉市", "西安市", "南京市",
                      "重庆市"],
    "diagnoses": ["Flu", "Asthma", "Cancer", "Diabetes", "Migraine", "Fracture", "Hepatitis", "Depression",
                  "Pneumonia", "Appendicitis"],
}  # fmt: skip


@pytest.mark.parametrize("kind", NAMES)
def test_names_of_people(kind):
    assert first(NAMES[kind], rows=400) == "name"
    assert all(map(is_name_like, NAMES[kind]))


@pytest.mark.parametrize("kind", NO_NAMES)
def test_names_of_other_things(kind):
    assert first(NO_NAMES[kind], rows=400) != "name"


def test_nearly_unique_texts_of_two_capitals_may_be_names():
    draw = random.Random(1)  # noqa: S311 (no secret)
    word = lambda: "".join(draw.choices("aeilmnorst", k=6)).capitalize()  # noqa: E731
    texts = sorted({f"{word()} {word()}" for _ in range(60)})
    assert first(texts) == "name"
    found = patterns_of_texts(pa.array(texts), np.ones(len(texts), int), rows=len(texts))
    assert not found[0].certain, "shape alone is never sure"


def test_addresses_of_houses_and_what_only_ends_in_a_number():
    streets = ["Hauptstraße", "Am Markt", "Lindenweg", "Bahnhofstraße", "Kirchgasse", "Rue de la Paix", "Via Roma",
               "Calle Mayor", "Storgata", "Ringstraße", "Schulweg", "Birkenallee"]  # fmt: skip
    assert first([f"{one} {place}" for one in streets for place in (1, 27)]) == "street-address"
    assert first([f"{place} {one}" for one in streets for place in (1, 27)]) == "street-address"
    assert first([f"Klinik Köln {place}" for place in range(30)], rows=900) is None


@pytest.mark.parametrize(
    "streets",
    [
        ["Hauptstraße", "Lindenweg", "Am Markt"],
        ["HAUPTSTR.", "Lange Gasse"],
        ["Via Roma", "Piazza della Repubblica"],
        ["ul. Długa", "Kerkstraat"],
    ],
)
def test_addresses_in_few_streets(streets):
    assert first([f"{one} {place}" for one in streets for place in range(1, 30)], rows=2000) == "street-address"
    inside = [f"{one} {place}, 2nd floor" for one in streets for place in range(1, 10)]
    texts = pa.array([*inside, *(f"ward {place}" for place in range(40))])
    found = patterns_of_texts(texts, np.ones(len(texts), int), rows=2000)
    assert [(each.name, each.holds) for each in found] == [("street-address", False)]


GIVEN = ("Anna", "Peter", "Maria", "Laura", "Thomas", "Sarah")
FAMILY = ("Weber", "Koch", "Schulz", "Richter", "Becker")
STATES = ("open", "late", "in progress", "waiting list", "second visit", "by train", "Lower Saxony", "New Mexico")


@pytest.mark.parametrize(
    ("pattern", "texts"),
    [
        ("telephone", [f"call 0761/{number}" for number in range(100_000, 100_060)]),
        ("telephone", [f"tel:0170-{number}" for number in range(1_000_000, 1_000_060)]),
        ("telephone", [f"cell 555-013-{number}" for number in range(1_000, 1_060)]),
        ("e-mail", [f"mail {given.lower()}@example.org" for given in GIVEN]),
        ("name", [f"{given} {family}" for given in GIVEN for family in FAMILY]),
        ("name", [f"{family}, {given}" for given in GIVEN for family in FAMILY]),
        ("name", [f"{title} {family}" for title in ("Frau", "Hr.", "MRS", "Dr") for family in FAMILY]),
    ],
)
def test_short_texts_with_something_inside(pattern, texts):
    """A telephone number with a word, or a full name, in a few cells of a column of short texts."""
    found = patterns_of_texts(pa.array([*texts, *STATES]), np.ones(len(texts) + len(STATES), int), rows=20_000)
    assert [each.name for each in found] == [pattern]


@pytest.mark.parametrize(
    "texts",
    [
        ["MR Angiography", "MR Imaging", "MR Spectroscopy", "MR Enterography", "MR Urography", "MR Elastography"],
        [f"{one} County" for one in (*GIVEN[:5], *(f"{start}{end}" for start in ("Lake", "Mill", "Oak", "Green", "Ash")
                                                   for end in ("ham", "land", "ley", "ton", "ville", "wood")))],
        ["2024-01-31 12:30", "2024-02-01 07:05", "2024-02-02 23:59"],
        ["120/80 mmHg", "135/90 mmHg", "ratio 1:200000", "from 10:15 to 11:45"],
    ],
)  # fmt: skip
def test_what_only_looks_like_something_inside(texts):
    assert patterns_of_texts(pa.array(texts), np.ones(len(texts), int), rows=20_000) == ()


def test_addresses_with_the_number_in_front():
    for streets in (["Oak Street", "Mill Hill Road"], ["rue de la Paix", "avenue Foch"]):
        assert first([f"{place} {one}" for one in streets for place in range(1, 30)], rows=2000) == "street-address"


@pytest.mark.parametrize(
    "texts",
    [
        [f"Arbeitsplatz {place}" for place in range(30)],
        [f"came via phone {place} times" for place in range(15)],
        [f"{place} weeks on the road" for place in range(15)],
        [f"Platz {place} of Weg {place}" for place in range(15)],
    ],
)
def test_what_only_looks_like_addresses(texts):
    assert first(texts, rows=2000) is None


def test_free_text_in_any_language():
    assert first([f"Patient klagt über Schmerzen am Tag {place}" for place in range(30)]) == "free-text"
    assert first([f"пациент жалуется на боль, день {place}" for place in range(30)]) == "free-text"
    assert first([f"stage {place}" for place in range(30)]) is None


def days(start, span, count=200):
    return pa.array([start + dt.timedelta(days=span * place // count) for place in range(count)])


def test_dates_of_births_and_of_events():
    assert pattern_of_dates(days(dt.date(1930, 1, 1), 28_000)).name == "birth-date"
    found = pattern_of_dates(days(dt.date(2024, 6, 1), 30, count=30))
    assert (found.name, found.meaning) == ("event-date", "dates that spread over 30 days, as events do")
    assert pattern_of_dates(days(dt.date(1600, 1, 1), 150_000)).name == "event-date", "nobody lives so long"
    assert pattern_of_dates(pa.array([None], pa.date32())) is None
    stamps = days(dt.date(1930, 1, 1), 28_000).cast(pa.timestamp("us", tz="UTC"))
    assert pattern_of_dates(stamps).name == "birth-date"


def test_ages_and_years():
    assert pattern_of_numbers(pa.array(range(96))).name == "age"
    assert pattern_of_numbers(pa.array(range(1931, 2005))).name == "birth-year"
    assert pattern_of_numbers(pa.array(range(2005, 2024))).name == "year"
    for others in (range(0, 1000, 10), range(1, 35), [5, 80], range(-5, 90)):
        assert pattern_of_numbers(pa.array(others)) is None
    assert pattern_of_numbers(pa.array([0.5, 1.5])) is None


def test_places_need_a_neighbour_and_decimals():
    draw = random.Random(1)  # noqa: S311 (no secret)
    north = pa.array([52 + round(draw.random(), 5) for _ in range(50)])
    east = pa.array([150 + round(draw.random(), 5) for _ in range(50)])
    short = pa.array([round(draw.uniform(45, 120), 1) for _ in range(50)])
    assert set(coordinate_pairs({"a": north, "b": east, "c": short})) == {"a", "b"}
    assert coordinate_pairs({"a": east, "b": east}) == {}, "two longitudes are no place"
    assert coordinate_pairs({"a": north, "c": short, "b": east}) == {}
    assert coordinate_pairs({"a": pa.array([1, 2])}) == {}


def test_safe_harbor_cites_the_rule():
    assert SafeHarbor("B").to_json()["paragraph"] == "45 CFR 164.514(b)(2)(i)(B)"
    assert "20,000 people" in SafeHarbor("B").asks
    assert len(IDENTIFIERS) == 18
