"""The verdict on a table: one value, made of figures alone, in words that every skin shows as they are.

It asks whether the promise holds, how small the smallest class is, whom columns that no recoding touched single out,
and which attacks succeed. A profile says what of that is acceptable. A profile is never passed while one line of it
fails, and what was not looked at is said so.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from indistinct.figures import number, percent, plural
from indistinct.frequencies.singled_out import SingledOut
from indistinct.models.registry import parse_model_or_none
from indistinct.models.subset_anonymity import SubsetAnonymity
from indistinct.release.certificate import Certificate
from indistinct.schema import Schema
from indistinct.study.assess.profiles import LIMITS, Gate, GateLine, Profile, exceeds, judge

State = Literal["passed", "failed", "warning", "not checked"]
Kind = Literal[
    "limit", "promise", "column-sets", "identifiers", "smallest-class", "published-columns", "column-set",
    "sensitive-column", "attack", "several-classes", "withheld",
]  # fmt: skip
NEARLY_ALL = 0.5
"""From this share on, a sensitive column in which members have a value of their own points at most of them."""
WEAK = 3
"""Classes of fewer members protect hardly anybody."""
NAMED = 3
"""Sets of columns that a verdict names."""


@dataclass(frozen=True, slots=True)
class AttackFigures:
    """An attack that was run: whether it beats chance, and by how much at least, with a confidence of 95 %."""

    attack: str
    succeeds: bool
    beyond_chance: float

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> "AttackFigures":
        """Return the figures of an outcome that was written as JSON."""
        return cls(str(told["attack"]), bool(told["succeeds"]), float(told["beyond_chance"]))


@dataclass(frozen=True, slots=True)
class Figures:
    """All that a verdict rests on.

    `risks` are what a profile may limit, by kind of attacker. `published` is whom the columns that no recoding touched
    single out, None where there are none. `own_values` says for each sensitive column how many members have a value of
    their own. `uniques` are members who are alone in their class, None where they were not counted. `promise` is what
    the certificate says, None without one. `several` are people in several classes, None
    where people are not counted. `subsets` are promises on sets of quasi-identifiers, where none is made of all of them
    together.
    """

    unit: str
    members: int
    smallest: int
    uniques: int | None
    risks: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)
    published: SingledOut | None = None
    own_values: Mapping[str, int] = field(default_factory=dict)
    identifiers: tuple[str, ...] = ()
    promise: bool | None = None
    several: int | None = None
    groups: str = "class"
    subsets: tuple[SubsetAnonymity, ...] = ()

    def limited(self, attacker: str) -> dict[str, float | None]:
        """Return what a profile may limit, for one kind of attacker."""
        found = self.published
        return {
            **self.risks.get(attacker, {}),
            "published_uniques": 0.0 if found is None else found.share(found.least),
        }

    def share(self, some: int) -> float:
        """Return a number of members as a share of all."""
        return some / self.members if self.members else 0.0


@dataclass(frozen=True, slots=True)
class Line:
    """One thing that a verdict says: of what kind, of which columns or attack, with which numbers, and its state.

    `figure` is what a limit of a profile is about.
    """

    kind: Kind
    state: State
    columns: tuple[str, ...] = ()
    numbers: Mapping[str, float] = field(default_factory=dict)
    unit: str = "rows"
    attack: str | None = None
    figure: str | None = None

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
            "words": words_of(self),
        }


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is said of a table: every line, and each limit of a profile where one was asked for."""

    lines: tuple[Line, ...]
    gate: Gate | None = None

    @property
    def state(self) -> Literal["passed", "failed", "not checked"]:
        """Return whether the profile is kept; without one nothing is passed, but a broken promise fails."""
        if any(line.state == "failed" for line in self.lines):
            return "failed"
        return "not checked" if self.gate is None else self.gate.state

    @property
    def open(self) -> tuple[Line, ...]:
        """Return the lines in which something is wrong, or may be; those that fail come first."""
        return tuple(sorted((line for line in self.lines if line.open), key=lambda line: line.state != "failed"))

    def count(self, state: State) -> int:
        """Return how many things have a state; the sets of columns are one with all columns together."""
        return sum(line.state == state and line.kind != "column-set" for line in self.lines)

    @property
    def tone(self) -> Literal["good", "warning", "bad"]:
        """Return how a skin shows the verdict; nothing is good beside something that is open or was not checked."""
        if self.state == "failed":
            return "bad"
        return "good" if self.state == "passed" and not self.open else "warning"

    @property
    def headline(self) -> str:
        """Return the verdict in one sentence."""
        warnings, failed = self.count("warning"), self.count("failed")
        beside = f", with {plural(warnings, 'warning')}" if warnings else ""
        if self.gate is None:
            asked = "no profile was asked for"
            problems = f"{plural(failed, 'problem')} and {plural(warnings, 'warning')}" if failed else ""
            return f"{problems or plural(warnings, 'warning') if self.open else 'no problem was found'}; {asked}"
        profile = f"the profile {self.gate.profile.spec()}"
        match self.state:
            case "passed":
                return f"passes {profile}{beside}"
            case "failed":
                return f"FAILS {profile}"
            case "not checked":
                return f"is not shown to pass {profile}: not every limit could be checked"

    @property
    def sentence(self) -> str:
        """Return the verdict as every skin says it."""
        told = self.headline if self.gate is None else f"the release {self.headline}"
        return f"{told[:1].upper()}{told[1:]}."

    @property
    def sentences(self) -> tuple[str, ...]:
        """Return every line in words, with its state; what is open comes first."""
        rest = [line for line in self.lines if not line.open]
        return tuple(f"{STATES[line.state]}: {words_of(line)}" for line in (*self.open, *rest))

    def to_json(self) -> dict[str, Any]:
        """Return the verdict as plain JSON values."""
        return {
            "state": self.state,
            "tone": self.tone,
            "profile": None if self.gate is None else self.gate.profile.spec(),
            "headline": self.headline,
            "sentence": self.sentence,
            "sentences": list(self.sentences),
            "lines": [line.to_json() for line in self.lines],
        }


