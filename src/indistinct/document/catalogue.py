"""Catalogues of sentences (gettext `.po`): finished English sentences, and the same in another language.

A message of a catalogue is a sentence with placeholders, `{rows:n} rows are unique on {columns}`. It is found by the
finished English sentence, including its numbers and names, so that results are worded in one language and an interface
translates when it shows them. The kind of a placeholder gives its content, and how that is translated:

===========  ====================================================================
``{x}``      a name or a value, which stays
``{x:n}``    a number or a share, written as the language writes numbers
``{x:q}``    names in quotes, which stay
``{x:w}``    one word, which stays, such as the name of a parameter
``{x:c}``    a name without blanks, which stays
``{x:d}``    a date such as 2026-05-31, written as the language writes dates
``{x:t}``    a sentence or words of the catalogue
``{x:l}``    several of them with "; " between them
``{x:list}`` several of them with ", " between them
``{x:then}`` several of them with ", then " between them
``{x:both}`` several of them with " and " between them
``{x:and}``  names with commas and a last "and" between them, each perhaps with a share behind it
``{x:par}``  parameters such as `k = 5, l = 2`
===========  ====================================================================
"""

import ast
import datetime
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from indistinct.errors import ParameterError

ENGLISH = "en"
LANGUAGES = {ENGLISH: "English", "de": "German"}
"""The languages of interfaces; the text of a program is English, each other one has its catalogue."""
MAX_SENTENCE_CHARACTERS = 4_000
"""Longer sentences, which name very many columns, are not looked up."""
NUMBER = r"(?:[<>] ?)?-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e[-+]?\d+)?(?: ?%)?"
LISTS = {"l": "; ", "list": ", ", "then": ", then ", "both": " and "}
"""What is between the parts of a list, by the kind of its placeholder."""
_SHAPES = {
    **dict.fromkeys(("", "t", *LISTS, "and"), ".+?"),
    "q": """['"].+?['"]""",
    "c": r"\S+",
    "w": r"[a-z][a-z0-9.]*(?:-[a-z0-9.]+)*",
    "par": r"[a-z_]+ = \S.*?",
    "n": rf"{NUMBER}|\[?hidden\]?",
    "d": r"\d{4}-\d\d-\d\d",
}
_SHARE = re.compile(rf"(?<=\(){NUMBER}(?=\))")
_ENDS_IN_VALUE = re.compile(r"\{\w+\}$")
_PLACEHOLDER = re.compile(r"\{(\w+)(?::(\w+))?\}")
_ENTRY = re.compile(r'^(msgid|msgstr) (".*")$|^(".*")$')


