"""Addresses, accounts, devices, postal and medical codes, whatever a column is called; each suggests a role."""

import ipaddress
import re

from indistinct.inspection.patterns.base import Pattern
from indistinct.inspection.patterns.national import digits_of, luhn, mod_97
from indistinct.schema import Role

# How long an IBAN is by country.
IBAN_LENGTHS = {
    **dict.fromkeys(("NO",), 15),
    **dict.fromkeys(("BE",), 16),
    **dict.fromkeys(("DK", "FI", "NL", "FO", "GL"), 18),
    **dict.fromkeys(("SI", "MK"), 19),
    **dict.fromkeys(("AT", "BA", "EE", "KZ", "LT", "LU", "XK"), 20),
    **dict.fromkeys(("CH", "CR", "HR", "LI", "LV"), 21),
    **dict.fromkeys(("BG", "BH", "DE", "GB", "GE", "IE", "ME", "RS"), 22),
    **dict.fromkeys(("AE", "GI", "IL", "IQ", "TL"), 23),
    **dict.fromkeys(("AD", "CZ", "ES", "MD", "PK", "RO", "SA", "SE", "SK", "TN", "VG"), 24),
    **dict.fromkeys(("PT", "ST"), 25),
    **dict.fromkeys(("IS", "TR"), 26),
    **dict.fromkeys(("FR", "GR", "IT", "MC", "MR", "SM"), 27),
    **dict.fromkeys(("AL", "AZ", "BY", "CY", "DO", "GT", "HU", "LB", "PL", "SV"), 28),
    **dict.fromkeys(("BR", "PS", "QA", "UA"), 29),
    **dict.fromkeys(("JO", "KW", "MU"), 30),
    **dict.fromkeys(("MT", "SC"), 31),
    "LC": 32,
}
DATE = re.compile(r"^(?:[0-9]{4}[-./][0-9]{1,2}[-./][0-9]{1,2}|[0-9]{1,2}[-./][0-9]{1,2}[-./][0-9]{2,4})(?:$|[ T])")
# At least nine digits: with a country or area in front, or in three groups and more. A postcode such as 02104-6743
# begins with 0 as well, but has fewer digits.
PHONE = r"^(?:\+|\(|00?[0-9]|[0-9]+[-. /][0-9]+[-. /])[0-9() ./-]*$"
MARKED = re.compile(r"^[+(]|^[0-9]+[-. /][0-9]+[-. /]")
PARTED = re.compile(r"^[+]|[0-9)][-. /()]+[0-9]")
PHONE_DIGITS, ZERO_DIGITS, LONGEST_PHONE = 9, 10, 15
# What each mark of a vehicle identification number counts for, and each place.
VIN_VALUES = dict(
    zip("ABCDEFGHJKLMNPRSTUVWXYZ0123456789", (*range(1, 9), *range(1, 6), 7, 9, *range(2, 10), *range(10)), strict=True)
)
VIN_WEIGHTS = (8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2)


def is_phone(text: str) -> bool:
    """Return whether digits are as many and as grouped as those of a telephone number, and no date.

    >>> is_phone("+49 171 1234567"), is_phone("2024-01-31"), is_phone("02104-6743")
    (True, False, False)
    """
    if not PARTED.search(text) or DATE.search(text):
        return False
    return (PHONE_DIGITS if MARKED.search(text) else ZERO_DIGITS) <= len(digits_of(text)) <= LONGEST_PHONE


def is_iban(text: str) -> bool:
    """Return whether an IBAN has the length of its country and its check digits are right (ISO 13616).

    >>> is_iban("GB82 WEST 1234 5698 7654 32"), is_iban("GB83 WEST 1234 5698 7654 32")
    (True, False)
    """
    plain = text.replace(" ", "").upper()
    return IBAN_LENGTHS.get(plain[:2]) == len(plain) and mod_97(plain[4:] + plain[:4]) == 1


def is_card(text: str) -> bool:
    """Return whether a number begins and ends as that of a payment card, and has its length."""
    digits = "".join(map(str, digits_of(text)))
    if digits.startswith(("34", "37")):
        fits = len(digits) == 15
    elif digits.startswith(("30", "36", "38")):
        fits = len(digits) == 14
    else:
        fits = (digits[0] in "2456" or digits.startswith("35")) and len(digits) in (13, 16, 19)
    return fits and luhn(digits)


def is_imei(text: str) -> bool:
    """Return whether a number of fifteen digits is that of a mobile device: its issuer is known and Luhn holds."""
    return digits_of(text)[:2] in ([0, 1], [3, 5], [4, 5], [4, 9], [8, 6], [9, 1], [9, 8], [9, 9]) and luhn(text)


