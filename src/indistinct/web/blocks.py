"""Sections of a report, and what a search is asked for, drawn with the parts of the web app."""

from collections.abc import Sequence

from indistinct.document.blocks import Block, Code, Grid, Listing, Notice, Paragraph, Picture, Section, Terms
from indistinct.web import parts
from indistinct.web.language import Own, translate

ASKED = "What is searched for"


def draw_section(section: Section, *, closed: bool = False) -> None:
    """Draw a section under its heading; a `closed` one opens on request."""
    if not closed:
        parts.heading(section.title)
        _draw(section)
        return
    with parts.tag("details", id=f"section-{section.anchor}"):
        parts.tag("summary", section.title)
        _draw(section)


def _draw(section: Section) -> None:
    for index, block in enumerate(section.blocks):
        _draw_block(block, name=f"{section.anchor}-{index}", title=section.title)


def _draw_block(block: Block, *, name: str, title: str) -> None:
    """Draw one block of a document."""
    match block:
        case Paragraph(text):
            parts.say(text)
        case Notice(text, tone):
            parts.notice(text, kind="" if tone == "missing" else tone)
        case Listing(items):
            draw_list(items)
        case Grid():
            parts.document_table(block, classes="titled" if block.caption == title else "")
        case Picture():
            parts.document_picture(block, name=name)
        case Code(caption, text):
            parts.code(text, label=caption, name=name)
        case Terms():
            with parts.tag("dl", classes="facts"):
                for term, cell in block.pairs:
                    with parts.tag("div"):
                        parts.tag("dt", term)
                        parts.tag("dd", "–" if cell is None else cell if isinstance(cell, str) else cell.text)


def draw_list(items: Sequence[str]) -> None:
    """Draw sentences under each other."""
    with parts.tag("ul"):
        for each in items:
            parts.tag("li", each)


def draw_asked(requests: Sequence[tuple[str, Sequence[str], str]]) -> None:
    """Draw the request of a search: for each part its name, its sentences, and a link to its step."""
    with parts.tag("section", classes="card asked", id="asked", aria_label=ASKED):
        parts.heading(ASKED, level=3)
        with parts.tag("dl", classes="facts"):
            for label, words, step in requests:
                with parts.tag("div"):
                    parts.tag("dt", label)
                    with parts.tag("dd"):
                        for each in words:
                            parts.tag("span", Own(f"{translate(each).rstrip('.')}. "))
                        parts.link("Change", f"/{step}", label=f"Change: {label}")
