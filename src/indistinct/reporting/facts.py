"""The facts about a release: computed by the public functions, stored as their JSON.

Where a fact cannot be computed, a sentence with the reason is stored. The objects behind some documents are kept for
pictures.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from indistinct.algorithms.explanation import Explanation
from indistinct.document.blocks import JsonValues
from indistinct.errors import InputError, MissingExtraError, OriginalError, ParameterError
from indistinct.evaluation.assess.assess import assess, attack_figures
from indistinct.evaluation.assess.membership import Membership, membership_by_kind
from indistinct.evaluation.attack.attack import attack_all
from indistinct.evaluation.measure.distributions import Distributions
from indistinct.evaluation.measure.learning.classification import classify
from indistinct.evaluation.measure.measure import assignment_of, distributions, measure
from indistinct.evaluation.query.query import workload_error
from indistinct.evaluation.query.workload import WorkloadErrors
from indistinct.evaluation.verdict import AttackFigures, Figures, Verdict, verdict_of
from indistinct.evaluation.verify import verify
from indistinct.metrics import Measurements
from indistinct.recoding.outputs import Assignment
from indistinct.release.certificate import Certificate
from indistinct.release.guarantee import failed_checks
from indistinct.reporting.column_sets import column_set_facts
from indistinct.reporting.columns import ColumnShares, column_facts, shares_of, suppression_facts
from indistinct.reporting.subject import Subject

NO_ORIGINAL = "The original was not given, so this is not known: give it with original=… (--original)."
NO_POPULATION = "No population was given: all population matches are assumed to be in the table itself (--population)."
NO_WORKLOAD = "No workload was given: queries were not compared (workload=…, --workload)."
NOT_LEARNED = "Nothing was learned from the release: no classifier was asked for (target=…, --learn)."
NOT_VERIFIED = "The release was not verified here"
NOT_COUNTED = ("algorithm", "recoding_digest", "output_digest", "other_digests", "sample")
"""Fields of a certificate next to a file that cannot be counted again."""
MAX_ROWS_FOR_MEMBERSHIP = 200_000
"""Number of original rows up to which membership is measured: it takes longer than everything else."""
MAX_ROWS_ATTACKED, SAMPLE_ROWS = 100_000, 10_000
"""Of a larger original a sample is attacked, which suffices for narrow intervals."""
Found = TypeVar("Found")


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """The facts of an edition.

    `documents` have JSON by the name of the function that returned it, `reasons` say why one is missing. `verdict` is
    the value behind its document. The other fields are for pictures, None where there is nothing to draw.
    """

    subject: Subject
    documents: Mapping[str, JsonValues]
    reasons: Mapping[str, str] = field(default_factory=dict)
    certificate: Certificate | None = None
    explanation: Explanation | None = None
    distributions: Distributions | None = None
    shares: Mapping[str, ColumnShares] = field(default_factory=dict)
    membership: Mapping[str, Membership] = field(default_factory=dict)
    errors: WorkloadErrors | None = None
    verdict: Verdict | None = None

    def json(self, name: str) -> JsonValues | None:
        """Return the JSON of a function, None if it is missing."""
        return self.documents.get(name)

    def why_not(self, name: str) -> str:
        """Return why a document is missing."""
        return self.reasons.get(name, "This was not computed.")


class _Gathering:
    """Documents and reasons while facts are computed; a failure of an optional part must not end the report."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.documents: dict[str, JsonValues] = {}
        self.reasons: dict[str, str] = {}

    def add(self, name: str, content: Mapping[str, Any]) -> None:
        self.documents[name] = JsonValues(name, content)

    def attempt(
        self,
        name: str,
        run: Callable[[], Found],
        *,
        needs: str | None = None,
        failed: str = "This could not be computed",
    ) -> Found | None:
        """Return the result of `run`, or store the reason why there is none: a missing input (`needs`), or its error.

        `OriginalError` is not caught: with the original of another release nothing in the report would be true.
        """
        if needs is not None:
            self.reasons[name] = needs
            return None
        try:
            return run()
        except OriginalError:
            raise
        except (InputError, ParameterError, MissingExtraError) as error:
            self.reasons[name] = f"{failed}: {error.message}."
            return None


