"""Write the export of an invented hospital, as such files really are: `python examples/hospital.py FOLDER`.

Two months of visits, `june.csv` and `july.csv`: semicolons, Latin-1, decimal commas, points for thousands, dates such
as 31.01.2024, codes of diagnoses, -99 where a weight is unknown, notes in free text, and people who come more than
once. Everything is made up from a fixed seed: nobody in it lives. Beside them lies `hospital.key`, which only its owner
may read: the key of pseudonyms, drawn afresh by the operating system.
"""

import os
import random
import secrets
import sys
from datetime import date, timedelta
from pathlib import Path

HEADER = "Patientennr;Name;Geburtsdatum;Geschlecht;PLZ;Aufnahme;Gewicht;Diagnose;Tage;Kosten;Notiz"
PEOPLE, VISITS = 2_236, 4_000
NEWCOMERS, NEXT_VISITS = 400, 1_500
FIRST = (
    "Anna",
    "Bärbel",
    "Clara",
    "Dörte",
    "Eva",
    "Hans",
    "Ingo",
    "Jörg",
    "Karl",
    "Nils",
    "Pia",
    "Rosa",
    "Söhnke",
    "Uwe",
)
LAST = (
    "Müller",
    "Schmidt",
    "Groß",
    "Weiß",
    "Köhler",
    "Jäger",
    "Fuchs",
    "Vogel",
    "Kühn",
    "Böhm",
    "Lange",
    "Krüger",
    "Schäfer",
)
# District -> how many of a hundred people live there; codes begin with a zero, so that they are no numbers.
DISTRICTS = {"06108": 22, "06110": 18, "06112": 15, "06114": 12, "06116": 9, "06118": 8, "06120": 8, "06122": 8}
NEW_DISTRICT = "06124"
# Code of a diagnosis -> weight, days in hospital, cost of a day.
DIAGNOSES = {
    "I10": (20, 3, 410),
    "E11.9": (16, 4, 430),
    "J45.0": (12, 3, 390),
    "I25.1": (11, 6, 780),
    "J18.9": (10, 8, 620),
    "K35.8": (9, 4, 950),
    "S72.0": (8, 11, 870),
    "F32.1": (7, 18, 340),
    "C50.9": (4, 9, 1_240),
    "B20": (3, 12, 990),
}
NOTES = ("ruft {name} an, Befund besprochen", "{name}: Kontrolle in 14 Tagen", "Angehörige von {name} informiert", "")


class Patient:
    """Somebody who does not exist."""

    def __init__(self, draw: random.Random, number: int, districts: dict[str, int]) -> None:
        self.number = f"P{number:06d}"
        self.name = f"{draw.choice(LAST)}, {draw.choice(FIRST)}"
        years = min(max(draw.gauss(54, 21), 0), 97)
        self.born = date(2024, 1, 1) - timedelta(days=int(years * 365.25) + draw.randrange(365))
        self.sex = draw.choices("wmd", (51, 48, 1))[0]
        self.district = draw.choices(list(districts), list(districts.values()))[0]
        self.weight = None if draw.random() < 0.008 else round(min(max(draw.gauss(78, 15), 38), 160), 1)


def visit(draw: random.Random, patient: Patient, first: date) -> str:
    """Return one line of the export."""
    code = draw.choices(list(DIAGNOSES), [weight for weight, _, _ in DIAGNOSES.values()])[0]
    _, usual, cost = DIAGNOSES[code]
    days = max(1, round(draw.gauss(usual, usual / 3)))
    bill = f"{days * cost * draw.uniform(0.8, 1.2):,.2f}".translate(str.maketrans(",.", ".,"))
    weight = "-99" if patient.weight is None else f"{patient.weight:.1f}".replace(".", ",")
    admitted = first + timedelta(days=draw.randrange(30))
    cells = (patient.number, patient.name, f"{patient.born:%d.%m.%Y}", patient.sex, patient.district)
    note = NOTES[int(patient.number[1:]) % len(NOTES)].format(name=patient.name)
    return ";".join([*cells, f"{admitted:%d.%m.%Y}", weight, code, str(days), bill, note])


def write(path: Path, lines: list[str]) -> None:
    """Write an export the way that an old system does."""
    path.write_bytes(("\r\n".join([HEADER, *lines]) + "\r\n").encode("latin-1"))


def write_key(path: Path) -> None:
    """Write a key of 256 bits that only its owner may read."""
    with os.fdopen(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w") as file:
        file.write(secrets.token_hex(32) + "\n")


def main(folder: Path) -> None:
    """Write both months."""
    draw = random.Random(20240601)  # noqa: S311  (invented people, the same ones every time)
    people = [Patient(draw, number, DISTRICTS) for number in draw.sample(range(100_000, 999_999), PEOPLE)]
    again = draw.choices(people, k=VISITS - PEOPLE)
    june = [visit(draw, patient, date(2024, 6, 1)) for patient in [*people, *again]]
    others = {**DISTRICTS, NEW_DISTRICT: 3}
    newcomers = [Patient(draw, number, others) for number in draw.sample(range(1_000_000, 1_999_999), NEWCOMERS)]
    july = [visit(draw, patient, date(2024, 7, 1)) for patient in draw.choices([*people, *newcomers], k=NEXT_VISITS)]
    for name, lines in (("june.csv", june), ("july.csv", july)):
        draw.shuffle(lines)
        folder.mkdir(parents=True, exist_ok=True)
        write(folder / name, lines)
        people_there = {line.partition(";")[0] for line in lines}
        sys.stdout.write(f"{folder / name}: {len(lines):,} visits of {len(people_there):,} people\n")
    write_key(folder / "hospital.key")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "hospital"))
