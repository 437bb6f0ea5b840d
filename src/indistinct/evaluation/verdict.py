"""The verdict on a table: one value, made of figures alone, whose words every interface shows.

It asks whether the privacy guarantee is satisfied, how small the smallest class is, how many members are unique on
unmodified columns, whether columns hold free text, names or numbers of people, and which attacks succeed. A profile
limits these. A profile is never passed while one line of it fails, and what was not checked is called so.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from indistinct.as_json import AsJson
from indistinct.document.blocks import Block, Notice, listing
from indistinct.evaluation.assess.profiles import Gate, GateLine, Profile, exceeds, judge
from indistinct.evaluation.verdict_line import WEAK, Line, State, sentence_of
from indistinct.figures import plural
from indistinct.frequencies.singled_out import SingledOut, without_class
from indistinct.frequencies.structure import unit_of
from indistinct.frequencies.value import CLASS
from indistinct.inspection.patterns.base import PatternShare
from indistinct.models.registry import parse_model_or_none, subset_models
from indistinct.models.subset_anonymity import SubsetAnonymity
from indistinct.release.certificate import Certificate
from indistinct.release.guarantee import failed_checks
from indistinct.schema import Schema

NEARLY_ALL = 0.5
"""From this share on, a sensitive column in which members have a value of their own points at most of them."""
MAX_COLUMN_SETS_NAMED = 3
"""Sets of columns that a verdict names."""
MAX_WARNINGS = 3
"""With more warnings a release does not simply pass: they are things to decide."""


@dataclass(frozen=True, slots=True)
class AttackFigures:
    """An attack: whether it beats chance, and by how much at least, with a confidence of 95 %.

    `succeeds` is None where it was not through in time.
    """

    attack: str
    succeeds: bool | None
    beyond_chance: float = 0.0

    @classmethod
    def of(cls, verdict: Mapping[str, Any]) -> "AttackFigures":
        """Return the figures of an outcome that was written as JSON."""
        return cls(str(verdict["attack"]), bool(verdict["succeeds"]), float(verdict["beyond_chance"]))

    @classmethod
    def all_of(cls, values: Mapping[str, Any]) -> "list[AttackFigures]":
        """Return the figures of outcomes that were written as JSON, with the attacks that were not through in time."""
        return [*map(cls.of, values["outcomes"]), *(cls(str(name), None) for name in values.get("left_out", ()))]


PROMISED: Mapping[bool | None, State] = {None: "not checked", True: "passed", False: "failed"}


@dataclass(frozen=True, slots=True)
class Figures:
    """All that a verdict rests on.

    `risks` are what a profile may limit, by kind of attacker. `published` counts the members who are unique on
    unmodified columns, None where there are none. `own_values` has for each sensitive column the members who are
    unique on it, at most; where rows were counted although members are people, `own_values_rows` is how many rows
    there are. `identifying` has the columns whose values look like free text, names or numbers of people, and what
    they look like; None where values were not looked at. `uniques` are members who are alone in their class, None
    where they were not counted. `promise` is what the certificate says, None without one. `several` are people in
    several classes, None where people are not counted. `subsets` are guarantees on sets of quasi-identifiers, where
    none is made of all of them together. `checks` of the file fail although every model is satisfied.
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
    checks: tuple[str, ...] = ()
    own_values_rows: int | None = None

    def limited(self, attacker: str) -> dict[str, float | None]:
        """Return the figures that a profile may limit, for one kind of attacker."""
        published = self.published
        return {
            **self.risks.get(attacker, {}),
            "published_uniques": 0.0 if published is None else published.share(published.least),
        }

    def share(self, some: int) -> float:
        """Return a number of members as a share of all."""
        return some / self.members if self.members else 0.0