STATES: Mapping[State, str] = {
    "passed": "passed",
    "failed": "FAILED",
    "warning": "warning",
    "not checked": "not checked",
}


def verdict_of(
    figures: Figures, profile: Profile | None = None, *, attacks: Sequence[AttackFigures] | None = None
) -> Verdict:
    """Return the verdict on figures, by a profile where one is given; `attacks` are those that were run.

    >>> from indistinct.study.assess.profiles import Public
    >>> good = {"highest": 0.05, "uniques": 0.0, "homogeneous": 0.0}
    >>> cost = SingledOut("rows", 100, ("cost",), 99, 99, {("cost",): 99})
    >>> told = verdict_of(Figures("rows", 100, 20, 0, {"prosecutor": good}, cost), Public())
    >>> told.state, told.open[0].columns
    ('failed', ('cost',))
    """
    lines = [
        Line("promise", "not checked" if figures.promise is None else "passed" if figures.promise else "failed"),
        *_judge_subsets(figures),
        *([Line("identifiers", "failed", figures.identifiers)] if figures.identifiers else []),
        *_judge_smallest(figures, profile),
        *_judge_published(figures, profile),
        *_judge_sensitive(figures, profile),
        *_judge_several(figures),
        *_judge_attacks(attacks, profile),
    ]
    if profile is None:
        return Verdict(tuple(lines))
    limits = tuple(_limits(figures, profile))
    state: Literal["passed", "failed", "not checked"] = "passed"
    if any(line.state == "not checked" for line in limits):
        state = "not checked"
    if "failed" in {line.state for line in limits} | {line.state for line in lines}:
        state = "failed"
    return Verdict((*_broken(limits, lines), *lines), Gate(profile, limits, state))


def _broken(limits: Sequence[GateLine], lines: Sequence[Line]) -> list[Line]:
    """Return the limits that are not kept, or not known to be, but for those of which another line says the same."""
    kinds = {"published_uniques": "published-columns", "uniques": "smallest-class"}
    told = {(line.kind, line.state) for line in lines}
    return [
        Line(
            "limit",
            each.state,
            (),
            {"limit": float(each.limit)} | ({} if each.value is None else {"value": each.value}),
            figure=each.figure,
        )
        for each in limits
        if not each.passed and (kinds.get(each.figure), each.state) not in told
    ]


