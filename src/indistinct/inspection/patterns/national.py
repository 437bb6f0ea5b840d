"""Numbers that states and health insurers give to people, by their shape and check digit; a column of them is dropped.

Each rule is that of the issuer. A number of the right length passes by chance once in ten, eleven or 97 times, so that
several must pass before a column is taken for one.
"""

from collections.abc import Iterable, Sequence
from datetime import date

from indistinct.inspection.patterns.base import Pattern
from indistinct.schema import Role

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def digits_of(text: str) -> list[int]:
    """Return the digits of a text as numbers.

    >>> digits_of("12-34")
    [1, 2, 3, 4]
    """
    return [int(mark) for mark in text if mark in "0123456789"]


def weighted_sum(digits: Iterable[int], weights: Iterable[int]) -> int:
    """Return the sum of digits times weights; the shorter of both ends it."""
    return sum(digit * weight for digit, weight in zip(digits, weights, strict=False))


def luhn(text: str) -> bool:
    """Return whether the last digit is right by Luhn (1960): every second digit from the right counts double.

    >>> luhn("4111 1111 1111 1111"), luhn("4111 1111 1111 1112")
    (True, False)
    """
    digits = digits_of(text)[::-1]
    return (sum(digits[::2]) + sum(sum(divmod(2 * digit, 10)) for digit in digits[1::2])) % 10 == 0


def mod_97(text: str) -> int:
    """Return the rest of a text by 97 as ISO 7064 has it: letters are numbers from 10 on.

    >>> mod_97("3214282912345698765432161182")
    1
    """
    return int("".join(str(int(mark, 36)) for mark in text)) % 97


def mod_11_10(digits: Sequence[int]) -> bool:
    """Return whether the last digit is right by ISO 7064, Mod 11,10."""
    rest = 10
    for digit in digits[:-1]:
        rest = ((rest + digit) % 10 or 10) * 2 % 11
    return (11 - rest) % 10 == digits[-1]


def verhoeff(text: str) -> bool:
    """Return whether the last digit is right by Verhoeff (1969): a product in the group of a regular pentagon.

    >>> verhoeff("2363"), verhoeff("2364")
    (True, False)
    """
    product, order = 0, list(range(10))
    for digit in digits_of(text)[::-1]:
        product = _pentagon(product, order[digit])
        order = [order[index] for index in (1, 5, 7, 6, 2, 8, 3, 0, 9, 4)]
    return product == 0


def _pentagon(one: int, other: int) -> int:
    """Return the product of two of the ten motions of a pentagon: turns 0 to 4, mirrors 5 to 9."""
    if one < 5:
        return (one + other) % 5 if other < 5 else 5 + (one + other) % 5
    return 5 + (one - other) % 5 if other < 5 else (one - other) % 5


SPANISH = "TRWAGMYFPDXBNJZSQVHLCKE"
FINNISH = "0123456789ABCDEFHJKLMNPRSTUVWXY"
# What a letter or digit counts for at an odd place of a codice fiscale; at an even one, its own place.
ODD_ITALIAN = (1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23)
CHINESE = "10X98765432"


def _is_day(year: int, month: int, day: int) -> bool:
    """Return whether a date exists."""
    try:
        date(year, month, day)
    except ValueError:
        return False
    return True


def is_us_ssn(text: str) -> bool:
    """Return whether areas, groups and serials of a social security number are ones that are given out."""
    area, group, serial = (int(part) for part in (text[:3], text[4:6], text[7:]))
    return area not in (0, 666) and area < 900 and group > 0 and serial > 0


def is_german_tax_id(text: str) -> bool:
    """Return whether one digit of the first ten occurs two or three times, and the last one is right."""
    digits = digits_of(text)
    counts = sorted(digits[:10].count(digit) for digit in range(10))
    return digits[0] > 0 and counts[-1] in (2, 3) and counts[-2] == 1 and mod_11_10(digits)


def is_german_insured(text: str) -> bool:
    """Return whether the last digit of a Krankenversichertennummer is right: the letter counts as two digits.

    >>> is_german_insured("A123456780")
    True
    """
    digits = [*divmod(LETTERS.index(text[0]) + 1, 10), *digits_of(text[1:])]
    products = [digit * (1 + index % 2) for index, digit in enumerate(digits[:-1])]
    return sum(sum(divmod(product, 10)) for product in products) % 10 == digits[-1]


def is_french_nir(text: str) -> bool:
    """Return whether the key of a numéro de sécurité sociale is right; Corsica counts as 19 and 18."""
    plain = text.replace(" ", "").upper()
    body = plain[:13].replace("2A", "19").replace("2B", "18")
    month = int(body[3:5])
    return (1 <= month <= 12 or 20 <= month <= 42 or month >= 50) and 97 - int(body) % 97 == int(plain[13:])


