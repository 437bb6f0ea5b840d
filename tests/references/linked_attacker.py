"""An attacker of several published tables who reads their files as texts, by the definition and nothing else.

Nothing here imports the product. Labels of people are ranges, sets, years, months or stars; codes have one coarser
value each; offsets are numbers, ranges and stars in days, weeks, months or dates from 2100-01-01.
"""

import csv
import math
import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction
from itertools import combinations

ALL = "all"
FIRST = date(2020, 1, 1)
PARENTS = {"a1": "A", "a2": "A", "b1": "B"}
UNITS = {"days": Fraction(1), "weeks": Fraction(7), "months": Fraction(487, 16), "dates": Fraction(1)}
FAR = 10**6


@dataclass
class Declared:
    """What a policy says: quasi-identifiers of people, known rows, and what the tables have."""

    quasi: list
    knows: dict  # table -> 0, 1, 2, 3 or "all"; the list column is called "list"
    together: int
    coded: dict  # table -> whether it has a code
    timed: dict  # table -> "known", "unknown" or None
    valued: dict  # table -> whether it has a sensitive value
    window: tuple
    unit: str


@dataclass
class Original:
    """The true values of a person: columns by name, rows (code, day, value) by table."""

    columns: dict
    rows: dict


def day(number):
    return FIRST + timedelta(days=number)


def number_of(moment, default):
    return default if moment is None else (moment - FIRST).days


def read_files(folder, names):
    """Return the rows of each table as texts, a missing cell as None."""
    found = {}
    for name in names:
        with (folder / f"{name}.csv").open(newline="", encoding="utf-8") as file:
            found[name] = [{key: cell or None for key, cell in row.items()} for row in csv.DictReader(file)]
    return found


def covers(label, value):
    """Return whether a published label of a person can stand for a value."""
    if label == "*":
        return True
    if value is None:
        return label is None or "missing" in label
    if label is None:
        return False
    text, own = label.removesuffix(" or missing"), str(value)
    if text.startswith("{"):
        return own in text[1:-1].split(", ")
    if text.startswith("["):
        low, _, high = text[1:-1].partition(" .. ")
        return (not low or date.fromisoformat(low) <= value) and (not high or value <= date.fromisoformat(high))
    return own == text or (isinstance(value, date) and re.fullmatch(r"\d{4}(-\d{2})?", text) and own.startswith(text))


def ends_of(label, unit):
    """Return the ends of a published offset in units, None where it is open."""

    def end(text):
        if not text:
            return None
        return (date.fromisoformat(text) - date(2100, 1, 1)).days if unit == "dates" else int(text)

    if label == "*":
        return None, None
    if not label.startswith("["):
        return end(label), end(label)
    inside = label[1:-1]
    low, _, high = inside.partition(" .. " if " .. " in inside else "-")
    return end(low), end(high)


def covers_row(declared, table, label, row, anchor):
    """Return whether the label of a published row can stand for a true one."""
    if table == "list":
        return label[0] in ("*", row, PARENTS[row])
    code, moment, _ = row
    if declared.coded[table] and label[0] not in ("*", code, PARENTS.get(code, code)):
        return False
    if declared.timed[table] != "known":
        return True
    low, high = ends_of(label[-1], declared.unit)
    size = UNITS[declared.unit]
    units = ((moment - anchor).days * size.denominator) // size.numerator
    return (low is None or low <= units) and (high is None or units <= high)


def is_possible(label, unit, first, last):
    """Return whether some day from `first` to `last` lies at a published offset."""
    low, high = ends_of(label, unit)
    earliest = -FAR if low is None else math.ceil(low * UNITS[unit])
    latest = FAR if high is None else math.ceil((high + 1) * UNITS[unit]) - 1
    return max(earliest, first) <= min(latest, last)


@dataclass
class Published:
    """One published person: labels, rows by table, offsets, and the sensitive values of any row."""

    labels: tuple
    rows: dict
    offsets: list
    values: set