def figures_of_certificate(certificate: Certificate, schema: Schema) -> Figures:
    """Return what a certificate tells by itself, before anybody assesses the release; `schema` has the roles before.

    Columns are named in it where at least half of the rows have a value of their own: of others it is not known.
    """
    rows, people = certificate.rows, certificate.people
    members = rows if people is None else people.published
    alone = {each.columns: each.rows for each in certificate.own_values}
    known = {names: count for names, count in alone.items() if not set(names) & set(schema.sensitive)}
    columns = tuple(dict.fromkeys((*schema.insensitive, *(name for names in known for name in names))))
    least = max(known.values(), default=0)
    return Figures(
        "rows" if people is None else "people",
        members,
        certificate.smallest_class,
        None if certificate.smallest_class == 1 else 0,
        published=SingledOut("rows", rows, columns, least, rows, known) if columns and rows else None,
        own_values={name: min(alone[(name,)], members) for name in schema.sensitive if (name,) in alone},
        promise=certificate.holds,
        groups="class" if certificate.form is None else "bucket",
        subsets=subsets_promised(each.model for each in certificate.verdicts),
    )


def subsets_promised(spelled: Iterable[str]) -> tuple[SubsetAnonymity, ...]:
    """Return the promises on sets of quasi-identifiers; none beside a promise on all of them together.

    >>> pairs = "subset-anonymity:k=3,size=2"
    >>> len(subsets_promised([pairs])), len(subsets_promised([pairs, "k-anonymity:k=2"]))
    (1, 0)
    """
    known = [model for model in map(parse_model_or_none, spelled) if model is not None]
    found = tuple(each for each in known if isinstance(each, SubsetAnonymity))
    return () if any(each.smallest > 1 for each in known) else found


def _limits(figures: Figures, profile: Profile) -> Sequence[GateLine]:
    """Return each limit; a share of which only bounds are known passes by the upper and fails by the lower one."""
    found = figures.published
    bounds = {} if found is None else {"published_uniques": found.share(found.most)}
    return judge(profile, figures.limited(profile.attacker), at_most=bounds)


def _judge_subsets(figures: Figures) -> list[Line]:
    """Say what is promised of sets of quasi-identifiers; where a promise is broken, the certificate says which one."""
    if figures.promise is False:
        return []
    state: State = "not checked" if figures.promise is None else "passed"
    return [
        Line("column-sets", state, (), {"k": each.k, "size": each.size or 0, "sets": len(each.sets)}, figures.unit)
        for each in figures.subsets
    ]


def _judge_smallest(figures: Figures, profile: Profile | None) -> list[Line]:
    """Judge the smallest class: one of a single member protects nobody, whatever k was asked for.

    Where sets of quasi-identifiers are promised, all of them together were left open on purpose: that is a warning,
    unless a profile limits how many may be alone.
    """
    if not figures.members:
        return []
    numbers = {"k": figures.smallest, "members": figures.members}
    if figures.subsets:
        numbers["left_open"] = 1
    if figures.uniques is not None:
        numbers["alone"] = figures.uniques
    state: State = "passed"
    if figures.smallest == 1:
        limit = None if profile is None else profile.uniques
        alone = figures.share(figures.members if figures.uniques is None else figures.uniques)
        allowed = profile is not None or bool(figures.subsets)
        kept = allowed and (limit is None or not exceeds(alone, limit))
        state = "warning" if kept else "failed"
    elif figures.smallest < WEAK:
        state = "warning"
    return [Line("smallest-class", state, (), numbers, figures.unit if figures.groups == "class" else figures.groups)]


def _judge_published(figures: Figures, profile: Profile | None) -> list[Line]:
    """Judge the columns that are published as they are: together, and the sets that single out most."""
    found = figures.published
    if found is None:
        return []
    state = _state_of(found, None if profile is None else profile.published_uniques)
    numbers = {
        "alone": found.least,
        "alone_at_most": found.most,
        "members": found.members,
        "share": found.share(found.least),
        # In buckets quasi-identifiers are not recoded either, and all of a slice stand beside each other.
        **({"columns_together": 2} if figures.groups == "class" else {}),
    }
    told = state in ("failed", "warning") and len(found.columns) > 1
    sets = list(found.by_columns.items())[:NAMED] if told else []
    return [
        Line("published-columns", state, found.columns, numbers, found.unit),
        *(
            Line(
                "column-set",
                state,
                names,
                {"alone": alone, "members": found.members, "share": found.share(alone)},
                found.unit,
            )
            for names, alone in sets
        ),
    ]