def is_spanish_dni(text: str) -> bool:
    """Return whether the letter of a DNI or NIE is right; X, Y and Z count as 0, 1 and 2."""
    plain = text.upper().replace("-", "")
    number = plain[:-1].translate(str.maketrans("XYZ", "012"))
    return SPANISH[int(number) % 23] == plain[-1]


def is_codice_fiscale(text: str) -> bool:
    """Return whether the last letter of a codice fiscale is right.

    >>> is_codice_fiscale("RSSMRA85T10A562S"), is_codice_fiscale("RSSMRA85T10A562T")
    (True, False)
    """
    indices = [int(mark) if mark.isdigit() else LETTERS.index(mark) for mark in text.upper()]
    total = sum(ODD_ITALIAN[value] for value in indices[:15:2]) + sum(indices[1:15:2])
    return total % 26 == indices[15]


def is_dutch_bsn(text: str) -> bool:
    """Return whether a burgerservicenummer passes the eleven test."""
    digits = digits_of(text)
    return any(digits) and weighted_sum(digits, (9, 8, 7, 6, 5, 4, 3, 2, -1)) % 11 == 0


def is_nhs_number(text: str) -> bool:
    """Return whether the last digit of a British NHS number is right."""
    digits = digits_of(text)
    return any(digits) and (11 - weighted_sum(digits[:9], range(10, 1, -1)) % 11) % 11 == digits[9]


def is_pesel(text: str) -> bool:
    """Return whether a Polish PESEL begins with a day of birth and its last digit is right."""
    digits = digits_of(text)
    century, month = divmod(int(text[2:4]), 20)
    year = (1900, 2000, 2100, 2200, 1800)[century] + int(text[:2])
    return _is_day(year, month, int(text[4:6])) and weighted_sum(digits, (1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1)) % 10 == 0


def is_swedish_number(text: str) -> bool:
    """Return whether a personnummer begins with a day, or one 60 later, and its last ten digits pass Luhn."""
    digits = "".join(map(str, digits_of(text)))[-10:]
    day = int(digits[4:6])
    return _is_day(2000, int(digits[2:4]), day - 60 if day > 60 else day) and luhn(digits)


def is_finnish_hetu(text: str) -> bool:
    """Return whether a henkilötunnus begins with a day and its last mark is right."""
    day, month = int(text[:2]), int(text[2:4])
    return _is_day(2000, month, day) and FINNISH[int(text[:6] + text[7:10]) % 31] == text[10].upper()


def is_norwegian_number(text: str) -> bool:
    """Return whether a fødselsnummer begins with a day, or one 40 later, and both its last digits are right."""
    digits = digits_of(text)
    day, month = int(text[:2]), int(text[2:4])
    first = (11 - weighted_sum(digits[:9], (3, 7, 6, 1, 8, 9, 4, 5, 2)) % 11) % 11
    second = (11 - weighted_sum(digits[:10], (5, 4, 3, 2, 7, 6, 5, 4, 3, 2)) % 11) % 11
    return _is_day(2000, month, day - 40 if day > 40 else day) and [first, second] == digits[9:]


def is_belgian_number(text: str) -> bool:
    """Return whether the check digits of a rijksregisternummer are valid; from 2000 on a 2 is prefixed."""
    digits = "".join(map(str, digits_of(text)))
    body, key = digits[:9], int(digits[9:])
    return int(digits[2:4]) <= 12 and key in (97 - int(body) % 97, 97 - int("2" + body) % 97)


def is_cpf(text: str) -> bool:
    """Return whether both last digits of a Brazilian CPF are right; eleven equal digits are none."""
    digits = digits_of(text)
    first = weighted_sum(digits[:9], range(10, 1, -1)) * 10 % 11 % 10
    second = weighted_sum(digits[:10], range(11, 1, -1)) * 10 % 11 % 10
    return len(set(digits)) > 1 and [first, second] == digits[9:]


def is_swiss_ahv(text: str) -> bool:
    """Return whether the last digit of an AHV number is right, by the rule of EAN-13."""
    return weighted_sum(digits_of(text), (1, 3) * 6 + (1,)) % 10 == 0


def is_chinese_id(text: str) -> bool:
    """Return whether a resident identity number holds a day of birth and its last mark is right (ISO 7064, Mod 11-2).

    >>> is_chinese_id("11010519491231002X")
    True
    """
    rest = sum(int(digit) * pow(2, 17 - index, 11) for index, digit in enumerate(text[:17])) % 11
    return _is_day(int(text[6:10]), int(text[10:12]), int(text[12:14])) and CHINESE[rest] == text[17].upper()