@dataclass(frozen=True, slots=True)
class Verdict(AsJson):
    """The verdict on a table: every line, and each limit of a profile where one was asked for.

    While an assessment and attacks follow by themselves, `checks` are what the final verdict rests on (the guarantee,
    each limit, and the attacks), `answered` how many have an answer, and `running` says that more answers will come.
    Until then the table is neither passed nor called safe, but it can fail. Without `checks` the verdict is final.
    """

    in_json: ClassVar[str] = "state tone profile=gate.profile.spec headline sentence sentences lines"
    lines: tuple[Line, ...]
    gate: Gate | None = None
    checks: int = 0
    answered: int = 0
    running: bool = False

    @property
    def state(self) -> Literal["passed", "failed", "not checked"]:
        """Return whether the profile is satisfied; a broken guarantee fails even without a profile."""
        if any(line.state == "failed" for line in self.lines):
            return "failed"
        return "not checked" if self.gate is None else self.gate.state

    @property
    def open(self) -> tuple[Line, ...]:
        """Return the lines with a problem or a doubt, failures first."""
        return tuple(sorted((line for line in self.lines if line.open), key=lambda line: line.state != "failed"))

    def count(self, state: State) -> int:
        """Return how many things have a state; the sets of columns are one with all columns together."""
        return sum(line.state == state and line.kind != "column-set" for line in self.lines)

    @property
    def unanswered(self) -> int:
        """Return how many checks have no answer: they are running, were stopped, or could not be computed."""
        return self.checks - self.answered

    @property
    def tone(self) -> Literal["good", "warning", "bad", "checking"]:
        """Return the color class of the verdict; `good` needs everything checked and nothing open."""
        if self.state == "failed":
            return "bad"
        if self.running:
            return "checking"
        whole = not self.open and not self.unanswered and not self.unfinished
        return "good" if self.state == "passed" and whole else "warning"

    @property
    def unfinished(self) -> int:
        """Return how many attacks were not through in time."""
        return sum(round(line.numbers.get("left", 0)) for line in self.lines if line.kind == "attack")

    @property
    def to_decide(self) -> int:
        """Return how many things are open; the sets of columns are one with all columns together."""
        return self.count("failed") + self.count("warning")

    @property
    def needs_decisions(self) -> bool:
        """Return whether more is open than a reader takes in at once, or an attack succeeds."""
        attacked = any(line.kind == "attack" for line in self.open)
        return attacked or self.count("warning") > MAX_WARNINGS

    @property
    def headline(self) -> str:
        """Return the verdict in one sentence."""
        warnings, failed = self.count("warning"), self.count("failed")
        warned = f", with {plural(warnings, 'warning')}" if warnings else ""
        if self.gate is None:
            asked = "no profile was asked for"
            problems = f"{plural(failed, 'problem')} and {plural(warnings, 'warning')}" if failed else ""
            return f"{problems or plural(warnings, 'warning') if self.open else 'no problem was found'}; {asked}"
        profile = f"the profile {self.gate.profile.spec()}"
        match self.state:
            case "passed" if self.needs_decisions:
                return f"passes the limits of {profile}; {plural(self.to_decide, 'thing')} to decide"
            case "passed":
                return f"passes {profile}{warned}{_words_of_unfinished(self.unfinished)}"
            case "failed":
                return f"FAILS {profile}"
            case "not checked":
                return f"is not shown to pass {profile}: not every limit could be checked"

    @property
    def sentence(self) -> str:
        """Return the verdict as every interface words it; before every check has an answer, how far they are."""
        profile = None if self.gate is None else self.gate.profile.spec()
        if self.unanswered and self.state != "failed":
            return _words_of_progress(self, profile)
        sentence = self.headline if self.gate is None else f"the release {self.headline}"
        return f"{sentence[:1].upper()}{sentence[1:]}."

    @property
    def sentences(self) -> tuple[str, ...]:
        """Return every line as a sentence; what is open comes first."""
        rest = [line for line in self.lines if not line.open]
        return tuple(map(sentence_of, (*self.open, *rest)))


def _words_of_unfinished(attacks: int) -> str:
    """Return the words for attacks that ran out of time, as the end of a sentence.

    >>> _words_of_unfinished(2), _words_of_unfinished(0)
    ('; 2 attacks were not through in time', '')
    """
    were = "was" if attacks == 1 else "were"
    return f"; {plural(attacks, 'attack')} {were} not through in time" if attacks else ""