@dataclass(frozen=True, slots=True)
class Message:
    """A message of a catalogue: its English text as a pattern, the kinds of its placeholders, and its translation."""

    source: str
    pattern: re.Pattern[str]
    kinds: Mapping[str, str]
    translation: str


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The messages of a language, and how it writes numbers and dates.

    >>> german = read_catalogue("de")
    >>> german.translate("1,500 rows"), german.number("99.3 %"), german.date("2026-05-31")
    ('1.500 Zeilen', '99,3 %', '31.05.2026')
    """

    language: str
    exact: Mapping[str, str]
    patterns: tuple[Message, ...]
    decimal: str
    thousands: str
    dates: str

    def translate(self, text: str) -> str | None:
        """Return a sentence in the language of the catalogue; None where it has none."""
        end = "." if text.endswith(".") else ""
        part = text[:1].lower() + text[1 : len(text) - len(end)]
        may = text[:1].isupper() or bool(end)  # it may be the same as a part of another one
        translated = None if may and text not in self.exact and part in self.exact else self._translate(text)
        if translated is None and may:
            part_translated = self._translate(part)
            translated = None if part_translated is None else part_translated[:1].upper() + part_translated[1:] + end
        return translated

    def number(self, text: str) -> str:
        """Return a number as the language writes it."""
        marks = {",": self.thousands, ".": self.decimal}
        return self.exact.get(text) or "".join(marks.get(letter, letter) for letter in text)

    def join(self, text: str) -> str:
        """Return names with commas and a last "and" between them as the language joins them."""
        names, word, last = _SHARE.sub(lambda found: self.number(found[0]), text).rpartition(" and ")
        return f"{names} {self.exact['and']} {last}" if word else self.exact.get(last, last)

    def _spell(self, text: str) -> str:
        """Write a number in the language of the catalogue; return other values unchanged."""
        return self.number(text) if re.fullmatch(NUMBER, text) else text

    def date(self, text: str) -> str:
        """Return a date as the language writes it; a text that is no date stays."""
        try:
            return datetime.date.fromisoformat(text).strftime(self.dates)
        except ValueError:
            return text

    def _translate(self, text: str) -> str | None:
        """Translate a text by an exact message, as a number, or by a pattern; None if nothing fits."""
        if text in self.exact:
            return self.exact[text]
        if re.fullmatch(NUMBER, text):
            return self.number(text)
        if len(text) > MAX_SENTENCE_CHARACTERS:
            return None
        for message in self.patterns:
            if text.endswith(".") and _ENDS_IN_VALUE.search(message.source):
                continue  # the full stop ends the sentence and is no part of a value: `translate` tries without it
            matched = message.pattern.fullmatch(text)
            filled = None if matched is None else self._fill(message, matched.groupdict())
            if filled is not None:
                return filled
        return None

    def _fill(self, message: Message, parts: Mapping[str, str]) -> str | None:
        """Return a translation with its placeholders filled; None where a part has no translation."""
        filled: dict[str, str] = {}
        for name, text in parts.items():
            part = self._convert(text, message.kinds[name])
            if part is None:
                return None
            filled[name] = part
        return _PLACEHOLDER.sub(lambda found: filled[found[1]], message.translation)

    def _convert(self, text: str, kind: str) -> str | None:
        """Convert the text of a placeholder by its kind: number, date, or text to translate."""
        match kind:
            case "n":
                return self.number(text)
            case "d":
                return self.date(text)
            case "t":
                return self.translate(text) if text[:1].isupper() else self._translate(text)
            case "l" | "list" | "then" | "both":
                parts = [self._translate(each) for each in text.split(LISTS[kind])]
                between = LISTS[kind].replace("then", self.exact["then"]).replace("and", self.exact["and"])
                return between.join(part or "" for part in parts) if None not in parts else None
            case "and":
                return self.join(text)
            case "par":
                pairs = [each.partition(" = ") for each in text.split(", ")]
                return "; ".join(f"{name} = {self._spell(value)}" for name, _, value in pairs)
            case _:
                return text


@cache
def read_catalogue(language: str) -> Catalogue:
    """Return the catalogue of a language; raise `ParameterError` for one that has none."""
    require_language(language)
    if language == ENGLISH:
        return Catalogue(ENGLISH, {}, (), ".", ",", "%Y-%m-%d")
    text = files("indistinct.document").joinpath(f"{language}.po").read_text("utf-8")
    messages = dict(read_messages(text))
    header = dict(line.split(": ", 1) for line in messages.pop("").splitlines())
    patterns = [
        _message(source, translation) for source, translation in messages.items() if _PLACEHOLDER.search(source)
    ]
    # Of two messages for one sentence the one is meant that begins with words, and then the longer one.
    patterns.sort(key=lambda each: (each.source.startswith("{"), -len(_PLACEHOLDER.sub("", each.source))))
    exact = {source: translation for source, translation in messages.items() if not _PLACEHOLDER.search(source)}
    return Catalogue(language, exact, tuple(patterns), header["X-Decimal"], header["X-Thousands"], header["X-Date"])


def require_language(language: str) -> None:
    """Raise `ParameterError` for a language that interfaces do not have."""
    if language not in LANGUAGES:
        raise ParameterError(
            f"`language` must be one of {', '.join(LANGUAGES)}; got {language!r}",
            hint="en is English, de is German",
        )


def read_messages(text: str) -> Iterator[tuple[str, str]]:
    r"""Yield the messages of a `.po` file; that without a text is its header.

    >>> list(read_messages('msgid "row"\nmsgstr ""\n"Zei"\n"le"'))
    [('row', 'Zeile')]
    """
    parts: dict[str, str] = {}
    key = ""
    for line in [*text.splitlines(), 'msgid ""']:
        match = _ENTRY.match(line.strip())
        if match is None:
            continue
        if match[1]:
            key = match[1]
            if key == "msgid" and "msgstr" in parts:
                yield parts["msgid"], parts["msgstr"]
                parts = {}
        parts[key] = parts.get(key, "") + ast.literal_eval(match[2] or match[3])


def _message(source: str, translation: str) -> Message:
    """Compile a message with placeholders to a pattern."""
    kinds: dict[str, str] = {}

    def shape_of(match: re.Match[str]) -> str:
        name, kind = match[1], match[2] or ""
        if name in kinds:
            return f"(?P={name})"
        kinds[name] = kind
        return f"(?P<{name}>{_SHAPES[kind]})"

    return Message(source, re.compile(_replace_between(source, re.escape, shape_of), re.DOTALL), kinds, translation)


def _replace_between(source: str, of_text: Callable[[str], str], of_placeholder: Callable[[re.Match[str]], str]) -> str:
    """Replace the texts and the placeholders of a message, each by its own function."""
    parts, end = [], 0
    for match in _PLACEHOLDER.finditer(source):
        parts += [of_text(source[end : match.start()]), of_placeholder(match)]
        end = match.end()
    return "".join((*parts, of_text(source[end:])))
