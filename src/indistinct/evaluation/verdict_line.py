"""One line of a verdict: of what kind it is, its state and its numbers, and its words."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from indistinct.evaluation.assess.profiles import LIMITS
from indistinct.figures import number, percent, plural
from indistinct.inspection.patterns.base import MIN_SHARE_FOR_ROLE
from indistinct.release.guarantee import guarantee_in_words

State = Literal["passed", "failed", "warning", "not checked"]
Kind = Literal[
    "limit", "promise", "column-sets", "identifiers", "smallest-class", "published-columns", "column-set",
    "sensitive-column", "identifying-values", "attack", "several-classes",
]  # fmt: skip
Remedy = Literal["quasi-identifier", "coarsen", "drop"]
WEAK = 3
"""Classes with fewer members give little protection."""


@dataclass(frozen=True, slots=True)
class Line:
    """One finding of a verdict: its kind, columns or attack, numbers and state.

    `figure` is what a limit of a profile is about, and `holds` what the values of a column look like. `checks` of the
    file fail where every model is satisfied. A line without `numbers` is worded without figures.
    """

    kind: Kind
    state: State
    columns: tuple[str, ...] = ()
    numbers: Mapping[str, float] = field(default_factory=dict)
    unit: str = "rows"
    attack: str | None = None
    figure: str | None = None
    holds: str | None = None
    checks: tuple[str, ...] = ()

    @property
    def remedies(self) -> tuple[Remedy, ...]:
        """Return the treatments of its columns that would resolve the line."""
        if not self.open or not self.columns:
            return ()
        if self.kind in ("identifiers", "identifying-values"):
            return ("drop",)
        coarser: tuple[Remedy, ...] = ("coarsen", "drop")
        if self.kind not in COUNTED_KINDS:
            return ()
        return ("quasi-identifier", *coarser) if self.roles_matter else coarser

    @property
    def roles_matter(self) -> bool:
        """Whether another role settles the line; in buckets quasi-identifiers are among the unmodified columns."""
        return "in_buckets" not in self.numbers

    @property
    def open(self) -> bool:
        """Whether something is wrong, or may be."""
        return self.state in ("failed", "warning")

    def to_json(self) -> dict[str, Any]:
        """Return the line as plain JSON values, with its words."""
        return {
            "kind": self.kind,
            "state": self.state,
            "columns": list(self.columns),
            "attack": self.attack,
            "numbers": dict(self.numbers),
            "holds": self.holds,
            "remedies": list(self.remedies),
            "words": words_of(self),
        }


COUNTED_KINDS: tuple[Kind, ...] = ("published-columns", "column-set", "sensitive-column")
"""Lines about columns on which members are unique."""


STATES: Mapping[State, str] = {
    "passed": "passed",
    "failed": "FAILED",
    "warning": "warning",
    "not checked": "not checked",
}


def sentence_of(line: Line) -> str:
    """Return a line in words, with its state; a set of columns belongs to the line above and is not counted again.

    >>> sentence_of(Line("column-set", "warning", ("ward",), {"alone": 3, "members": 50}))
    "of these: 'ward': 3 of 50 rows (6 %) are unique"
    """
    label = "of these" if line.kind == "column-set" else STATES[line.state]
    return f"{label}: {words_of(line)}"


def words_of(line: Line) -> str:
    """Return a line in words.

    >>> words_of(Line("smallest-class", "failed", (), {"k": 1, "alone": 3, "members": 50}))
    'k = 1 is no protection: 3 of 50 rows (6 %) are alone in their class'
    """
    match line.kind:
        case "limit":
            return _words_of_limit(line)
        case "promise":
            return guarantee_in_words(holds=False, checks=line.checks) if line.checks else PROMISE[line.state]
        case "column-sets":
            return _words_of_subsets(line)
        case "identifiers":
            return f"{_columns(line)} {'is' if len(line.columns) == 1 else 'are'} published with the role identifier"
        case "identifying-values":
            return _words_of_identifying(line)
        case "smallest-class":
            return _words_of_smallest(line)
        case "published-columns":
            return _words_of_published(line)
        case "column-set":
            together = "" if len(line.columns) == 1 else " together"
            with_class = " with the equivalence class" if "with_class" in line.numbers else ""
            return f"{_columns(line)}{together}{with_class}: {_some(line)} are unique"
        case "sensitive-column":
            return f"{_some(line)} are unique on the sensitive column {_columns(line)}"
        case "several-classes":
            some = f"{_of(line, 'people')} people" if "people" in line.numbers else "people"
            return f"{some} are in several classes: an attacker who knows several of their rows finds more"
        case "attack":
            return _words_of_attack(line)


def _words_of_limit(line: Line) -> str:
    """Return a limit in words.

    >>> _words_of_limit(Line("limit", "failed", (), {"limit": 0.09, "value": 0.25}, figure="highest"))
    'the highest risk of an attacker is 25 %, and the profile allows 9 %'
    """
    value, limit = line.numbers.get("value"), line.numbers["limit"]
    if value is None and line.state == "failed":
        return f"the {LIMITS[line.figure or '']} is above {percent(limit)}, which the profile allows"
    value_text = "not known" if value is None else percent(value)
    allowed = percent(limit)
    if value is not None and value_text == allowed:
        value_text, allowed = number(value), number(limit)
    return f"the {LIMITS[line.figure or '']} is {value_text}, and the profile allows {allowed}"


def _words_of_subsets(line: Line) -> str:
    """Return a guarantee on sets of columns in words.

    >>> _words_of_subsets(Line("column-sets", "passed", (), {"k": 3, "size": 2, "sets": 0}))
    'every combination of values of up to 2 quasi-identifiers is shared by at least 3 rows'
    """
    size, sets = int(line.numbers["size"]), int(line.numbers["sets"])
    columns = f"up to {plural(size, 'quasi-identifier')}" if size else f"{plural(sets, 'named set')} of columns"
    return f"every combination of values of {columns} is shared by at least {number(line.numbers['k'])} {line.unit}"


PROMISE: Mapping[State, str] = {
    "passed": "the privacy guarantee is satisfied, as the certificate says",
    "failed": "the privacy guarantee is NOT satisfied",
    "warning": "the privacy guarantee may not be satisfied",
    "not checked": "no privacy guarantee is known: there is no certificate",
}
NOT_TRIED = "no attack was tried"
TRIES = {
    "record-linkage": "look for each person's row with a register of names",
    "homogeneity": "read a sensitive value off a class in which all have the same",
    "background-knowledge": "rule one value out, and read a sensitive value off what is left in a class",
    "skewness": "use that a class makes a value much more likely than it is among all",
    "similarity": "learn which kind of value it is, or a narrow range for it",
    "membership": "say which of two people was in the table",
    "unsorted-matching": "use that rows are still in their old order",
    "intersection": "combine this release with another one about the same people",
    "definetti": "guess sensitive values inside buckets by what all buckets tell together",
    "downcoding": "name finer values, because the release loses as little as it can",
    "combinatorial-refinement": "narrow values by the order of a search",
    "minimality": "compute which tables the algorithm could have had; for small tables",
    "known-rows": "find a person among too few others by as many rows as the policy says may be known",
    "predictable-seed": "undo the shuffling by guessing a seed",
}
"""What each attack tries, in plain words."""


def _words_of_smallest(line: Line) -> str:
    """Describe the smallest class."""
    if "k" not in line.numbers:
        return "the smallest class is too small" if line.open else "the smallest class is large enough"
    k, buckets = int(line.numbers["k"]), line.unit == "bucket"
    group = "bucket" if buckets else "class"
    unit = "rows" if buckets else line.unit
    if k < WEAK and "left_open" in line.numbers:
        alone = int(line.numbers.get("alone", 0))
        some = (
            f"{_of(line, 'alone', unit)} {'is' if alone == 1 else 'are'} alone on them"
            if alone
            else (f"an attacker who knows them has a choice of {k} {unit}")
        )
        return f"no guarantee covers all quasi-identifiers together, and {some}"
    if k == 1:
        one = "at least one person" if unit == "people" else "at least one row"
        some = _of(line, "alone", unit) if "alone" in line.numbers else one
        if line.numbers.get("alone", 1) > 1:
            return f"k = 1 is no protection: {some} are alone in their {group}"
        return f"k = 1 is no protection: {some} is alone in {'their' if unit == 'people' else 'its'} {group}"
    if k < WEAK:
        return f"k = {k} is weak: an attacker who finds the {group} of a person has a choice of {k} {unit}"
    return f"the smallest {group} has {number(k)} {unit}"


def _words_of_published(line: Line) -> str:
    """Return in words how many members are unique on unmodified columns.

    >>> numbers = {"alone": 3, "alone_at_most": 3, "members": 50, "with_class": 1}
    >>> _words_of_published(Line("published-columns", "warning", ("region",), numbers))
    "3 of 50 rows (6 %) are unique on the unmodified column 'region' with their equivalence class: an attacker who \
knows these values finds them; make it a quasi-identifier, coarsen it or drop it"
    """
    several = len(line.columns) > 1
    where = (
        f"the unmodified columns {_columns(line)} together" if several else f"the unmodified column {_columns(line)}"
    )
    where += " with their equivalence class" if "with_class" in line.numbers else ""
    if line.state == "passed":
        return f"no {'person' if line.unit == 'people' else 'row'} is unique on {where}"
    if "alone" not in line.numbers:
        unknown = f"how many {line.unit} are unique on {where} is not known exactly"
        return unknown if line.state == "not checked" else f"some {line.unit} are unique on {where}; {_treatment(line)}"
    least, most = int(line.numbers["alone"]), int(line.numbers["alone_at_most"])
    if not least:
        return f"up to {most:,} of {int(line.numbers['members']):,} {line.unit} may be unique on {where}"
    some = _some(line) if least == most else f"at least {least:,} and at most {most:,} of {_all(line)}"
    return f"{some} are unique on {where}: an attacker who knows these values finds them; {_treatment(line)}"


def _treatment(line: Line) -> str:
    """Return in words what settles a line about unmodified columns."""
    if not line.roles_matter:
        return "coarsen or drop them" if len(line.columns) > 1 else "coarsen or drop it"
    if len(line.columns) == 1:
        return "make it a quasi-identifier, coarsen it or drop it"
    return "make some of them quasi-identifiers, coarsen or drop them"


def _words_of_identifying(line: Line) -> str:
    """Return in words what the values of a column look like.

    >>> free = Line("identifying-values", "failed", ("note",), {"share": 1.0}, holds="free text")
    >>> _words_of_identifying(free)
    "column 'note' holds free text: drop it, or publish a code in its place"
    """
    if not line.columns:
        return "whether columns hold free text, names or numbers of people was not checked"
    share = line.numbers.get("share", 1.0)
    part = "" if share >= MIN_SHARE_FOR_ROLE else f" in {percent(share)} of its distinct values"
    return f"column {_columns(line)} holds {line.holds}{part}: drop it, or publish a code in its place"


def _words_of_attack(line: Line) -> str:
    """Describe the results of attacks."""
    if line.state == "not checked":
        left = int(line.numbers.get("left", 0))
        return f"{plural(left, 'attack')} {'was' if left == 1 else 'were'} not through in time" if left else NOT_TRIED
    if line.state == "passed":
        tried = int(line.numbers["tried"])
        return f"{'the attack that was' if tried == 1 else f'none of {tried} attacks that were'} tried " + (
            "does not beat chance" if tried == 1 else "beats chance"
        )
    if line.attack is None:
        return "an attack that was tried beats chance"
    beyond = line.numbers.get("beyond_chance")
    by = "beats chance" if beyond is None else f"beats chance by at least {percent(beyond)}"
    if line.attack not in TRIES:
        return f"the attack {line.attack} {by}"
    return f"an attacker can {TRIES[line.attack]}: this {by}"


def _columns(line: Line) -> str:
    return ", ".join(map(repr, line.columns))


def _some(line: Line) -> str:
    """Describe the number of unique members, if it is known."""
    return _of(line, "alone") if "alone" in line.numbers else f"some {line.unit}"


def _all(line: Line) -> str:
    return f"{int(line.numbers['members']):,} {line.unit}"


def _of(line: Line, key: str, unit: str | None = None) -> str:
    """Describe a number of members with its share."""
    some, members = int(line.numbers[key]), int(line.numbers["members"])
    share = f" ({percent(some / members)})" if members else ""
    named = "" if key == "people" else f" {unit or line.unit}"
    return f"{some:,} of {members:,}{named}{share}"
