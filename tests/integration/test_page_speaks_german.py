"""The page in German in a browser: the language that it asks for, the switch, and no English sentence on the way."""

import re

import pytest
from selenium.webdriver.common.by import By

from indistinct.document.catalogue import read_catalogue
from references.page_browser import STEPS, Page
from references.page_server import PATIENCE

GERMAN = read_catalogue("de")
ENGLISH_WORDS = re.compile(r"\b(the|of|and|is|are|which|that|with|by|for|not|has|have|this|it)\b", re.IGNORECASE)
SAID = (
    "const found = new Set(), walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);"
    "const code = 'code, pre, script, style, #popup, [lang=en]';"
    "while (walk.nextNode())"
    "  if (!walk.currentNode.parentElement.closest(code)) found.add(walk.currentNode.data.trim());"
    "for (const each of document.querySelectorAll('[aria-label], [placeholder], [aria-valuetext], [title]'))"
    "  if (!each.closest(`${code}, svg[role=img] *`))"
    "    for (const name of ['aria-label', 'placeholder', 'aria-valuetext', 'title'])"
    "      if (each.hasAttribute(name)) found.add(each.getAttribute(name).trim());"
    "return [document.title, ...found]"
)
"""What people read and hear of a page, whether it is unfolded or not."""
FOREIGN = [text for text in GERMAN.exact.values() if ENGLISH_WORDS.search(text)]
FOREIGN += [
    re.sub(r"\{\w+\}", "", each.translation) for each in GERMAN.patterns if ENGLISH_WORDS.search(each.translation)
]
"""What our German says in English words: names of rules, of laws and of commands."""


def english_in(page):
    """Return what a page says in English: what the catalogue would translate, and what has an English word."""
    texts = [text for text in page.script(SAID) if re.search("[A-Za-z]{2}", text)]
    assert len(texts) > 20
    known = [text for text in texts if " " in text and (GERMAN.translate(text) or text) != text]
    return known + [text for text in texts if ENGLISH_WORDS.search(without_names(text, str(page.server.folder)))]


def without_names(text, folder):
    """Return a text without the path of the server's folder, and without what our German says in English words."""
    for name in (folder, *FOREIGN):
        text = text.replace(name, "")
    return "" if any(text in each for each in FOREIGN) else text


@pytest.fixture
def german(chrome, server):
    """A steward whose browser asks for German."""
    steward = Page(chrome, server)
    chrome.execute_cdp_cmd("Network.enable", {})
    chrome.execute_cdp_cmd("Network.setExtraHTTPHeaders", {"headers": {"Accept-Language": "de-AT,de;q=0.9,en;q=0.8"}})
    steward.looks()
    steward.enter()
    yield steward
    chrome.execute_cdp_cmd("Network.setExtraHTTPHeaders", {"headers": {}})
    chrome.get("about:blank")


def language_of(page):
    return page.script("return [document.documentElement.lang, document.querySelector('h1').textContent]")


@pytest.mark.parametrize(
    ("asked", "lang", "title"),
    [("de-AT,de;q=0.9,en;q=0.8", "de", "Eine Tabelle öffnen"), ("fr,en;q=0.5", "en-US", "Open a table")],
)
def test_a_page_comes_in_the_language_that_is_asked_for(server, asked, lang, title):
    page = server.ask("GET", "/open", cookie=server.cookie, Accept_Language=asked).body.decode()
    assert f'<html lang="{lang}">' in page
    assert f"<title>{title} · indistinct</title>" in page


def test_a_refusal_is_in_the_language_that_is_asked_for(server):
    assert server.ask("GET", "/open", Accept_Language="de").body.decode().startswith("Diese Adresse braucht das Token")
    assert server.ask("GET", "/open").body.decode().startswith("This address needs the token")


def test_the_browser_chooses_the_language_and_the_steward_another_for_the_session(german):
    assert language_of(german) == ["de", "Eine Tabelle öffnen"]
    german.click("language-en")
    german.wait("English", lambda: language_of(german) == ["en-US", "Open a table"])
    german.at("columns")
    assert language_of(german) == ["en-US", "Columns"]
    german.click("language-de")
    german.wait("German", lambda: language_of(german) == ["de", "Spalten"])
    assert german.chrome.find_elements(By.ID, "language-de") == []


def test_a_walk_through_all_steps_meets_no_english_sentence(german):
    german.click("demo")
    german.wait_for("Zeilen 1 bis")
    said = {"open": english_in(german)}
    for step in STEPS[1:5]:
        german.at(step)
        if step in ("columns", "hierarchies"):
            german.click("column-zipcode" if step == "columns" else "column-2")
            german.wait("a column", lambda: german.script("return !!document.querySelector('.line-body')"))
        said[step] = english_in(german)
    german.click("search")
    german.wait("a verdict", lambda: german.has("verdict"))
    german.wait("all of its answers", lambda: not german.has("chores"), patience=4 * PATIENCE)
    for step in STEPS[4:]:
        german.at(step)
        if step == "explore":
            german.click("expert")
            german.wait("the part of experts", lambda: german.has("explore-all"))
        german.wait("pictures", lambda: "wird gezeichnet" not in german.text)
        said[f"{step} with a release"] = english_in(german)
    assert {step: texts for step, texts in said.items() if texts} == {}
    assert "5.000" in german.text


@pytest.mark.parametrize("step", STEPS)
def test_long_german_words_fit_a_phone_and_keep_nobody_out(german, step):
    german.click("demo")
    german.wait_for("Zeilen 1 bis")
    for width in (1280, 390):
        german.looks(width=width)
        german.at(step)
        wider = german.script("return document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wider <= 0, f"wider than {width} pixels"
        assert german.barriers() == []