def gather(subject: Subject, *, internal: bool = True) -> Facts:
    """Compute all facts about a release; facts that external readers may not know are skipped for them."""
    gathering = _Gathering(subject)
    certificate = _add_certificate(gathering)
    figures = _add_risk(gathering)
    assignment, metrics = _add_loss(gathering)
    if metrics is not None:
        gathering.add("measure", {"metrics": metrics.to_json()})
    attacks = _add_attacks(gathering)
    judged = None
    if figures is not None:
        document = gathering.documents.get("certificate")
        promise, checks = (
            (None, ()) if document is None else (document.at("holds"), failed_checks(document.at("verdicts")))
        )
        judged = verdict_of(replace(figures, promise=promise, checks=checks), subject.profile, attacks=attacks)
        gathering.add("verdict", judged.to_json())
    gathering.add("columns", column_facts(subject, assignment=None if subject.structure.unmeasured else assignment))
    if not internal:
        gathering.add("suppression", suppression_facts(subject, assignment=None, shares={}))
        return Facts(subject, gathering.documents, gathering.reasons, certificate, verdict=judged)
    distances, shares = _add_distances(gathering)
    _add_column_sets(gathering)
    membership, errors = _add_members(gathering) or {}, _add_queries(gathering)
    _add_learning(gathering)
    pieces = None if subject.release is None else assignment
    gathering.add("suppression", suppression_facts(subject, assignment=pieces, shares=shares))
    explanation = None if subject.release is None else subject.release.explanation
    return Facts(
        subject,
        gathering.documents,
        gathering.reasons,
        certificate,
        explanation,
        distances,
        shares,
        membership,
        errors,
        judged,
    )


def _add_certificate(gathering: _Gathering) -> Certificate | None:
    """Add the results of verification or, where that is not possible, the certificate next to the file."""
    given = gathering.subject.published
    if given.release is not None:
        gathering.add("certificate", given.release.certificate.to_json())
        return given.release.certificate
    needs = f"{NOT_VERIFIED}: no model is known." if given.promise is None else None
    certificate = gathering.attempt("certificate", lambda: verify(given), needs=needs, failed=NOT_VERIFIED)
    file_certificate = dict(given.certificate)
    if certificate is None:
        if file_certificate:
            gathering.add("certificate", file_certificate)
        return None
    kept = {key: file_certificate.get(key) for key in (*NOT_COUNTED, "overlap")}
    counted = certificate.to_json()
    gathering.add(
        "certificate", counted | {key: value for key, value in kept.items() if value and not counted.get(key)}
    )
    return certificate


def _add_risk(gathering: _Gathering) -> Figures | None:
    """Add the risk before and after; return the figures for a verdict."""
    subject = gathering.subject
    known = gathering.attempt("assess", lambda: assess(subject.published))
    if known is None:
        gathering.reasons["verdict"] = gathering.reasons["assess"]
        return None
    document = known.to_json()
    gathering.add("assess", document | {"notes": subject.notes(document["notes"], subject.schema)})
    if known.before is None:
        gathering.reasons["before"] = NO_ORIGINAL
    if subject.published.population is None:
        gathering.reasons["population"] = NO_POPULATION
    elif subject.structure.unused_population:
        gathering.reasons["population"] = subject.structure.unused_population
    return known.figures


def _add_loss(gathering: _Gathering) -> tuple[Assignment | None, Measurements | None]:
    """Add the loss; return the classes of the original's cells, and the metrics."""
    given, policy = gathering.subject.published, gathering.subject.policy
    target = None if policy is None else policy.target
    metrics = () if policy is None else policy.metrics
    if given.release is not None:
        assignment, needs = assignment_of(given), None
    else:
        assignment, needs = None, NO_ORIGINAL if given.raw is None and not given.structure.unmeasured else None
        metrics = tuple(each for each in metrics if not each.compares_cells)
    measured = gathering.attempt("measure", lambda: measure(given, metrics or None, target=target), needs=needs)
    if measured is not None and assignment is None and not given.structure.unmeasured:
        assignment = assignment_of(given)
    return assignment, measured


