"""The verdict on a table: one value, made of figures alone, whose words every interface shows.

It asks whether the privacy guarantee is satisfied, how small the smallest class is, how many members are unique on
unmodified columns, whether columns hold free text, names or numbers of people, and which attacks succeed. A profile
limits these. A profile is never passed while one line of it fails, and what was not checked is called so.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from indistinct.figures import number, percent, plural
from indistinct.frequencies.singled_out import SingledOut, without_class
from indistinct.frequencies.value import CLASS
from indistinct.models.registry import parse_model_or_none
from indistinct.models.subset_anonymity import SubsetAnonymity
from indistinct.release.certificate import Certificate
from indistinct.schema import Schema
from indistinct.study.assess.profiles import LIMITS, Gate, GateLine, Profile, exceeds, judge
from indistinct.study.inspect.patterns.base import MOSTLY, PatternShare

State = Literal["passed", "failed", "warning", "not checked"]
Kind = Literal[
    "limit", "promise", "column-sets", "identifiers", "smallest-class", "published-columns", "column-set",
    "sensitive-column", "identifying-values", "attack", "several-classes",
]  # fmt: skip
Remedy = Literal["quasi-identifier", "coarsen", "drop"]
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

    `risks` are what a profile may limit, by kind of attacker. `published` counts the members who are unique on
    unmodified columns, None where there are none. `own_values` has for each sensitive column the members who are unique
    on it, at most. `identifying` has the columns whose values look like free text, names or numbers of people, and what
    they look like; None where values were not looked at. `uniques` are members who are alone in their class, None where
    they were not counted. `promise` is what the certificate says, None without one. `several` are people in several
    classes, None where people are not counted. `subsets` are promises on sets of quasi-identifiers, where none is made
    of all of them together.
    """

    unit: str
    members: int
    smallest: int
    uniques: int | None
    risks: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)
    published: SingledOut | None = None
    own_values: Mapping[str, int] = field(default_factory=dict)
    identifying: Mapping[str, PatternShare] | None = field(default_factory=dict, kw_only=True)
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

    `figure` is what a limit of a profile is about, and `holds` what the values of a column look like. A line without
    `numbers` is worded without figures.
    """

    kind: Kind
    state: State
    columns: tuple[str, ...] = ()
    numbers: Mapping[str, float] = field(default_factory=dict)
    unit: str = "rows"
    attack: str | None = None
    figure: str | None = None
    holds: str | None = None

    @property
    def remedies(self) -> tuple[Remedy, ...]:
        """Return what would settle the line by another treatment of its columns."""
        if not self.open or not self.columns:
            return ()
        if self.kind in ("identifiers", "identifying-values"):
            return ("drop",)
        coarser: tuple[Remedy, ...] = ("coarsen", "drop")
        if self.kind not in COUNTED_KINDS:
            return ()
        return coarser if "in_buckets" in self.numbers else ("quasi-identifier", *coarser)

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
        *_judge_identifying(figures, profile),
        *_judge_several(figures),
        *_judge_attacks(attacks, profile),
    ]
    if profile is None:
        return Verdict(tuple(lines))
    limits = tuple(_limits(figures, profile))
    state: Literal["passed", "failed", "not checked"] = "passed"
    unread = profile.refuses_identifying_values and figures.identifying is None
    if unread or any(line.state == "not checked" for line in limits):
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
        identifying=None,
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
    """Judge unmodified columns: all of them together, and the sets on which most members are unique."""
    found = figures.published
    if found is None:
        return []
    state = _state_of(found, None if profile is None else profile.published_uniques)
    numbers: dict[str, float] = {
        "alone": found.least,
        "alone_at_most": found.most,
        "members": found.members,
        "share": found.share(found.least),
        **({"with_class": 1} if _needs_class(figures, found) else {}),
        **({} if figures.groups == "class" else {"in_buckets": 1}),
    }
    # The first line speaks of all columns together already.
    sets = [
        (key, alone)
        for key, alone in found.by_columns.items()
        if without_class(key) != found.columns or alone < found.least
    ]
    sets = sets[:NAMED] if state in ("failed", "warning") else []
    return [
        Line("published-columns", state, found.columns, numbers, found.unit),
        *(
            Line(
                "column-set",
                state,
                without_class(key),
                {
                    "alone": alone,
                    "members": found.members,
                    "share": found.share(alone),
                    **({"with_class": 1} if CLASS in key else {}),
                    **({} if figures.groups == "class" else {"in_buckets": 1}),
                },
                found.unit,
            )
            for key, alone in sets
        ),
    ]


def _needs_class(figures: Figures, found: SingledOut) -> bool:
    """Return whether members are unique on unmodified columns only with their class, or not even with it."""
    counted = figures.groups == "class" or any(CLASS in key for key in found.by_columns)
    return counted and (not found.least or found.by_columns.get(found.columns, 0) < found.least)


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


def _judge_identifying(figures: Figures, profile: Profile | None) -> list[Line]:
    """Judge columns whose values look like free text, names or numbers of people, under any role."""
    refused = profile is not None and profile.refuses_identifying_values
    if figures.identifying is None:
        return [Line("identifying-values", "not checked")] if refused else []
    state: State = "failed" if refused else "warning"
    return [
        Line("identifying-values", state, (name,), {"share": each.share, "judged": each.judged}, holds=each.meaning)
        for name, each in figures.identifying.items()
    ]


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
        case "identifying-values":
            return _words_of_identifying(line)
        case "smallest-class":
            return _words_of_smallest(line)
        case "published-columns":
            return _words_of_published(line)
        case "column-set":
            together = "" if len(line.columns) == 1 else " together"
            with_class = " with the equivalence class" if "with_class" in line.numbers else ""
            return f"{_columns(line)}{together}{with_class}: {_some(line)} have a {_value(line)} of their own"
        case "sensitive-column":
            return f"{_some(line)} have a value of their own in the sensitive column {_columns(line)}"
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
    """Return in words what settles a line about unmodified columns; in buckets quasi-identifiers are among them."""
    if "in_buckets" in line.numbers:
        return "coarsen or drop them" if len(line.columns) > 1 else "coarsen or drop it"
    if len(line.columns) == 1:
        return "make it a quasi-identifier, coarsen it or drop it"
    return "make some of them quasi-identifiers, coarsen or drop them"


def _words_of_identifying(line: Line) -> str:
    """Return in words what the values of a column look like.

    >>> free = Line("identifying-values", "failed", ("note",), {"share": 1.0}, holds="free text, which may tell names")
    >>> _words_of_identifying(free)
    "column 'note' holds free text, which may tell names: drop it, or publish a code in its place"
    """
    if not line.columns:
        return "whether columns hold free text, names or numbers of people was not checked"
    share = line.numbers.get("share", 1.0)
    part = "" if share >= MOSTLY else f" in {percent(share)} of its distinct values"
    return f"column {_columns(line)} holds {line.holds}{part}: drop it, or publish a code in its place"


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
    by = f"the attack {line.attack} beats chance"
    if "beyond_chance" in line.numbers:
        by += f" by at least {percent(line.numbers['beyond_chance'])}"
    return f"somebody can {TRIES[line.attack]}: {by}" if line.attack in TRIES else by


def _columns(line: Line) -> str:
    return ", ".join(map(repr, line.columns))


def _value(line: Line) -> str:
    return "value" if len(line.columns) == 1 else "combination"


def _some(line: Line) -> str:
    return _of(line, "alone") if "alone" in line.numbers else f"some {line.unit}"


def _all(line: Line) -> str:
    return f"{int(line.numbers['members']):,} {line.unit}"


def _of(line: Line, key: str, unit: str | None = None) -> str:
    some, members = int(line.numbers[key]), int(line.numbers["members"])
    share = f" ({percent(some / members)})" if members else ""
    named = "" if key == "people" else f" {unit or line.unit}"
    return f"{some:,} of {members:,}{named}{share}"