def is_my_number(text: str) -> bool:
    """Return whether the last digit of a Japanese individual number is right.

    >>> is_my_number("123456789018")
    True
    """
    digits = digits_of(text)
    rest = weighted_sum(digits[:11], (6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2)) % 11
    return any(digits) and (11 - rest if rest > 1 else 0) == digits[11]


def _number(name: str, meaning: str, shape: str, check: object, **more: object) -> Pattern:
    known = {"safe_harbor": "R", "fewest": 5, **more}
    return Pattern(name, meaning, Role.IDENTIFIER, shape, check, **known)  # type: ignore[arg-type]


NATIONAL = (
    _number(
        "us-ssn",
        "US social security numbers",
        r"^[0-9]{3}[- ][0-9]{2}[- ][0-9]{4}$",
        is_us_ssn,
        fewest=1,
        safe_harbor="G",
    ),
    _number(
        "it-codice-fiscale",
        "Italian tax codes",
        r"(?i)^[A-Z]{6}[0-9LMNPQRSTUV]{2}[A-EHLMPRST][0-9LMNPQRSTUV]{2}[A-Z][0-9LMNPQRSTUV]{3}[A-Z]$",
        is_codice_fiscale,
        fewest=1,
        partly=True,
    ),
    _number("es-dni", "Spanish DNI or NIE", r"(?i)^(?:[0-9]{8}|[XYZ][0-9]{7})-?[A-Z]$", is_spanish_dni, fewest=3),
    _number(
        "de-insured",
        "German numbers of insured people",
        r"^[A-Z][0-9]{9}$",
        is_german_insured,
        safe_harbor="I",
    ),
    _number(
        "fi-hetu", "Finnish personal codes", r"(?i)^[0-9]{6}[-+A-FU-Y][0-9]{3}[0-9A-Y]$", is_finnish_hetu, fewest=3
    ),
    _number("cn-id", "Chinese identity numbers", r"^[1-9][0-9]{16}[0-9Xx]$", is_chinese_id, digits=True),
    _number(
        "fr-nir",
        "French social security numbers",
        r"(?i)^[1-478] ?[0-9]{2} ?[0-9]{2} ?[0-9][0-9AB] ?[0-9]{3} ?[0-9]{3} ?[0-9]{2}$",
        is_french_nir,
        digits=True,
        fewest=3,
    ),
    _number("ch-ahv", "Swiss AHV numbers", r"^756[. ]?[0-9]{4}[. ]?[0-9]{4}[. ]?[0-9]{2}$", is_swiss_ahv, digits=True),
    _number("pl-pesel", "Polish PESEL numbers", r"^[0-9]{11}$", is_pesel, digits=True),
    _number("no-number", "Norwegian personal numbers", r"^[0-9]{6} ?[0-9]{5}$", is_norwegian_number, digits=True),
    _number(
        "be-number",
        "Belgian national numbers",
        r"^[0-9]{2}\.?[0-9]{2}\.?[0-9]{2}-?[0-9]{3}[.-]? ?[0-9]{2}$",
        is_belgian_number,
        digits=True,
    ),
    _number("br-cpf", "Brazilian CPF numbers", r"^[0-9]{3}\.?[0-9]{3}\.?[0-9]{3}-?[0-9]{2}$", is_cpf, digits=True),
    _number(
        "de-tax-id",
        "German tax numbers",
        r"^[1-9][0-9] ?[0-9]{3} ?[0-9]{3} ?[0-9]{3}$",
        is_german_tax_id,
        digits=True,
    ),
    _number(
        "jp-my-number",
        "Japanese individual numbers",
        r"^[0-9]{4}[ -]?[0-9]{4}[ -]?[0-9]{4}$",
        is_my_number,
        digits=True,
    ),
    _number("in-aadhaar", "Indian Aadhaar numbers", r"^[2-9][0-9]{3} ?[0-9]{4} ?[0-9]{4}$", verhoeff, digits=True),
    _number(
        "se-number", "Swedish personal numbers", r"^(?:[0-9]{2})?[0-9]{6}[-+]?[0-9]{4}$", is_swedish_number, digits=True
    ),
    _number(
        "uk-nhs",
        "British NHS numbers",
        r"^[0-9]{3}[ -]?[0-9]{3}[ -]?[0-9]{4}$",
        is_nhs_number,
        digits=True,
        safe_harbor="I",
    ),
    _number("nl-bsn", "Dutch citizen service numbers", r"^[0-9]{4}\.?[0-9]{2}\.?[0-9]{3}$", is_dutch_bsn, digits=True),
)
