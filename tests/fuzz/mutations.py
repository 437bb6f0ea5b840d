"""Changes that make a file hostile: of single bytes, of lines, and of the values of a JSON document or a policy."""

import json
import random
import re
from typing import Any

HOSTILE: tuple[Any, ...] = (
    None, True, False, -1, 0, 1, 2**31, 2**63, 2**64, -(2**63), 10**30, 1e308, -0.5, "", "x", "\0", "a" * 5000,
    "é\ud7ff", [], {}, [[]], [None], {"a": 1}, [0] * 1000, "*", "..", "/dev/zero", "[1-", "{", '"',
    "missing", "int64", "string",
)  # fmt: skip
BINARY = (".parquet", ".arrow", ".xlsx", ".xlsb", ".xls", ".ods", ".sav", ".zsav", ".dta", ".xpt", ".pkl", ".gz")
WORDS = (
    b"9" * 5000, b"-1", b"1e999", b"nan", b"inf", b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b'"', b"'", b"[" * 500,
    b"{" * 500,
    b",", b";", b"\t", b"|", b"\r", b"\n", b"\r\n\r\n", b"\xe9", b"\x82\xa0", b"=", b".", b"a." * 500, b"[1-9]", b"[1-",
    b"{a, b}", b"1-" * 2000, b"*", b"31.02.2020", b"9999-12-31", b"0000-00-00", b"0x" + b"f" * 200, b"%", b"\\",
    b"\x1a",
)  # fmt: skip


def mutated(content: bytes, name: str, chance: random.Random) -> bytes:
    """Return a file's content with one to four changes; `chance` decides which."""
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        content = _changed(content, name, chance)
    return content


def _changed(content: bytes, name: str, chance: random.Random) -> bytes:
    if name.endswith(".json") and chance.random() < 0.7:
        return _document(content, chance)
    if name.endswith(".toml") and chance.random() < 0.6:
        return _values(content, chance)
    if name.endswith(BINARY):
        return chance.choice((_flip, _flip, _flip, _cut, _insert, _overwrite))(content, chance)
    return chance.choice((_flip, _cut, _insert, _insert, _lines, _lines, _cell, _cell, _recode))(content, chance)


def _flip(content: bytes, chance: random.Random) -> bytes:
    part = bytearray(content)
    for _ in range(chance.choice((1, 1, 3, 20))):
        if part:
            part[chance.randrange(len(part))] ^= 1 << chance.randrange(8)
    return bytes(part)


def _cut(content: bytes, chance: random.Random) -> bytes:
    start, end = sorted(chance.randrange(len(content) + 1) for _ in range(2))
    return chance.choice((content[:end], content[start:], content[:start] + content[end:]))


def _insert(content: bytes, chance: random.Random) -> bytes:
    place = chance.choice((0, len(content), chance.randrange(len(content) + 1)))
    return content[:place] + chance.choice(WORDS) + content[place:]


def _overwrite(content: bytes, chance: random.Random) -> bytes:
    place, word = chance.randrange(len(content) + 1), chance.choice((b"\0" * 8, b"\xff" * 8, b"\x7f\xff\xff\xff"))
    return content[:place] + word + content[place + len(word) :]


def _lines(content: bytes, chance: random.Random) -> bytes:
    lines = content.splitlines(keepends=True)
    if not lines:
        return content
    place = chance.choice((0, len(lines) - 1, chance.randrange(len(lines))))
    match chance.randrange(4):
        case 0:
            lines[place:place] = [lines[place]] * chance.choice((1, 100))
        case 1:
            del lines[place]
        case 2:
            chance.shuffle(lines)
        case _:
            lines[place] = lines[place].replace(b",", chance.choice((b";", b"", b",,", b"\t")))
    return b"".join(lines)


def _cell(content: bytes, chance: random.Random) -> bytes:
    cells = list(re.finditer(rb"[^,;\r\n]+", content))
    if not cells:
        return content
    cell = chance.choice(cells)
    return content[: cell.start()] + chance.choice(WORDS) + content[cell.end() :]


def _recode(content: bytes, chance: random.Random) -> bytes:
    text = content.decode(errors="replace")
    return text.encode(
        chance.choice(("utf-16", "utf-16-le", "utf-32", "cp500", "utf-7", "utf-8-sig")), errors="replace"
    )


def _values(content: bytes, chance: random.Random) -> bytes:
    """Change what stands behind an equals sign of a policy."""
    values = list(re.finditer(rb"(?<== )[^\n]+|(?<=\[)[a-z]+(?=\])|\"[^\"\n]*\"|(?m:^[a-z]+)", content))
    if not values:
        return content
    value, new = chance.choice(values), chance.choice(HOSTILE)
    word = chance.choice((json.dumps(new, ensure_ascii=False).encode(errors="replace"), chance.choice(WORDS)))
    return content[: value.start()] + word + content[value.end() :]


def _document(content: bytes, chance: random.Random) -> bytes:
    """Change, drop or repeat a value of a JSON document."""
    try:
        document = json.loads(content)
    except ValueError:
        return content
    place: Any = document
    while isinstance(place, dict | list) and place:
        key = chance.choice(list(place) if isinstance(place, dict) else range(len(place)))
        inner = place[key]
        if isinstance(inner, dict | list) and inner and chance.random() < 0.8:
            place = inner
            continue
        if chance.random() < 0.2:
            del place[key]
        elif isinstance(place, list) and chance.random() < 0.3:
            place.extend([inner] * chance.choice((1, 1000)))
        else:
            place[key] = chance.choice(HOSTILE)
        break
    return json.dumps(document).encode()
