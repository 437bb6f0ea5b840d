"""NA strings: texts and numbers that people write where a value is missing."""

import datetime as dt
from collections.abc import Collection, Mapping

import pyarrow as pa
import pyarrow.compute as pc

# In lower case, without those that are NA strings in some columns and values in others, such as "no" and "none".
WORDS = frozenset(
    text.strip()
    for text in """
    ?, ??, ???, -, --, ---, –, —, ., .., n/a, n.a., n. a., #n/a, #na, nan, null, (null), <na>, <null>, #null!, #value!,
    unknown, unk, not known, not available, not applicable, not reported, not recorded, not stated, missing, undefined,
    no data, no answer, unspecified, tbd,
    unbekannt, unbek., k.a., k. a., keine angabe, keine angaben, ohne angabe, o.a., o. a., nicht bekannt, fehlt,
    fehlend, nicht erhoben, n.b., n. b.,
    inconnu, inconnue, n.r., n.c., n.d., non renseigné, non renseigne, non renseignée, non communiqué, non connu,
    non disponible, manquant, manquante, pas de réponse, sans réponse, s.o., sans objet,
    desconocido, desconocida, no consta, sin datos, sin dato, s/d, n/d, no disponible, no informado, ns/nc,
    sconosciuto, sconosciuta, non noto, non disponibile, desconhecido, desconhecida, não informado, ignorado,
    onbekend, niet bekend, okänd, okänt, saknas, ukjent, ukendt, mangler, tuntematon, nieznane, nieznany, brak danych,
    neznámé, ismeretlen, nincs adat, bilinmiyor, неизвестно, нет данных, н/д,
    不明, 不詳, 未記入, 未入力, 未回答, 無回答, 未測定, 該当なし, 欠測, 未知, 不详, 未填, 缺失, 미상, 알 수 없음, 모름
    """.replace("\n", " ").split(",")
)
# NA strings that may be codes: ignored where other values are short words in capitals.
LETTERS = frozenset({"na", "nr", "nd", "nc", "ka", "ns", "nsp"})
NUMBERS = (
    *(-1, -9, -99, -98, -97, -999, -998, -997, -9999, -99999, -99.9, -999.9, -99.99),
    *(99, 98, 97, 88, 999, 998, 997, 888, 9999, 9998, 9997, 8888, 99999, 999999, 99.9, 999.9, 99.99, 999.99),
)
DATES = (dt.date(9999, 12, 31), dt.date(2999, 12, 31), dt.date(1900, 1, 1), dt.date(1899, 12, 30), dt.date(1800, 1, 1))
# A rating scale from -1 to at most this: -1 is then an answer.
MAX_SCALE = 10
# MIN_ROWS_WITH_VALUES rows and MIN_DISTINCT_VALUES values below which nothing is an outlier; MIN_ROWS_OF_MARK: rows of
# an NA value; MIN_YEARS_APART: distance of its date from others.
MIN_ROWS_WITH_VALUES, MIN_DISTINCT_VALUES, MIN_ROWS_OF_MARK, MIN_YEARS_APART = 10, 3, 2, 5


def is_mark(text: str, *, others: Collection[str]) -> bool:
    """Return whether a text is an NA string, given the other texts of its column.

    >>> is_mark("k.A.", others=["12", "31"]), is_mark("NA", others=["DE", "FR", "NA"])
    (True, False)
    """
    plain = text.strip().casefold()
    if plain in WORDS or plain not in LETTERS:
        return plain in WORDS
    codes = sum(1 <= len(other) <= 3 and other.isalpha() and other.isupper() for other in others)
    return 2 * codes <= len(others) or len(others) <= 2


def are_marks(strange: Collection[str], counts: Mapping[str, int]) -> bool:
    """Return whether the few texts among dates are NA strings: known numbers, or texts that repeat.

    >>> are_marks(["-99", "0000-00-00"], {"-99": 1, "0000-00-00": 7}), are_marks(["Miller"], {"Miller": 1})
    (True, False)
    """
    known = {str(number) for number in NUMBERS}
    return all(text.strip() in known or counts[text] >= MIN_ROWS_OF_MARK for text in strange)


def number_marks(column: pa.ChunkedArray) -> dict[str, int]:
    """Return numbers that mean missing, with their rows: they repeat and are far outside all others.

    >>> number_marks(pa.chunked_array([[*range(20, 60), -99, -99]]))
    {'-99': 2}
    """
    values = pc.drop_null(column.cast(pa.float64(), safe=False))
    known = pa.array([float(number) for number in NUMBERS])
    suspects = values.filter(pc.is_in(values, value_set=known))
    if not len(suspects):
        return {}
    counted = {one["values"]: one["counts"] for one in suspects.value_counts().to_pylist()}
    # Candidates do not hide each other: 998 and 999 may both be NA values.
    rest = values.filter(pc.invert(pc.is_in(values, value_set=known)))
    marks = {
        value: rows
        for value, rows in sorted(counted.items(), key=lambda each: -abs(each[0]))
        if rows >= MIN_ROWS_OF_MARK and _is_outside(value, rest)
    }
    return {f"{value:g}" if abs(value) < 1e5 else str(int(value)): rows for value, rows in marks.items()}


def _is_outside(value: float, rest: pa.Array) -> bool:
    """Return whether a number is far outside the other values, so that it may mean missing."""
    if len(rest) < MIN_ROWS_WITH_VALUES or pc.count_distinct(rest).as_py() < MIN_DISTINCT_VALUES:
        return False
    ends = pc.min_max(rest).as_py()
    low, high = ends["min"], ends["max"]
    if value < 0 <= low:
        return value < -1 or high >= MAX_SCALE
    gap = low - value if value < low else value - high
    return bool(gap > (high - low) / 2 and gap > 0)


def date_marks(column: pa.ChunkedArray) -> dict[str, int]:
    """Return dates that mean missing, such as 9999-12-31, with their rows, in ISO 8601."""
    days = pc.drop_null(column.cast(pa.date32(), safe=False))
    counted = days.filter(pc.is_in(days, value_set=pa.array(DATES, pa.date32()))).value_counts().to_pylist()
    marks = {}
    for one in counted:
        rest = days.filter(pc.not_equal(days, pa.scalar(one["values"], pa.date32())))
        if one["counts"] < MIN_ROWS_OF_MARK or len(rest) < MIN_ROWS_WITH_VALUES:
            continue
        near = pc.min(pc.abs(pc.subtract(rest.cast(pa.int32()), pa.scalar(_day(one["values"]))))).as_py()
        if near > 365 * MIN_YEARS_APART:
            marks[one["values"].isoformat()] = one["counts"]
    return marks


def _day(date: dt.date) -> int:
    return (date - dt.date(1970, 1, 1)).days