def _words_of_progress(verdict: Verdict, profile: str | None) -> str:
    """Return how many checks have an answer, while others are running or without one.

    >>> _words_of_progress(Verdict((), checks=3, answered=1, running=True), None)
    'Checking 2 of 3: no verdict on the release yet.'
    """
    if verdict.running:
        about = "the release" if profile is None else f"the profile {profile}"
        return f"Checking {verdict.answered + 1} of {verdict.checks}: no verdict on {about} yet."
    start = "" if profile is None else f"The release is not shown to pass the profile {profile}: "
    have = "has" if verdict.unanswered == 1 else "have"
    return f"{start}{verdict.unanswered} of {plural(verdict.checks, 'check')} {have} no answer."


def verdict_blocks(verdict: Mapping[str, Any], *, only_open: bool = False) -> tuple[Block, ...]:
    """Return a verdict, as JSON values, as its sentence and its lines; those that are open come first."""
    lines = [line for line in verdict["lines"] if line["state"] in ("failed", "warning")]
    sentences = verdict["sentences"][: len(lines)] if only_open else verdict["sentences"]
    return (Notice(str(verdict["sentence"]), verdict["tone"]), *listing(map(str, sentences)))


def verdict_of(
    figures: Figures, profile: Profile | None = None, *, attacks: Sequence[AttackFigures] | None = None
) -> Verdict:
    """Return the verdict on figures, by a profile where one is given; `attacks` are those that were run.

    >>> from indistinct.evaluation.assess.profiles import Public
    >>> good = {"highest": 0.05, "uniques": 0.0, "homogeneous": 0.0}
    >>> cost = SingledOut("rows", 100, ("cost",), 99, 99, {("cost",): 99})
    >>> verdict = verdict_of(Figures("rows", 100, 20, 0, {"prosecutor": good}, cost), Public())
    >>> verdict.state, verdict.open[0].columns
    ('failed', ('cost',))
    """
    lines = [
        Line("promise", PROMISED[figures.promise], checks=figures.checks),
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
    """Return the limits that fail or could not be checked, unless another line already covers them."""
    kinds = {"published_uniques": "published-columns", "uniques": "smallest-class"}
    judged = {(line.kind, line.state) for line in lines}
    return [
        Line(
            "limit",
            each.state,
            (),
            {"limit": float(each.limit)} | ({} if each.value is None else {"value": each.value}),
            figure=each.figure,
        )
        for each in limits
        if not each.passed and (kinds.get(each.figure), each.state) not in judged
    ]


def figures_of_certificate(certificate: Certificate, schema: Schema) -> Figures:
    """Return the figures of a certificate alone, before an assessment; `schema` has the original roles.

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
        own_values={name: alone[(name,)] for name in schema.sensitive if (name,) in alone},
        own_values_rows=None if people is None else rows,
        identifying=None,
        promise=certificate.holds,
        groups=unit_of(certificate.form),
        subsets=subsets_promised(each.model for each in certificate.verdicts),
        checks=failed_checks({"model": each.model, "holds": each.holds} for each in certificate.verdicts),
    )


def subsets_promised(spelled: Iterable[str]) -> tuple[SubsetAnonymity, ...]:
    """Return the guarantees on sets of quasi-identifiers; none if all of them together are protected.

    >>> pairs = "subset-anonymity:k=3,size=2"
    >>> len(subsets_promised([pairs])), len(subsets_promised([pairs, "k-anonymity:k=2"]))
    (1, 0)
    """
    known = [model for model in map(parse_model_or_none, spelled) if model is not None]
    subsets = subset_models(known)
    return () if any(each.smallest > 1 for each in known) else subsets


def _limits(figures: Figures, profile: Profile) -> Sequence[GateLine]:
    """Compare figures with limits; a share known by bounds passes by the upper and fails by the lower one."""
    published = figures.published
    bounds = {} if published is None else {"published_uniques": published.share(published.most)}
    return judge(profile, figures.limited(profile.attacker), at_most=bounds)


def _judge_subsets(figures: Figures) -> list[Line]:
    """Report the guarantees on sets of quasi-identifiers; a broken one is reported by the certificate."""
    if figures.promise is False:
        return []
    state: State = "not checked" if figures.promise is None else "passed"
    return [
        Line("column-sets", state, (), {"k": each.k, "size": each.size or 0, "sets": len(each.sets)}, figures.unit)
        for each in figures.subsets
    ]


def _judge_smallest(figures: Figures, profile: Profile | None) -> list[Line]:
    """Judge the smallest class: one of a single member protects no person, whatever k was asked for.

    Where sets of quasi-identifiers are guaranteed, all of them together were left open on purpose: that is a warning,
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
    published = figures.published
    if published is None:
        return []
    state = _state_of(published, None if profile is None else profile.published_uniques)
    # In buckets, quasi-identifiers are unmodified too: another role settles nothing.
    roles_kept: dict[str, float] = {} if figures.groups == "class" else {"in_buckets": 1}
    numbers: dict[str, float] = {
        "alone": published.least,
        "alone_at_most": published.most,
        "members": published.members,
        "share": published.share(published.least),
        **({"with_class": 1} if _needs_class(figures, published) else {}),
        **roles_kept,
    }
    # The first line is already about all columns together.
    sets = [
        (key, alone)
        for key, alone in published.by_columns.items()
        if without_class(key) != published.columns or alone < published.least
    ]
    sets = sets[:MAX_COLUMN_SETS_NAMED] if state in ("failed", "warning") else []
    return [
        Line("published-columns", state, published.columns, numbers, published.unit),
        *(
            Line(
                "column-set",
                state,
                without_class(key),
                {
                    "alone": alone,
                    "members": published.members,
                    "share": published.share(alone),
                    **({"with_class": 1} if CLASS in key else {}),
                    **roles_kept,
                },
                published.unit,
            )
            for key, alone in sets
        ),
    ]


def _needs_class(figures: Figures, singled_out: SingledOut) -> bool:
    """Return whether members are unique on unmodified columns only with their class, or not even with it."""
    counted = figures.groups == "class" or any(CLASS in key for key in singled_out.by_columns)
    return counted and (not singled_out.least or singled_out.by_columns.get(singled_out.columns, 0) < singled_out.least)


def _state_of(singled_out: SingledOut, limit: Any) -> State:
    """Judge the unique rows by the limit of a profile; without one they are a warning."""
    if limit is not None and exceeds(singled_out.share(singled_out.least), limit):
        return "failed"
    if singled_out.least:
        settled = limit is None or not exceeds(singled_out.share(singled_out.most), limit)
        return "warning" if settled else "not checked"
    return "passed" if singled_out.most == 0 else "not checked"


def _judge_sensitive(figures: Figures, profile: Profile | None) -> list[Line]:
    """Judge sensitive columns by the members who have a value of their own in them."""
    lines = []
    members, unit = figures.members, figures.unit
    if figures.own_values_rows is not None:
        members, unit = figures.own_values_rows, "rows"
    for column, alone in figures.own_values.items():
        share = alone / members if members else 0.0
        refused = profile is not None and profile.refuses_own_values and share >= NEARLY_ALL
        numbers = {"alone": alone, "members": members, "share": share}
        if alone:
            state: State = "failed" if refused else "warning"
            lines.append(Line("sensitive-column", state, (column,), numbers, unit))
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
    """Judge attacks that were run; one that was not run, or not to its end, is never passed."""
    if not attacks:
        return [Line("attack", "not checked")]
    highest = None if profile is None else profile.highest
    left = sum(each.succeeds is None for each in attacks)
    lines = []
    for each in attacks:
        if each.succeeds:
            state: State = "failed" if highest is not None and exceeds(each.beyond_chance, highest) else "warning"
            lines.append(Line("attack", state, (), {"beyond_chance": each.beyond_chance}, attack=each.attack))
    tried = len(attacks) - left
    if tried and not lines:
        lines.append(Line("attack", "passed", (), {"tried": tried}))
    return [*lines, *([Line("attack", "not checked", (), {"left": left})] if left else [])]