def _state_of(found: SingledOut, limit: Any) -> State:
    if limit is not None and exceeds(found.share(found.least), limit):
        return "failed"
    if found.least:
        settled = limit is None or not exceeds(found.share(found.most), limit)
        return "warning" if settled else "not checked"
    return "passed" if found.most == 0 else "not checked"


def _judge_sensitive(figures: Figures, profile: Profile | None) -> list[Line]:
    """Judge sensitive columns by the members who have a value of their own in them."""
    lines = []
    for column, alone in figures.own_values.items():
        share = figures.share(alone)
        refused = profile is not None and profile.refuses_own_values and share >= NEARLY_ALL
        numbers = {"alone": alone, "members": figures.members, "share": share}
        if alone:
            state: State = "failed" if refused else "warning"
            lines.append(Line("sensitive-column", state, (column,), numbers, figures.unit))
    return lines


def _judge_several(figures: Figures) -> list[Line]:
    if not figures.several:
        return []
    numbers = {"people": figures.several, "members": figures.members}
    return [Line("several-classes", "warning", (), numbers, "people")]


def _judge_attacks(attacks: Sequence[AttackFigures] | None, profile: Profile | None) -> list[Line]:
    """Judge attacks that were run; one that was not run is not tried, and never passed."""
    if not attacks:
        return [Line("attack", "not checked")]
    highest = None if profile is None else profile.highest
    lines = []
    for each in attacks:
        if each.succeeds:
            state: State = "failed" if highest is not None and exceeds(each.beyond_chance, highest) else "warning"
            lines.append(Line("attack", state, (), {"beyond_chance": each.beyond_chance}, attack=each.attack))
    return lines or [Line("attack", "passed", (), {"tried": len(attacks)})]


# Words


def words_of(line: Line) -> str:
    """Return a line in words.

    >>> words_of(Line("smallest-class", "failed", (), {"k": 1, "alone": 3, "members": 50}))
    'k = 1 is no protection: 3 of 50 rows (6 %) are alone in their class'
    """
    match line.kind:
        case "limit":
            return _words_of_limit(line)
        case "promise":
            return PROMISE[line.state]
        case "column-sets":
            return _words_of_subsets(line)
        case "identifiers":
            return f"{_columns(line)} {'is' if len(line.columns) == 1 else 'are'} shown, and should name nobody"
        case "smallest-class":
            return _words_of_smallest(line)
        case "published-columns":
            return _words_of_published(line)
        case "column-set":
            together = "" if len(line.columns) == 1 else " together"
            return f"{_columns(line)}{together}: {_some(line)} have a {_value(line)} of their own"
        case "sensitive-column":
            return f"{_some(line)} have a value of their own in the sensitive column {_columns(line)}"
        case "several-classes":
            return f"{_of(line, 'people')} people stand in several classes: who knows several of their rows finds more"
        case "attack":
            return _words_of_attack(line)
        case "withheld":
            return WITHHELD[line.state]


def _words_of_limit(line: Line) -> str:
    """Return a limit in words.

    >>> _words_of_limit(Line("limit", "failed", (), {"limit": 0.09, "value": 0.25}, figure="highest"))
    'the highest risk of an attacker is 25 %, and the profile allows 9 %'
    """
    value, limit = line.numbers.get("value"), line.numbers["limit"]
    spelled = "not known" if value is None else percent(value)
    allowed = percent(limit)
    if value is not None and spelled == allowed:
        spelled, allowed = number(value), number(limit)
    return f"the {LIMITS[line.figure or '']} is {spelled}, and the profile allows {allowed}"


def _words_of_subsets(line: Line) -> str:
    """Return a promise on sets of columns in words.

    >>> _words_of_subsets(Line("column-sets", "passed", (), {"k": 3, "size": 2, "sets": 0}))
    'every combination of values of up to 2 quasi-identifiers is shared by at least 3 rows'
    """
    size, sets = int(line.numbers["size"]), int(line.numbers["sets"])
    columns = f"up to {plural(size, 'quasi-identifier')}" if size else f"{plural(sets, 'named set')} of columns"
    return f"every combination of values of {columns} is shared by at least {number(line.numbers['k'])} {line.unit}"


