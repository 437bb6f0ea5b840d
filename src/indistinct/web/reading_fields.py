"""Form fields for the import options of a table, as texts: one line for each declaration about several columns."""

from collections.abc import Collection, Mapping
from typing import Any

from indistinct.errors import ParameterError
from indistinct.settings import BY_COLUMN, COLUMNS, TABLE, TRUTH, WHOLE, settings_under
from indistinct.tables import Reading
from indistinct.tables.value import EVERY, LAYOUT, Declarations, declare, to_options

SETTINGS = settings_under("input.reading")
LISTS = tuple(key for key, each in SETTINGS.items() if each.kind in (COLUMNS, TABLE, BY_COLUMN))
"""Declarations about columns, one per line: `text`, or `column = text` for one of them."""
STRUCTURE = LAYOUT
"""What decides which columns there are; everything else is proposed anew when one of these changes."""
TRUTHS = tuple(key for key, each in SETTINGS.items() if each.kind is TRUTH)
NUMBERS = tuple(key for key, each in SETTINGS.items() if each.kind is WHOLE)
KEYS = (*dict.fromkeys((*STRUCTURE, "decimal", "thousands", *LISTS)),)
Texts = Mapping[str, Any]


def texts_of(reading: Reading) -> dict[str, Any]:
    """Return the texts of the fields of reading options; empty where nothing is declared.

    >>> texts_of(declare(missing=["", "-99"], decimal=","))["missing"]
    '-99'
    """
    options = to_options(reading)
    texts: dict[str, Any] = {key: options.get(key, "") for key in KEYS}
    for key in LISTS:
        texts[key] = _lines(options.get(key))
    return {**texts, **{key: bool(texts[key]) for key in TRUTHS}, **{key: str(texts[key]) for key in NUMBERS}}


def reading_of(texts: Texts, columns: Collection[str] = ()) -> Reading:
    """Return the reading that fields say; raise `ParameterError`, with the `field` in its details."""
    reading: Reading | None = None
    for key in KEYS:
        try:
            reading = declare(reading, **_parse_field(key, texts.get(key), columns))
        except ParameterError as error:
            raise ParameterError(error.message, hint=error.hint, field=key) from None
    return reading or Reading()


def find_changes(before: Reading, after: Reading) -> list[str]:
    """Return the fields in which two readings differ."""
    one, two = texts_of(before), texts_of(after)
    return [key for key in KEYS if one[key] != two[key]]


def _parse_field(key: str, given: Any, columns: Collection[str]) -> Declarations:
    """Parse the text of a field to reading options."""
    value: Any
    if key in TRUTHS:
        value = bool(given)
    elif SETTINGS[key].kind is WHOLE:
        value = _whole_number(key, str(given or "").strip())
    elif key not in LISTS:
        value = given or None
    elif SETTINGS[key].kind is COLUMNS:
        value = [line.strip() for line in str(given or "").splitlines() if line.strip()]
    else:
        value = _by_column(str(given or ""), columns)
        if key == "missing":
            value[EVERY] = ["", *value.get(EVERY, [])]
        elif key == "types":
            if EVERY in value:
                raise ParameterError("a type is one of a column", hint="write column = type, such as zipcode = text")
            value = {name: each[0] for name, each in value.items()}
    return {key: value}  # type: ignore[misc]


def _whole_number(key: str, text: str) -> int | None:
    """Return the number in a field; what an empty one means is the default of the setting."""
    if text and not (text.isascii() and text.isdigit()):
        label = SETTINGS[key].label or key
        raise ParameterError(f"{label.lower()}: a whole number is needed", hint=SETTINGS[key].help)
    default: int | None = getattr(Reading(), key)
    return int(text) if text else default


def _by_column(text: str, columns: Collection[str]) -> dict[str, list[str]]:
    r"""Parse lines such as `age = 99` by column; lines without a column are for all columns.

    >>> _by_column("-99\nage = 999", ["age"])
    {'*': ['-99'], 'age': ['999']}
    """
    parted: dict[str, list[str]] = {}
    for line in filter(str.strip, text.splitlines()):
        name, value = _split_line(line, columns)
        parted.setdefault(name, []).append(value)
    return parted


def _split_line(line: str, columns: Collection[str]) -> tuple[str, str]:
    """Split a line into column and value; the name of a column may contain an equals sign."""
    for index, letter in enumerate(line):
        if letter == "=" and line[:index].strip() in (*columns, EVERY):
            return line[:index].strip(), line[index + 1 :].strip()
    column, equals, rest = line.partition("=")
    return (column.strip(), rest.strip()) if equals and column.strip() else (EVERY, line.strip())


def _lines(given: Any) -> str:
    """Write values by column as lines of a field."""
    if isinstance(given, Mapping):
        everywhere = _lines(given.get(EVERY))
        own = [f"{name} = {text}" for name, each in given.items() if name != EVERY for text in _as_list(each)]
        return "\n".join([*([everywhere] if everywhere else []), *own])
    return "\n".join(f"{EVERY} = {text}" if "=" in text else text for text in _as_list(given) if text)


def _as_list(given: Any) -> list[str]:
    return [] if given is None else [given] if isinstance(given, str) else list(given)
