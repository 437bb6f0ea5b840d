"""Tables and pictures whose parts can be picked, with a pointer or the keyboard, and pages of long tables.

A picture or a table is one piece of markup. What can be picked says so with `data-pick`; one handler around all of it
tells what was picked, so that a page with many rows stays small.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from nicegui.element import Element

from indistinct.document.html import escape
from indistinct.recoding.outputs import written_members
from indistinct.web import parts
from indistinct.web.frame import Screen
from indistinct.web.language import Own, shown_drawing, translate

PICKED = (
    "(e) => {{ const it = e.target.closest('[data-pick]'); if (it{also}) {{ e.preventDefault(); emit({what}); }} }}"
)
CLICKED = PICKED.format(also="", what="it.dataset.pick")
PRESSED = PICKED.format(
    also=" && it.tagName !== 'BUTTON' && (e.key === 'Enter' || e.key === ' ')", what="it.dataset.pick"
)
# The boxes of a lattice show their node; that in the key to them does not.
BOX = (
    "(e) => { const it = e.target.closest('g')?.querySelector('.node')?.textContent ?? ''; "
    "if (/^[0-9]+(,[0-9]+)*$/.test(it)) emit(it); }"
)


def pickable(markup: str, on_pick: Callable[[str], Any], *, name: str, classes: str = "") -> Element:
    """Return markup of this library; `on_pick` gets the `data-pick` of what is clicked, or entered with a key."""
    element = parts.html(markup, classes=classes)
    element.props["id"] = name

    def picked(event: Any) -> Any:
        return on_pick(str(event.args))

    element.on("click", picked, js_handler=CLICKED)
    return element.on("keydown", picked, js_handler=PRESSED)


def lattice(svg: str, on_pick: Callable[[str], Any], *, name: str) -> Element:
    """Draw a lattice; `on_pick` gets the clicked node. Lists offer the same to keyboards."""
    with parts.tag("figure", classes="picture") as figure:
        element = parts.html(shown_drawing(svg[svg.index("<svg") :].strip()), classes="wide")
        element.props["id"] = name
        element.on("click", lambda event: on_pick(str(event.args)), js_handler=BOX)
    return figure


@dataclass(frozen=True, slots=True)
class Pick:
    """A button in a cell: what it says, what is picked by it, and what a screen reader says."""

    text: str
    value: str
    label: str = ""
    disabled: bool = False


@dataclass(frozen=True, slots=True)
class Folded:
    """A long text in a cell, which opens: what it says when it is closed, and the whole text."""

    text: str
    whole: str


Entry = str | Pick | Folded
SET = re.compile(r"\{[^{}]*\}$")
MAX_MEMBERS = 4
"""Members of a set that a cell lists; more are counted."""


def fold_set(text: str) -> Entry:
    """Return values of a table, where they end with a long set as a text that opens.

    >>> fold_set("a → {a, b}"), fold_set("a → {a, b, c, d, e}").text
    ('a → {a, b}', 'a → 5 values')
    """
    match = SET.search(text)
    members = None if match is None else written_members(match[0])
    if match is None or members is None or len(members) <= MAX_MEMBERS:
        return Own(text)
    return Folded(f"{text[: match.start()]}{len(members):,} values", match[0])


def table_html(
    caption: str,
    headings: Sequence[str],
    rows: Iterable[Sequence[Entry]],
    *,
    right: Iterable[str] = (),
    marked: Iterable[int] = (),
    above: Sequence[tuple[str, int]] = (),
) -> str:
    """Return a table in HTML whose cells may be buttons; `above` are column groups, `marked` rows are highlighted.

    >>> "marked" in table_html("Ages", ["age"], [["1"], ["2"]], marked=[1])
    True
    """
    numbers, shades, title = set(right), set(marked), _say(caption)
    kinds = [' class="number"' if name in numbers else "" for name in headings]
    head = "".join(f'<th scope="col"{k}>{_say(name)}</th>' for name, k in zip(headings, kinds, strict=True))
    over = "".join(f'<th scope="colgroup" colspan="{span}">{_say(name)}</th>' for name, span in above)
    body = "".join(
        f"<tr{' class=marked' if index in shades else ''}>"
        + "".join(
            _cell(entry, kind, tag="td" if column else "th")
            for column, (entry, kind) in enumerate(zip(row, kinds, strict=True))
        )
        + "</tr>"
        for index, row in enumerate(rows)
    )
    lines = f"<tr>{over}</tr><tr>{head}</tr>" if over else f"<tr>{head}</tr>"
    return (
        f'<div class="wide" role="region" tabindex="0" aria-label="{title}"><table><caption>{title}</caption>'
        f"<thead>{lines}</thead><tbody>{body}</tbody></table></div>"
    )


def _say(text: str) -> str:
    """Return a text as HTML, as the page says it."""
    return escape(translate(text))


def _cell(entry: Entry, kind: str, *, tag: str) -> str:
    """Return a cell of a table as HTML."""
    scope = ' scope="row"' if tag == "th" else ""
    if isinstance(entry, str):
        return f"<{tag}{scope}{kind}>{_say(entry)}</{tag}>"
    if isinstance(entry, Folded):
        opened = f"<details><summary>{_say(entry.text)}</summary>{escape(entry.whole)}</details>"
        return f"<{tag}{scope}{kind}>{opened}</{tag}>"
    label = f' aria-label="{_say(entry.label)}"' if entry.label else ""
    off = " disabled" if entry.disabled else ""
    value = escape(entry.value)
    button = f'<button type="button" data-pick="{value}"{label}{off}>{_say(entry.text)}</button>'
    return f"<{tag}{scope}{kind}>{button}</{tag}>"


def pages(screen: Screen, name: str, *, of: int, step: int, what: str = "Rows") -> None:
    """Draw the position in a long table with buttons to other pages; `screen.choices[name]` is the first row."""
    first = first_of(screen, name, of=of, step=step)
    if of <= step:
        return

    def go(to: int) -> Callable[[], Any]:
        return lambda: screen.choices.__setitem__(name, to)

    last = min(first + step, of)
    ahead, back = (of - 1) // step * step, max(first - step, 0)
    with parts.tag("div", classes="actions pages", role="group", aria_label=f"Pages: {what.lower()}"):
        for text, label, to, off in (
            ("«", "First page", 0, first == 0),
            ("‹", "Previous page", back, first == 0),
            ("›", "Next page", last, last >= of),
            ("»", "Last page", ahead, last >= of),
        ):
            at = f"{name}-{label.partition(' ')[0].lower()}"
            parts.button(text, screen.on(go(to), at=at), name=at, disabled=off, label=label)
        parts.tag("span", f"{what} {first + 1:,} to {last:,} of {of:,}", role="status")


def first_of(screen: Screen, name: str, *, of: int, step: int) -> int:
    """Return the first place of the page that is shown, inside what there is."""
    wanted = int(screen.choices.get(name, 0))
    return wanted if 0 <= wanted < of else 0 if wanted < 0 or not of else (of - 1) // step * step