PROMISE: Mapping[State, str] = {
    "passed": "every promise holds, as its certificate says",
    "failed": "a promise does NOT hold",
    "warning": "a promise may not hold",
    "not checked": "no promise is known: there is no certificate",
}
WITHHELD: Mapping[State, str] = {
    "passed": "nothing that readers are not told is open",
    "failed": "what readers are not told, such as counts of people, does not pass",
    "warning": "something is open of which readers are not told, such as counts of people",
    "not checked": "not everything could be checked",
}
NOT_TRIED = "no attack was tried"
TRIES = {
    "record-linkage": "look for each person's row with a register of names",
    "homogeneity": "read a sensitive value off a class in which all have the same",
    "background-knowledge": "rule one value out, and read a sensitive value off what is left in a class",
    "skewness": "use that a class makes a value much more likely than it is among all",
    "similarity": "learn which kind of value it is, or a narrow range for it",
    "membership": "say which of two people was in the table",
    "unsorted-matching": "use that rows still stand in their old order",
    "intersection": "put this release beside another one about the same people",
    "definetti": "guess sensitive values inside buckets by what all buckets tell together",
    "downcoding": "name finer values, because the release loses as little as it can",
    "combinatorial-refinement": "narrow values by the order of a search",
    "minimality": "compute which tables the algorithm could have had; for small tables",
    "predictable-seed": "undo the shuffling by guessing a seed",
}
"""What each attack tries, in plain words."""


def _words_of_smallest(line: Line) -> str:
    k, buckets = int(line.numbers["k"]), line.unit == "bucket"
    group = "bucket" if buckets else "class"
    unit = "rows" if buckets else line.unit
    if k < WEAK and "left_open" in line.numbers:
        alone = int(line.numbers.get("alone", 0))
        some = (
            f"{_of(line, 'alone', unit)} {'is' if alone == 1 else 'are'} alone on them"
            if alone
            else (f"whoever knows them has found one of {k}")
        )
        return f"nothing is promised of all quasi-identifiers together, and {some}"
    if k == 1:
        some = f"{_of(line, 'alone', unit)} are" if "alone" in line.numbers else "somebody is"
        return f"k = 1 is no protection: {some} alone in their {group}"
    if k < WEAK:
        return f"k = {k} is weak: who finds the {group} of somebody has found one of {k}"
    return f"the smallest {group} has {number(k)} {unit}"


def _words_of_published(line: Line) -> str:
    some = "one or two of the columns" if "columns_together" in line.numbers else "some of the columns"
    where = f"{some} that are published as they are ({_columns(line)})"
    if line.state == "passed":
        return f"nobody is alone on {where}"
    if line.state == "not checked" and not line.numbers["alone"]:
        return f"whether somebody is alone on {where} was not counted for all of them"
    least = "" if line.numbers["alone"] == line.numbers["alone_at_most"] else "at least "
    return f"{least}{_some(line)} are alone on {where}: whoever knows these values finds the row"


def _words_of_attack(line: Line) -> str:
    if line.state == "not checked":
        return NOT_TRIED
    if line.state == "passed":
        tried = int(line.numbers["tried"])
        return f"{'the attack that was' if tried == 1 else f'none of {tried} attacks that were'} tried " + (
            "does not beat chance" if tried == 1 else "beats chance"
        )
    if line.attack is None:
        return "an attack that was tried beats chance"
    by = f"the attack {line.attack} beats chance by at least {percent(line.numbers['beyond_chance'])}"
    return f"somebody can {TRIES[line.attack]}: {by}" if line.attack in TRIES else by


def _columns(line: Line) -> str:
    return ", ".join(map(repr, line.columns))


def _value(line: Line) -> str:
    return "value" if len(line.columns) == 1 else "combination"


def _some(line: Line) -> str:
    return _of(line, "alone")


def _of(line: Line, key: str, unit: str | None = None) -> str:
    some, members = int(line.numbers[key]), int(line.numbers["members"])
    share = f" ({percent(some / members)})" if members else ""
    named = "" if key == "people" else f" {unit or line.unit}"
    return f"{some:,} of {members:,}{named}{share}"
