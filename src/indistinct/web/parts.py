"""The parts that steps are made of: the browser's own controls with their labels, errors at their fields, and tables.

Controls are those of HTML, so that keyboards and screen readers work as everywhere. Texts are escaped where they are
shown: `say` and labels show text, and `html` takes markup that this library made.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import replace
from typing import Any

from nicegui import ui
from nicegui.element import Element
from nicegui.elements.mixins.text_element import TextElement

from indistinct.document.blocks import Cell, Grid, Picture, grid
from indistinct.document.html import grid_html, inline_svg
from indistinct.web.language import Own, shown_attributes, shown_drawing, shown_grid, translate
from indistinct.web.worker import TaskError

Handler = Callable[..., Any | Awaitable[Any]]


def tag(name: str, text: str = "", *, classes: str = "", **attributes: Any) -> Element:
    """Return an element of HTML with a text; attributes that are None or False are left out.

    An underscore in the name of an attribute is a hyphen: `aria_label`. What people read is in the page's language.
    """
    element = TextElement(tag=name, text=translate(text)) if text else Element(name)
    if classes:
        element.classes(classes)
    for key, value in shown_attributes(attributes).items():
        if value is not None and value is not False:
            element.props[key.replace("_", "-").removesuffix("-")] = value
    return element


def html(markup: str, *, name: str = "div", classes: str = "") -> Element:
    """Return an element with markup made by this library, in which all texts are escaped."""
    element = ui.html(markup, sanitize=False, tag=name)
    return element.classes(classes) if classes else element


def say(text: str, *, kind: str = "") -> Element:
    """Return a paragraph."""
    return tag("p", text, classes=kind)


def heading(text: str, *, level: int = 2) -> Element:
    """Return a heading."""
    return tag(f"h{level}", text)


def notice(text: str, *, kind: str = "", hint: str | None = None) -> Element:
    """Return a highlighted notice: good, bad or warning; a bad one is read aloud at once."""
    with tag("div", classes=f"notice {kind}".strip(), role="alert" if kind == "bad" else "status") as box:
        tag("p", text)
        if hint:
            tag("p", hint, classes="hint")
    return box


def problem(error: TaskError, *, at: str | None = None) -> Element:
    """Draw an error with its hint; `at` is the field it belongs to."""
    box = notice(error.message, kind="bad", hint=error.hint)
    if at:
        box.props["id"] = f"{at}-error"
    return box


def button(
    text: str,
    on_click: Handler,
    *,
    main: bool = False,
    name: str | None = None,
    disabled: bool = False,
    label: str = "",
) -> Element:
    """Return a button; `main` is the one action of a step, `label` what a screen reader says instead of the text."""
    kind = "main" if main else ""
    element = tag("button", text, classes=kind, type="button", id=name, disabled=disabled, aria_label=label or None)
    return element.on("click", lambda _event: on_click(), args=[])


def term(text: str, meaning: str) -> Element:
    """Return a word that shows its meaning on hover, touch or keyboard focus."""
    with tag("button", text, classes="term", type="button") as word:
        tag("span", meaning, classes="tip", role="tooltip")
    return word


def choices(
    legend: str, options: Mapping[str, tuple[str, str]], value: str | None, on_change: Handler, *, name: str
) -> Element:
    """Return a question with answers to choose from: each has a title, and a sentence that says what it means."""
    with tag("fieldset", classes="choices", id=name, tabindex="-1") as box:
        tag("legend", legend)
        for key, (title, about) in options.items():
            at = f"{name}-{key}"
            with tag("label", classes="option", for_=at):
                picked = tag("input", id=at, type="radio", name_=name, value=key, checked=key == value)
                picked.on("change", lambda event: on_change(event.args), js_handler="(e) => emit(e.target.value)")
                with tag("span"):
                    tag("strong", title)
                    tag("span", about, classes="hint")
    return box


def link(
    text: str, target: str, *, classes: str = "", current: bool = False, download: bool = False, label: str = ""
) -> Element:
    """Return a link; `label` is what a screen reader says instead of the text."""
    at = "step" if current else None
    return tag(
        "a", text, classes=classes, href=target, aria_current=at, download=download or None, aria_label=label or None
    )


def field(
    label: str,
    value: str,
    on_change: Handler,
    *,
    name: str,
    kind: str = "text",
    hint: str = "",
    error: TaskError | None = None,
    **attributes: Any,
) -> Element:
    """Return a labelled field for a text or a number; `on_change` gets the text when it is left or entered."""
    with tag("div", classes="field"):
        tag("label", label, for_=name)
        if kind == "area":
            box = tag("textarea", id=name, value=value, spellcheck="false", **_aria_of(name, hint, error), **attributes)
        else:
            box = tag("input", id=name, type=kind, value=value, **_aria_of(name, hint, error), **attributes)
        box.on("change", lambda event: on_change(event.args), js_handler="(e) => emit(e.target.value)")
        _hints(name, hint, error)
    return box


def choice(
    label: str,
    options: Mapping[str, str] | Mapping[str, str | Mapping[str, str]] | Sequence[str],
    value: str,
    on_change: Handler,
    *,
    name: str,
    hint: str = "",
    error: TaskError | None = None,
    hidden_label: bool = False,
) -> Element:
    """Draw a labelled list to choose one of; `options` maps values to labels.

    Where that is a mapping again, it is a group of options with its name. Values alone are names, which stay.
    """
    labels = options if isinstance(options, Mapping) else {each: Own(each) for each in options}
    with tag("div", classes="field"):
        tag("label", label, for_=name, classes="unseen" if hidden_label else "")
        with tag("select", id=name, value=value, **_aria_of(name, hint, error)) as box:
            for key, text in labels.items():
                if isinstance(text, Mapping):
                    with tag("optgroup", label=key):
                        for inner, option in text.items():
                            tag("option", option, value=inner, selected=inner == value)
                else:
                    tag("option", text or Own(key), value=key, selected=key == value)
        box.on("change", lambda event: on_change(event.args), js_handler="(e) => emit(e.target.value)")
        _hints(name, hint, error)
    return box


def tick(
    label: str, value: bool, on_change: Handler, *, name: str, hint: str = "", error: TaskError | None = None
) -> Element:
    """Return a labelled box that is ticked or not."""
    with tag("div", classes="field tick"):
        box = tag("input", id=name, type="checkbox", checked=value, **_aria_of(name, hint, error))
        box.on("change", lambda event: on_change(event.args), js_handler="(e) => emit(e.target.checked)")
        tag("label", label, for_=name)
        _hints(name, hint, error)
    return box


def upload(
    label: str,
    on_uploaded: Handler,
    *,
    name: str,
    kind: str,
    most: int,
    hint: str,
    error: TaskError | None = None,
    accept: str | None = None,
    several: bool = False,
) -> Element:
    """Return a labeled field for a file of at most `most` bytes; `on_uploaded` gets the server's answer.

    Where `several` may come, they are the files of one table, and can be dropped on the field, too.
    """
    with tag("div", classes="field drop" if several else "field"):
        tag("label", label, for_=name)
        box = tag(
            "input",
            id=name,
            type="file",
            accept=accept,
            multiple=several,
            data_upload=kind,
            data_most=str(most),
            data_refused=too_large(most),
            **_aria_of(name, hint, error),
        )
        box.on("uploaded", lambda event: on_uploaded(event.args), js_handler="(e) => emit(e.detail)")
        tag("progress", id=f"{name}-progress", hidden=True, aria_label="Upload")
        _hints(name, hint, error)
    return box


def too_large(most: int) -> str:
    """Return the message about a file that is larger than an upload may be.

    >>> too_large(2_000_000_000)
    'the file is larger than 2 GB, the most that may be uploaded; start the server with --largest-upload for more'
    """
    return (
        f"the file is larger than {most / 10**9:,g} GB, the most that may be uploaded; start the server with "
        "--largest-upload for more"
    )


def _aria_of(name: str, hint: str, error: TaskError | None) -> dict[str, Any]:
    about = " ".join([*([f"{name}-error"] if error else []), *([f"{name}-hint"] if hint else [])])
    return {"aria_describedby": about or None, "aria_invalid": "true" if error else None}


def _hints(name: str, hint: str, error: TaskError | None) -> None:
    if hint:
        tag("p", hint, classes="hint", id=f"{name}-hint")
    if error:
        problem(error, at=name)


def table(
    caption: str, headings: Sequence[str], rows: Iterable[Sequence[Cell]], *, right: Iterable[str] = ()
) -> Element:
    """Return a table to read, with its caption; columns named by `right` hold numbers."""
    return document_table(grid(caption, headings, list(rows), right=right))


def document_table(table: Grid, *, classes: str = "") -> Element:
    """Return a table of a document."""
    return html(grid_html(shown_grid(table)), classes=classes)


def picture(svg: str, *, caption: str = "", values: bool = False) -> Element:
    """Return an SVG picture that this library drew; its title describes it, and marks of its axes may be `values`.

    A screen reader reads its title and its description. It skips the marks, which Vega labels in English.
    """
    drawn = shown_drawing(svg[svg.index("<svg") :].strip(), values=values)
    opening = drawn[: drawn.index(">")]
    with tag("figure", classes="picture") as figure:
        html(drawn if 'role="img"' in opening else drawn.replace("<svg", '<svg role="img"', 1), classes="wide")
        if caption:
            tag("figcaption", caption)
    return figure


def document_picture(block: Picture, *, name: str) -> Element:
    """Return a picture of a document, with its caption; `name` is unique in the page."""
    translated = replace(block, text=translate(block.text))
    return picture(inline_svg(translated, name=name), caption=block.caption)


def code(text: str, *, label: str, name: str) -> Element:
    """Return a text to be copied, with a button that does so."""
    with tag("figure", classes="code") as figure:
        with tag("figcaption"):
            tag("span", label)
            button("Copy", lambda: ui.clipboard.write(text), name=f"{name}-copy", label=f"Copy {label}")
        tag("pre", Own(text), id=name, tabindex="0", aria_label=label, role="region")
    return figure


def details(summary: str, opened: MutableMapping[str, Any], *, name: str, start: bool = False) -> Element:
    """Draw a section that can be opened; `opened` keeps its state under `name` when the page is redrawn."""
    box = tag("details", id=name, open=bool(opened.get(name, start)))
    box.on("toggle", lambda event: opened.__setitem__(name, event.args), js_handler="(e) => emit(e.target.open)")
    with box:
        tag("summary", summary)
    return box
