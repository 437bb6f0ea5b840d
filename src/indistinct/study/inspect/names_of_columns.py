"""What the name of a column says about its role, in English; what its values say comes on top and needs no language."""

import re
from collections.abc import Sequence

from indistinct.schema import Role


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


IDENTIFYING = _words("""
    account address email forename guid iban id identifier ip login mail mobile mrn name passport person phone
    ssn street surname telephone url user username uuid
""")
SENSITIVE = _words("""
    balance charge condition conviction cost credit crime debt diagnoses diagnosis disease drug grade hiv icd
    illness income loan medication offence orientation party pay politics procedure religion result salary
    score symptom treatment wage
""")
KNOWN_TO_OTHERS = _words("""
    admission admitted age birth birthdate birthday born children citizenship city class country county date
    discharge district dob education employer ethnicity eye family gender hair height hours household housing
    job language marital marriage municipality nationality native occupation place postal postcode profession
    province race region school sex state status town visit weight workclass year zip zipcode
""")
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
    "A": _words("forename name surname"),
    "B": _words("address city county district municipality postal postcode street town zip zipcode"),
    "C": _words("age"),
    "D": _words("mobile phone telephone"),
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

    A column that has a value in some rows and none in the others tells two kinds of people apart, as two values do.

    >>> suggest_role("zip_code", distinct=700, pointing=False)
    (<Role.QUASI: 'quasi'>, 'others often know it')
    """
    words = words_of(name)
    known = meets(words, KNOWN_TO_OTHERS)
    if meets(words, IDENTIFYING) and (pointing or not known):
        return Role.IDENTIFIER, "it points at a person"
    if distinct + (missing > 0) <= 1:
        return Role.INSENSITIVE, "the same for everybody"
    if meets(words, SENSITIVE):
        return Role.SENSITIVE, "must not be learnt about a person"
    if known:
        return Role.QUASI, "others often know it"
    if meets(words, PEOPLE) and distinct >= ENOUGH_PEOPLE:
        return Role.IDENTIFIER, "it points at a person"
    if pointing:
        return Role.IDENTIFIER, "nearly every value is unique"
    return Role.QUASI, IN_DOUBT


IN_DOUBT = "in doubt: others may know it"


def listed_letter(name: str) -> str | None:
    """Return the letter of the HIPAA list that a column's name speaks of, None if it speaks of none."""
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