def is_ip_address(text: str) -> bool:
    """Return whether a text is an address of the internet, of version 4 or 6."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def is_vin(text: str) -> bool:
    """Return whether the ninth mark of a vehicle identification number is right (ISO 3779, as in North America).

    >>> is_vin("1M8GDM9AXKP042788")
    True
    """
    rest = sum(VIN_VALUES[mark] * weight for mark, weight in zip(text, VIN_WEIGHTS, strict=True)) % 11
    return text[8] == ("X" if rest == 10 else str(rest))


def is_place(text: str) -> bool:
    """Return whether a text is a latitude and a longitude with decimals.

    >>> is_place("52.5200, 13.4050"), is_place("95.1234, 13.4050")
    (True, False)
    """
    first, second = (abs(float(part)) for part in re.findall(r"-?[0-9.]+", text)[:2])
    return first <= 90 and second <= 180


def _identifier(name: str, meaning: str, shape: str, letter: str, **more: object) -> Pattern:
    return Pattern(name, meaning, Role.IDENTIFIER, shape, safe_harbor=letter, **more)  # type: ignore[arg-type]


def _postal(shape: str, countries: str, *, certain: bool = True) -> Pattern:
    meaning = f"postal codes, as of {countries}"
    return Pattern("postal-code", meaning, Role.QUASI, shape, safe_harbor="B", fewest=2, certain=certain)


ADDRESSES = (
    _identifier("uuid", "UUIDs", r"(?i)^\{?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\}?$", "R", partly=True),
    _identifier("e-mail", "addresses of mail", r"^[^@\s]+@[^@\s]+\.[\p{L}]{2,}$", "F", partly=True),
    _identifier("url", "addresses of web pages", r"(?i)^(?:https?|ftp)://\S+\.\S+$|^www\.\S+\.\S+$", "N", partly=True),
    _identifier(
        "ip-address",
        "addresses of the internet",
        r"^[0-9]{1,3}(?:\.[0-9]{1,3}){3}$|^[0-9A-Fa-f]{0,4}:[0-9A-Fa-f:.]*:[0-9A-Fa-f.]*$",
        "O",
        check=is_ip_address,
        fewest=2,
    ),
    _identifier("mac-address", "addresses of devices", r"(?i)^[0-9a-f]{2}(?:[:-][0-9a-f]{2}){5}$", "M", partly=True),
    _identifier("iban", "IBANs", r"(?i)^[A-Z]{2}[0-9]{2}[0-9A-Z ]{11,38}$", "J", check=is_iban, partly=True),
    _identifier("vin", "numbers of vehicles", r"^[A-HJ-NPR-Z0-9]{17}$", "L", check=is_vin, fewest=3),
    _identifier(
        "hash",
        "digests, such as hashed identifiers",
        r"(?i)^(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64})$",
        "R",
        fewest=3,
    ),
)
NUMBERS = (
    _identifier(
        "payment-card",
        "numbers of payment cards",
        r"^[2-6](?:[ -]?[0-9]){12,18}$",
        "J",
        check=is_card,
        fewest=5,
        digits=True,
    ),
    _identifier("imei", "numbers of mobile devices", r"^[0-9]{15}$", "M", check=is_imei, fewest=5, digits=True),
    _identifier("telephone", "numbers of phones", PHONE, "D", check=is_phone),
)
KNOWN = (
    _postal(r"(?i)^[A-PR-UWYZ][A-HK-Y]?[0-9][0-9A-HJKMNPR-Y]? ?[0-9][ABD-HJLNP-UW-Z]{2}$", "the United Kingdom"),
    _postal(r"(?i)^[ABCEGHJ-NPRSTVXY][0-9][ABCEGHJ-NPRSTV-Z] ?[0-9][ABCEGHJ-NPRSTV-Z][0-9]$", "Canada"),
    _postal(r"(?i)^(?:[AC-FHKNPRTV-Y][0-9]{2}|D6W) [0-9AC-FHKNPRTV-Y]{4}$", "Ireland"),
    _postal(r"^[1-9][0-9]{3} ?[A-Z]{2}$", "the Netherlands"),
    _postal(r"^〒? ?[0-9]{3}[-－][0-9]{4}$", "Japan", certain=False),
    _postal(r"^[0-9]{5}-[0-9]{4}$", "the United States (ZIP+4)"),
    _postal(r"^[0-9]{5}-[0-9]{3}$", "Brazil", certain=False),
    _postal(r"^[0-9]{4}-[0-9]{3}$", "Portugal", certain=False),
    _postal(r"^[0-9]{2}-[0-9]{3}$", "Poland", certain=False),
    _postal(r"^[0-9]{3} [0-9]{2}$", "Sweden, Czechia, Slovakia or Greece", certain=False),
    _postal(r"^(?:[A-Z]|[A-Z]{2})-[0-9]{4,5}$", "a country with its letters in front", certain=False),
    _postal(r"^[0-9]{5}$", "Germany, France, Spain, Italy or the United States", certain=False),
    Pattern(
        "coordinates",
        "latitudes and longitudes",
        Role.QUASI,
        r"^\(?-?[0-9]{1,2}\.[0-9]{2,}[,; ] ?-?[0-9]{1,3}\.[0-9]{2,}\)?$",
        check=is_place,
        safe_harbor="B",
    ),
)
MEDICAL = (
    Pattern(
        "icd-10",
        "codes of diagnoses (ICD-10)",
        Role.SENSITIVE,
        r"^[A-TV-Z][0-9][0-9AB](?:\.[0-9A-Z]{1,4})?[*+!†]?$",
        fewest=5,
    ),
    Pattern(
        "icd-10",
        "codes of diagnoses (ICD-10) without points",
        Role.SENSITIVE,
        r"^[A-TV-Z][0-9][0-9AB][0-9X]?[0-9A-Z]{0,3}$",
        fewest=5,
        certain=False,
    ),
    Pattern("atc", "codes of drugs (ATC)", Role.SENSITIVE, r"^[ABCDGHJLMNPRSV][0-9]{2}[A-Z]{2}[0-9]{2}$", fewest=3),
)
