"""Catalogues of sentences: how they are read and matched, what stays, and that each translation is whole."""

import ast
import calendar
import functools
import re
import textwrap
from pathlib import Path

import pytest

import indistinct
from indistinct.document.blocks import Figure, Listing, Picture, Terms, document, grid
from indistinct.document.catalogue import LANGUAGES, MAX_SENTENCE_CHARACTERS, read_catalogue, read_messages
from indistinct.document.html import page_html
from indistinct.document.translation import Translation
from indistinct.errors import ParameterError

PLACEHOLDER = re.compile(r"\{(\w+)(?::(\w+))?\}")
GERMAN = read_catalogue("de")
OTHERS = [language for language in LANGUAGES if language != "en"]


def messages_of(language):
    from importlib.resources import files

    return list(read_messages(files("indistinct.document").joinpath(f"{language}.po").read_text("utf-8")))


@pytest.mark.parametrize("language", OTHERS)
def test_every_message_has_a_translation_with_its_placeholders_and_stands_once(language):
    header, *messages = messages_of(language)
    assert header[0] == ""
    sources = [source for source, _ in messages]
    assert len(sources) == len(set(sources))
    for source, said in messages:
        assert said.strip() == said != "", source
        named = {name for name, _ in PLACEHOLDER.findall(source)}
        assert set(re.findall(r"\{(\w+)\}", said)) == named, source
        assert re.sub(r"\{\w+\}", "", said).count("{") == PLACEHOLDER.sub("", source).count("{"), source
        assert source.endswith(".") == said.endswith("."), source


@pytest.mark.parametrize("language", OTHERS)
def test_no_message_of_placeholders_alone_keeps_words_that_it_does_not_know(language):
    """One such as `{rule}: {note:t}` would leave half of any sentence in English; the name of a column may be followed
    by numbers, as in `{what} {a:n} → {b:n}`."""
    placed = [source for source, _ in messages_of(language)[1:] if PLACEHOLDER.search(source)]
    bare = [source for source in placed if not re.search("[a-z]", PLACEHOLDER.sub("", source))]
    kinds = {source: [kind for _, kind in PLACEHOLDER.findall(source)] for source in bare}
    assert [source for source, (first, *others) in kinds.items() if first == "" and {*others} - {"n"}] == []


MONTHS = {each.lower() for each in calendar.month_name}
"""Words of drawings that a library makes, and no module says."""


@functools.cache
def said_by_modules():
    """Return all texts of the package without punctuation, as one text in small letters."""
    package = Path(indistinct.__file__).parent
    texts = [each.read_text(encoding="utf-8") for each in package.rglob("*.js")]
    for path in package.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        texts += [
            each.value for each in ast.walk(tree) if isinstance(each, ast.Constant) and isinstance(each.value, str)
        ]
    return "\n".join(map(plain_words, texts))


def plain_words(text):
    return " ".join(re.sub(r"[^\w\s]|\b\d+\b", " ", PLACEHOLDER.sub(" \0 ", text)).split()).lower()


def pieces_of(words):
    """Return into how few pieces, each of which a module says, words can be taken apart."""
    found = 0
    while words:
        said = [
            size for size in range(len(words), 0, -1) if " ".join(words[:size]).removesuffix("s") in said_by_modules()
        ]
        if not said:
            return len(words) + 1 + found
        words, found = words[said[0] :], found + 1
    return found


@pytest.mark.parametrize("language", OTHERS)
def test_no_message_is_left_of_a_sentence_that_no_module_says(language):
    """Sentences are put together, so that a message is said in pieces; one of single words only is a left-over."""
    stale = []
    for source, _ in messages_of(language)[1:]:
        for run in PLACEHOLDER.split(source)[::3]:
            words = plain_words(run).split()
            if pieces_of(words) > 1 + len(words) // 2 and not set(words) <= MONTHS:
                stale.append(source)
    assert stale == []


@pytest.mark.parametrize("language", OTHERS)
def test_every_kind_of_placeholder_is_known(language):
    kinds = {kind for source, _ in messages_of(language) for _, kind in PLACEHOLDER.findall(source)}
    assert kinds <= {"", "n", "d", "t", "l", "list", "then", "both", "q", "w", "c", "and", "par"}


@pytest.mark.parametrize(
    ("english", "german"),
    [
        ("3 of 1,500 rows (0.2 %)", "3 von 1.500 Zeilen (0,2 %)"),
        ("< 0.01 %", "< 0,01 %"),
        ("-1,234.5", "-1.234,5"),
        ("alpha = 0.214, k = 14", "alpha = 0,214; k = 14"),
        ("1 warning; no profile was asked for.", "1 Warnung; es wurde kein Profil verlangt."),
        (
            "Not stated: purpose (what the release is for).",
            "Nicht angegeben: Zweck (wofür die Veröffentlichung bestimmt ist).",
        ),
        (
            "An attacker who knows age, sex and zip of a person is left with at least 11 people.",
            "Wer age, sex und zip einer Person kennt, hat mindestens 11 Personen zur Auswahl.",
        ),
        (
            "FAILED: 'class': 1,490 of 1,500 rows (99.3 %) are unique",
            "NICHT ERFÜLLT: 'class': 1.490 von 1.500 Zeilen (99,3 %) sind einzigartig",
        ),
        (
            "Say which of two people was in the table.",
            "Sagen, welche von zwei Personen in der Tabelle war.",
        ),
        (
            "The smallest class has [hidden] rows.",
            "Die kleinste Äquivalenzklasse hat [verborgen] Zeilen.",
        ),
    ],
)
def test_sentences_are_found_by_their_text_with_numbers_and_names_in_it(english, german):
    assert GERMAN.translate(english) == german


