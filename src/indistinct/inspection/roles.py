"""Which role a column may have: what its name says, in English or German, and what its values say, in any language.

In doubt the safer role is suggested.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pyarrow as pa

from indistinct.inspection.patterns.base import PatternShare
from indistinct.inspection.patterns.ordered_values import (
    coordinate_pairs,
    pattern_of_dates,
    pattern_of_numbers,
    rows_above,
)
from indistinct.inspection.patterns.registry import FREE_TEXT, patterns_of_digits, patterns_of_texts
from indistinct.inspection.patterns.safe_harbor import AGES_ABOVE, SafeHarbor
from indistinct.inspection.value import ColumnProfile
from indistinct.machine.arrays import Codes
from indistinct.schema import Role
from indistinct.tables.domain import Kind


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


IDENTIFYING = _words("""
    account address email forename guid iban id identifier ip login mail mobile mrn name passport person phone
    ssn street surname telephone url user username uuid
    adresse anschrift fallnummer hausnummer kontonummer nachname personalnummer strasse straße telefon telefonnummer
    vorname
""")
SENSITIVE = _words("""
    balance charge condition conviction cost credit crime debt diagnoses diagnosis disease drug grade hiv icd
    illness income loan medication offence orientation party pay politics procedure religion result salary
    score symptom treatment wage
    befund behandlung diagnose diagnosen einkommen erkrankung gehalt konfession kosten krankheit lohn medikament
    schulden therapie
""")
KNOWN_TO_OTHERS = _words("""
    admission admitted age birth birthdate birthday born children citizenship city class country county date
    discharge district dob education employer ethnicity eye family gender hair height hours household housing
    job language marital marriage municipality nationality native occupation place postal postcode profession
    province race region school sex state status town visit weight workclass year zip zipcode
    alter aufnahme aufnahmedatum beruf bundesland entlassung entlassungsdatum familienstand geburtsdatum geburtsjahr
    geburtstag gemeinde geschlecht krankenkasse landkreis nationalität ort plz postleitzahl staatsangehörigkeit stadt
    wohnort
""")
POSTAL = _words("plz postal postcode postleitzahl zip zipcode")
# Words for people, who may have several rows; and for what is counted instead of them.
PEOPLE = _words("""
    beneficiary citizen client customer employee insured member mrn participant patient patientid pid person proband
    pseudonym respondent ssn student subject user versicherter versichertennummer patienten patientennummer assuré
    bénéficiaire
""")
# Words for what is measured or counted: such numbers are neither ages nor places, whatever they look like.
MEASURED = _words("""
    amount count counter duration exam goal grade index lap latency level ln log mark measurement ms note
    number percent percentile percentage point probability pulse punkte rang rank rate rating ratio result score scores
    sec second share sum temp temperature test value weight wert z zähler