def _add_distances(gathering: _Gathering) -> tuple[Distributions | None, Mapping[str, ColumnShares]]:
    """Return the distances of all columns from the original, and the shares of their values before and after."""
    given = gathering.subject.published

    def run() -> tuple[Distributions, Mapping[str, ColumnShares]]:
        return distributions(given), shares_of(given.values_of_original("distributions"), given.view("distributions"))

    distances, shares = gathering.attempt("distributions", run, needs=_needs_original(gathering)) or (None, {})
    if distances is not None:
        gathering.add("distributions", distances.to_json())
    return distances, shares


def _add_column_sets(gathering: _Gathering) -> None:
    """Add how many rows are unique on sets of columns before and after."""
    given = gathering.subject.published
    sets = gathering.attempt("unique_on_columns", lambda: column_set_facts(given), needs=_needs_original(gathering))
    if sets is not None:
        gathering.add("unique_on_columns", sets)


def _needs_original(gathering: _Gathering) -> str | None:
    return NO_ORIGINAL if gathering.subject.published.raw is None else None


def _add_members(gathering: _Gathering) -> dict[str, Membership] | None:
    """Return membership disclosure for each kind of tuples."""
    given = gathering.subject.published
    if given.raw is not None and given.raw.rows > MAX_ROWS_FOR_MEMBERSHIP:
        limit = f"The original has more than {MAX_ROWS_FOR_MEMBERSHIP:,} rows"
        gathering.reasons["membership"] = f"{limit}: `indistinct measure` tells this, which takes its time."
        return None
    members = gathering.attempt("membership", lambda: membership_by_kind(given), needs=_needs_original(gathering))
    if members:
        gathering.add("membership", {kind: dict(each.to_json()) for kind, each in members.items()})
    return members


def _add_attacks(gathering: _Gathering) -> list[AttackFigures] | None:
    """Add the results of attacks within their time limit; return their figures for a verdict, None if none was run."""
    given, questions = gathering.subject.published, gathering.subject.questions
    if questions.attacks is not None:
        gathering.add("attack", questions.attacks)
        return AttackFigures.all_of(questions.attacks)
    sample = SAMPLE_ROWS if given.raw is not None and given.raw.rows > MAX_ROWS_ATTACKED else None
    outcomes = gathering.attempt(
        "attack",
        lambda: attack_all(given, seconds=questions.seconds, seed=questions.seed, sample=sample),
        needs=_needs_original(gathering),
    )
    if outcomes is not None:
        gathering.add("attack", outcomes.to_json())
    return attack_figures(outcomes)


def _add_queries(gathering: _Gathering) -> WorkloadErrors | None:
    """Add the errors of the answers to a workload."""
    given, workload = gathering.subject.published, gathering.subject.questions.workload
    needs = NO_WORKLOAD if workload is None else _needs_original(gathering)
    errors = gathering.attempt("query", lambda: workload_error(given, workload=workload), needs=needs)
    if errors is not None:
        gathering.add("query", errors.to_json())
    return errors


def _add_learning(gathering: _Gathering) -> None:
    """Add how well a column can be learned from the release, if requested."""
    given, target = gathering.subject.published, gathering.subject.questions.target
    needs = NOT_LEARNED if target is None else _needs_original(gathering)
    named = gathering.subject.questions.classifiers
    chosen: dict[str, Any] = {} if named is None else {"classifiers": named}

    def run() -> Any:
        assert target is not None  # noqa: S101  (it is in `needs`)
        return classify(given, target=target, **chosen)

    learned = gathering.attempt("classify", run, needs=needs)
    if learned is not None:
        gathering.add("classify", learned.to_json())
