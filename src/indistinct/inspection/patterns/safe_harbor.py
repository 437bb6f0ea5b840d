"""The identifiers that the HIPAA privacy rule lists, and what its safe harbor asks of a column.

This is a hint and no legal advice. The list is that of 45 CFR 164.514(b)(2)(i), paragraphs (A) to (R). Safe harbor
removes them; a recoding with a model belongs to the other way that the rule knows, expert determination.
"""

from dataclasses import dataclass

RULE = "45 CFR 164.514(b)(2)(i)"
AGES_ABOVE = 89
IDENTIFIERS = {
    "A": "names",
    "B": "places smaller than a state",
    "C": "dates but for the year, and ages over 89",
    "D": "telephone numbers",
    "E": "fax numbers",
    "F": "addresses of mail",
    "G": "social security numbers",
    "H": "medical record numbers",
    "I": "numbers of health plans",
    "J": "account numbers",
    "K": "numbers of certificates and licences",
    "L": "vehicles and their numbers",
    "M": "devices and their numbers",
    "N": "addresses of web pages",
    "O": "addresses of the internet",
    "P": "biometric identifiers",
    "Q": "photographs of faces",
    "R": "any other number, characteristic or code that is unique",
}
ASKS = {
    "B": (
        "remove it; of a ZIP code the first three digits may stay where more than 20,000 people live in all areas "
        "that begin with them, and are 000 elsewhere"
    ),
    "C": "keep the year alone; ages over 89, and what shows them, become one group of 90 and older",
}
REMOVE = "remove it"


@dataclass(frozen=True, slots=True)
class SafeHarbor:
    """Which identifier of the list a column seems to hold; `note` is what its values add to that."""

    letter: str
    note: str = ""

    @property
    def paragraph(self) -> str:
        """Return the paragraph of the rule."""
        return f"{RULE}({self.letter})"

    @property
    def asks(self) -> str:
        """Return what safe harbor requires for such a column.

        >>> SafeHarbor("F").asks
        'remove it'
        """
        return ASKS.get(self.letter, REMOVE) + (f" ({self.note})" if self.note else "")

    def to_json(self) -> dict[str, str]:
        """Return the hint as plain JSON values."""
        return {
            "letter": self.letter,
            "paragraph": self.paragraph,
            "identifier": IDENTIFIERS[self.letter],
            "asks": self.asks,
        }