""")
# Words for what the HIPAA list names, by its letters.
LISTED = {
    "A": _words("forename name surname nachname vorname"),
    "B": _words("""
        address city county district municipality postal postcode street town zip zipcode adresse anschrift gemeinde
        landkreis ort plz postleitzahl stadt strasse straße wohnort
    """),
    "C": _words("age alter"),
    "D": _words("mobile phone telephone telefon telefonnummer"),
    "E": _words("fax"),
    "F": _words("email mail"),
    "G": _words("ssn"),
    "H": _words("mrn"),
    "J": _words("account iban"),
    "K": _words("licence license passport"),
    "N": _words("url"),
    "O": _words("ip"),
}
# Distinct values from which words for people mean people.
ENOUGH_PEOPLE = 20


def suggest_role(name: str, *, distinct: int, pointing: bool, missing: int = 0) -> tuple[Role, str]:
    """Return a role for a column and why; `pointing` says that nearly every row has a value of its own.

    A column that has a value in some rows and none in others distinguishes two kinds of people, as two values do.

    >>> suggest_role("zip_code", distinct=700, pointing=False)
    (<Role.QUASI: 'quasi'>, 'others often know it')
    """
    words = words_of(name)
    known = meets(words, KNOWN_TO_OTHERS)
    if meets(words, IDENTIFYING) and (pointing or not known):
        return Role.IDENTIFIER, "it points at a person"
    if distinct + (missing > 0) <= 1:
        return Role.INSENSITIVE, "it has the same value in every row"
    if meets(words, SENSITIVE):
        return Role.SENSITIVE, "must not be learned about a person"
    if known:
        return Role.QUASI, "others often know it"
    if meets(words, PEOPLE) and distinct >= ENOUGH_PEOPLE:
        return Role.IDENTIFIER, "it points at a person"
    if pointing:
        return Role.IDENTIFIER, NEARLY_ALL_UNIQUE
    return Role.QUASI, IN_DOUBT


IN_DOUBT = "in doubt: others may know it"
NEARLY_ALL_UNIQUE = "nearly every value is unique"
NUMBERS_ROWS = "it numbers the rows, and so points at a person"


def listed_letter(name: str) -> str | None:
    """Return the letter of the HIPAA list for a column name, None if it is not on the list."""
    words = words_of(name)
    return next((letter for letter, known in LISTED.items() if meets(words, known)), None)


def words_of(name: str) -> tuple[str, ...]:
    """Return the words of a column's name, in lower case.

    >>> words_of("dateOfBirth"), words_of("ZIP-Code_2")
    (('date', 'of', 'birth'), ('zip', 'code'))
    """
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return tuple(word.lower() for word in re.findall(r"[^\W\d_]+", parted))


def meets(words: Sequence[str], known: frozenset[str]) -> bool:
    """Return whether some word is among known ones, also in the plural."""
    return any(word in known or word.removesuffix("s") in known for word in words)


def identifying_pattern(name: str, patterns: Sequence[PatternShare], role: Role | None) -> PatternShare | None:
    """Return the surest pattern that points at people, None where there is none: free text, names, numbers of people.

    A pattern that is likely and not certain does not count in a quasi-identifier that others often know, as a town.
    """
    known = role is Role.QUASI and meets(words_of(name), KNOWN_TO_OTHERS)
    pointing = [each for each in patterns if each.role is Role.IDENTIFIER]
    return next((each for each in pointing if not known or (each.certain and each.meaning != FREE_TEXT)), None)


LISTED_AGES = "C"
OTHER_NUMBER = "R"
WORDS = {
    (Role.IDENTIFIER, True): "it points at a person",
    (Role.IDENTIFIER, False): "it may point at a person",
    (Role.QUASI, True): "others often know it",
    (Role.QUASI, False): "others may know it",
    (Role.SENSITIVE, True): "must not be learned about a person",
    (Role.SENSITIVE, False): "may be what must not be learned about a person",
}


def by_content(
    columns: Sequence[ColumnProfile], values: Mapping[str, pa.Array], counts: Mapping[str, Codes], *, rows: int
) -> tuple[ColumnProfile, ...]:
    """Return columns with the patterns that their distinct values show, and the roles that follow from these."""
    coordinates = coordinate_pairs(
        {name: each for name, each in values.items() if pa.types.is_floating(each.type) and not _is_measured(name)}
    )
    profiles = []
    for column in columns:
        patterns = patterns_of(column.kind, values[column.name], counts[column.name], rows=rows)
        if _is_measured(column.name):
            patterns = tuple(each for each in patterns if each.name != "age")
        patterns += (coordinates[column.name],) if column.name in coordinates else ()
        profiles.append(_judge_column(replace(column, patterns=patterns)))
    return tuple(profiles)


def _is_measured(name: str) -> bool:
    """Return whether the name of a column says that it is a score, a counter or a measurement, and no age."""
    words = words_of(name)
    return meets(words, MEASURED) and not meets(words, LISTED["C"])


def patterns_of(kind: Kind, values: pa.Array, counts: Codes, *, rows: int) -> tuple[PatternShare, ...]:
    """Return the patterns that the distinct values of a column show; `counts` are the rows of each value."""
    match kind:
        case Kind.TEXT:
            return patterns_of_texts(texts_of(values), counts, rows=rows)
        case Kind.DATE:
            patterns = pattern_of_dates(values)
        case Kind.NUMBER:
            if not pa.types.is_integer(values.type):
                return ()
            numbers = patterns_of_digits(values)
            patterns = None if numbers else pattern_of_numbers(values)
            if numbers:
                return numbers
    return () if patterns is None else (patterns,)


def texts_of(values: pa.Array) -> pa.Array:
    """Return values as texts; bytes have none."""
    binary = pa.types.is_binary(values.type) or pa.types.is_large_binary(values.type)
    return pa.array([], pa.string()) if binary else values.cast(pa.string())


def _judge_column(column: ColumnProfile) -> ColumnProfile:
    """Return a column with the role that its surest pattern suggests, where that is safer than what its name says."""
    best = next((each for each in column.patterns if each.holds), None)
    if best is None:
        return column
    if best.role is column.role:
        plain = column.reason if column.reason != IN_DOUBT else WORDS[best.role, best.certain]
        return replace(column, reason=f"{plain}: {best.meaning}", evidence=best)
    if not _overrides(best, column):
        return column
    reason = f"{WORDS[best.role, best.certain]}: {best.meaning}"
    hierarchy = column.hierarchy if best.role is Role.QUASI else None
    return replace(column, role=best.role, reason=reason, hierarchy=hierarchy, evidence=best)


def _overrides(best: PatternShare, column: ColumnProfile) -> bool:
    """Return whether a pattern decides against what the name of a column suggests."""
    known = meets(words_of(column.name), KNOWN_TO_OTHERS)
    match best.role:
        case Role.IDENTIFIER if best.certain and best.meaning != FREE_TEXT:
            return column.role is not Role.PERSON
        case Role.IDENTIFIER:
            return column.role in (Role.QUASI, Role.INSENSITIVE) and not known
        case Role.SENSITIVE:
            return best.certain and column.role is Role.QUASI and column.reason == IN_DOUBT
        case _:
            return False


def with_safe_harbor(column: ColumnProfile, values: pa.Array, counts: Codes) -> ColumnProfile:
    """Return a column with the identifier of the HIPAA list that it seems to hold, by its values or else its name."""
    best = next((each for each in column.patterns if each.holds), None)
    letter = None if best is None else best.safe_harbor
    if letter is None:
        letter = listed_letter(column.name)
    if letter is None and column.role in (Role.IDENTIFIER, Role.PERSON):
        letter = OTHER_NUMBER
    if letter is None:
        return column
    if letter != LISTED_AGES or column.kind is Kind.DATE:
        return replace(column, safe_harbor=SafeHarbor(letter))
    above = rows_above(values, counts, AGES_ABOVE) if pa.types.is_integer(values.type) else 0
    note = f"{above:,} row{'s are' if above != 1 else ' is'} above {AGES_ABOVE}"
    return replace(column, safe_harbor=SafeHarbor(letter, note)) if above else column