@pytest.mark.parametrize("text", ["0.2.0", "17.2.3", "1,50", "v1", "Müller", "2026-05-31", "FAILED: what is this", ""])
def test_what_the_catalogue_does_not_have_is_none(text):
    assert GERMAN.translate(text) is None


def test_the_longest_sentences_are_not_looked_up_and_end_soon():
    """A hostile name of a column neither stops a report nor breaks its sentence."""
    names = ", ".join(repr(f"are unique on the {n}; of a person") for n in range(30_000))
    assert GERMAN.translate(f"{names} together: 3 of 9 rows are unique") is None
    hostile = ("a; " * (MAX_SENTENCE_CHARACTERS // 3)) + "!"
    assert GERMAN.translate(hostile) is None


def test_an_unknown_language_is_refused_with_those_that_are_there():
    with pytest.raises(ParameterError, match=r"`language` must be one of en, de; got 'fr'"):
        read_catalogue("fr")


def test_names_of_columns_and_their_values_stay_where_the_same_word_is_a_term():
    translation = Translation(GERMAN, {"class", "yes", "value", "my own attacker"})
    table = grid("What was counted", ("column", "value"), [("class", "yes"), ("rows", "no such word")])
    translated = translation.block(table)
    assert translated.caption == "Was gezählt wurde"
    assert translated.headings == ("Spalte", "value")
    assert translated.rows == (("class", "yes"), ("Zeilen", "no such word"))
    assert translation.block(Listing(("my own attacker",))).items == ("my own attacker",)
    assert translation.block(Terms((("class", "yes"),))).pairs == (("Äquivalenzklasse", "yes"),)
    assert list(translation.missing) == ["no such word"]


def test_figures_keep_their_values_and_paths():
    figure = Figure(("assess", "average"), 0.0625, "6.25 %")
    [[_, cell]] = Translation(GERMAN).block(grid("", ("figure", "value"), [("rows", figure)])).rows
    assert cell == Figure(("assess", "average"), 0.0625, "6,25 %")
    assert Translation(GERMAN).cell(Figure(("a",), None, "hidden")).text == "verborgen"


def test_words_of_drawings_are_translated_and_values_are_not():
    svg = '<svg><text x="1">rows in a class</text><text>flu &amp; cough</text><text>yes</text></svg>'
    drawn = Translation(GERMAN, {"yes"}).block(Picture("Suppressed rows", "Suppressed rows", svg)).svg
    assert (
        drawn
        == '<svg><text x="1">Zeilen in einer Äquivalenzklasse</text><text>flu &amp; cough</text><text>yes</text></svg>'
    )


def test_notes_of_a_drawing_are_translated_in_as_many_lines():
    first = "before: the smallest has 1 row; 100 % of the rows are in smaller ones than k = 5"
    second = "after: the smallest has 12 rows; 0 % of the rows are in smaller ones than k = 5"
    lines = [line for note in (first, second) for line in textwrap.wrap(note, 56)]
    spans = "".join(f'<tspan x="0" dy="14">{line}</tspan>' for line in lines)
    drawn = Translation(GERMAN).drawing(f"<svg><desc>{first};\n{second}</desc><text>{spans}</text></svg>")
    said = [GERMAN.translate(note) for note in (first, second)]
    assert None not in said
    assert f"<desc>{said[0]};\n{said[1]}</desc>" in drawn
    german = re.findall(r"<tspan[^>]*>([^<]*)</tspan>", drawn)
    assert len(german) == len(lines) == 4
    assert " ".join(german) == " ".join(said)


def test_lines_of_values_in_a_drawing_stay():
    svg = '<svg><text><tspan>Q&amp;A</tspan><tspan x="0">yes</tspan></text></svg>'
    assert Translation(GERMAN, {"yes"}).drawing(svg) == svg


def test_a_page_says_its_language_and_english_stays_as_it_was():
    said = document("Suppressed rows", grid("Suppressed rows", ("counted", "number"), [("suppressed rows", "1,200")]))
    german = page_html(said, byline="Attributes", footer="", translation=Translation(GERMAN))
    assert '<html lang="de">' in german
    assert "Unterdrückte Zeilen" in german
    assert "1.200" in german
    assert '<html lang="en">' in page_html(said)
    assert "1,200" in page_html(said)