def published_people(declared, files):
    found = {}
    for row in files["people"]:
        own = {table: [] for table in declared.knows}
        if "list" in own:
            own["list"] = [(member,) for member in (row["list"] or "").split("|") if member]
        found[row["id"]] = Published(tuple(row[name] for name in declared.quasi), own, [], {("people", row["value"])})
    for table, coded in declared.coded.items():
        for row in files[table]:
            person = found[row["id"]]
            label = (row["code"],) if coded else ()
            label += (row["date"],) if declared.timed[table] == "known" else ()
            if table in declared.knows:
                person.rows[table].append(label)
            if declared.timed[table]:
                person.offsets.append(row["date"])
            if declared.valued[table]:
                person.values.add((table, row["value"]))
    return found


def known_sets(rows, declared):
    """Yield every choice of (table, row) pairs that an attacker can know."""
    pairs = sorted(((t, row) for t, own in rows.items() if declared.knows[t] != ALL for row in own), key=repr)
    for size in range(declared.together + 1):
        for chosen in dict.fromkeys(combinations(pairs, size)):
            if all(count <= declared.knows[table] for table, count in Counter(t for t, _ in chosen).items()):
                yield chosen


def broken_by_definition(declared, people, k, l):
    """Return the groups G(p, S) that are too small, or show a sensitive value too often."""
    counts = {q: {t: Counter(rows) for t, rows in each.rows.items()} for q, each in people.items()}
    whole = [table for table, known in declared.knows.items() if known == ALL]
    broken = []
    for p, each in people.items():
        for chosen in known_sets(each.rows, declared):
            need = Counter(chosen)
            group = [
                q
                for q, other in people.items()
                if other.labels == each.labels
                and all(counts[q][t] == counts[p][t] for t in whole)
                and all(counts[q][t][label] >= times for (t, label), times in need.items())
            ]
            shown = Counter(value for q in group for value in people[q].values)
            if len(group) < k or (l is not None and any(times * l > len(group) for times in shown.values())):
                broken.append((p, chosen))
    return broken


def candidates(declared, people, person, chosen):
    """Return the published people who can be a person of whom columns, dates, some rows and whole tables are known."""
    known = {name: person.columns[name] for name in declared.quasi}
    anchor = known["anchor"]
    first = max(declared.window[0], number_of(known.get("birth"), -FAR)) - number_of(anchor, 0)
    last = min(declared.window[1], number_of(known.get("death"), FAR)) - number_of(anchor, 0)
    classes = defaultdict(list)
    for q, each in people.items():
        classes[each.labels].append(q)
    found = []
    for q, each in people.items():
        fits = all(covers(label, value) for label, value in zip(each.labels, known.values(), strict=True))
        fits = fits and all(is_possible(offset, declared.unit, first, last) for offset in each.offsets)
        for table, most in declared.knows.items():
            rows = person.rows[table] if most == ALL else [row for t, row in chosen if t == table]
            shown = {label for other in classes[each.labels] for label in people[other].rows[table]}
            # A row that no published label of the class covers was suppressed there, and says nothing.
            rows = [row for row in rows if any(covers_row(declared, table, label, row, anchor) for label in shown)]
            have = each.rows[table]
            fits = fits and (most != ALL or len(have) == len(rows))
            match = [
                [i for i, label in enumerate(have) if covers_row(declared, table, label, row, anchor)] for row in rows
            ]
            fits = fits and can_assign(match)
        if fits:
            found.append(q)
    return found


def can_assign(choices):
    """Return whether each known row can have a published row of its own."""
    taken = {}

    def assign(row, seen):
        for place in choices[row]:
            if place not in seen:
                seen.add(place)
                if place not in taken or assign(taken[place], seen):
                    taken[place] = row
                    return True
        return False

    return all(assign(row, set()) for row in range(len(choices)))
