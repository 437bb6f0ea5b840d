"""What is known about a release: found by the public functions, kept as the JSON that they give.

What cannot be found is kept as a sentence that says why. The objects behind some documents are kept for pictures.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from indistinct.algorithms.auto import Auto
from indistinct.algorithms.explanation import Explanation
from indistinct.answers.workload import WorkloadErrors
from indistinct.api import verify
from indistinct.assessing import assess
from indistinct.attacking import attack_all
from indistinct.errors import InputError, MissingExtraError, OriginalError, ParameterError
from indistinct.learning.classification import classify
from indistinct.markup import Document
from indistinct.measuring import measure, read_assignment
from indistinct.metrics import Measurements, measure_all, standard_metrics
from indistinct.metrics.base import Metric
from indistinct.metrics.buckets import measure_buckets
from indistinct.querying import workload_error
from indistinct.recoding.outputs import Assignment
from indistinct.release.certificate import Certificate
from indistinct.release.distributions import Distributions, compare_distributions
from indistinct.release.possible_values import encoded_original, possible_values
from indistinct.reporting.columns import Shares, column_facts, shares_of
from indistinct.reporting.subject import Subject
from indistinct.reporting.suppression import suppression_facts
from indistinct.risks.membership import Membership
from indistinct.risks.membership_of_release import membership_of
from indistinct.tables import open_table

NO_ORIGINAL = "The original was not given, so this cannot be told: give it with original=… (--original)."
NO_POPULATION = "No population was given: every look-alike is taken to be in the table itself (--population)."
OF_BUCKETS = (
    "The population was not used: buckets show quasi-identifiers as they are, and look-alikes in it hide nobody."
)
NO_WORKLOAD = "No workload was given: queries were not compared (workload=…, --workload)."
NOT_LEARNED = "Nothing was learned from the release: no classifier was asked for (target=…, --learn)."
NOT_VERIFIED = "The release was not verified here"
LARGEST_MEMBERSHIP = 200_000
"""Of an original with more rows membership is not measured here: it takes longer than all the rest."""
MOST_ATTACKED, SAMPLE = 100_000, 10_000
"""Of an original with more rows a sample is attacked, which is enough for figures with narrow intervals."""
Found = TypeVar("Found")


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """What an edition may know.

    `documents` hold JSON by the name of the function that gave it, `reasons` why one is not there. The other fields are
    what pictures are drawn from, None where there is nothing to draw.
    """

    subject: Subject
    documents: Mapping[str, Document]
    reasons: Mapping[str, str] = field(default_factory=dict)
    certificate: Certificate | None = None
    explanation: Explanation | None = None
    distributions: Distributions | None = None
    shares: Mapping[str, Shares] = field(default_factory=dict)
    membership: Mapping[str, Membership] = field(default_factory=dict)
    errors: WorkloadErrors | None = None

    def document(self, name: str) -> Document | None:
        """Return what a function gave, None where it gave nothing."""
        return self.documents.get(name)

    def why_not(self, name: str) -> str:
        """Return why a document is not there."""
        return self.reasons.get(name, "This was not computed.")


class _Gathering:
    """Documents and reasons while facts are gathered; optional parts must not end a report."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.documents: dict[str, Document] = {}
        self.reasons: dict[str, str] = {}

    def add(self, name: str, content: Mapping[str, Any]) -> None:
        self.documents[name] = Document(name, content)

    def attempt(
        self,
        name: str,
        run: Callable[[], Found],
        *,
        needs: str | None = None,
        failed: str = "This could not be computed",
    ) -> Found | None:
        """Return what a run gives; keep the reason where it gives nothing or lacks something.

        The original of another release ends the report: nothing in it would be true.
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
    """Return everything that can be told about a release; what no reader may know need not be found for readers."""
    found = _Gathering(subject)
    certificate = _certified(found)
    _assessed(found)
    assignment, metrics = _measured(found)
    if metrics is not None:
        found.add("measure", {"metrics": metrics.to_json()})
    _attacked(found)
    found.add("columns", column_facts(subject, assignment=None if subject.in_buckets else assignment))
    if not internal:
        found.add("suppression", suppression_facts(subject, assignment=None, shares={}))
        return Facts(subject, found.documents, found.reasons, certificate)
    distances, shares = _distributed(found)
    membership, errors = _members(found) or {}, _queried(found)
    _learned(found)
    pieces = None if subject.release is None else assignment
    found.add("suppression", suppression_facts(subject, assignment=pieces, shares=shares))
    explanation = None if subject.release is None else subject.release.explanation
    return Facts(
        subject,
        found.documents,
        found.reasons,
        certificate,
        explanation,
        distances,
        shares,
        membership,
        errors,
    )


def _certified(found: _Gathering) -> Certificate | None:
    """Add what verification counts; where that is not possible, the certificate beside the file is read."""
    subject, told = found.subject, dict(found.subject.told)
    if subject.release is not None:
        found.add("certificate", subject.release.certificate.to_json())
        return subject.release.certificate
    model = subject.model

    def run() -> Certificate:
        assert model is not None  # noqa: S101  (said in `needs`)
        return verify(
            subject.table,
            subject.schema,
            model,
            original=subject.given,
            recoding=subject.beside.recoding,
            hierarchies=subject.hierarchies,
            population=subject.beside.population,
            transformations=subject.changes,
            pseudonyms=subject.declared or tuple(subject.pseudonyms),
        )

    needs = f"{NOT_VERIFIED}: no model is known." if model is None else None
    certificate = found.attempt("certificate", run, needs=needs, failed=NOT_VERIFIED)
    if certificate is None:
        if told:
            found.add("certificate", told)
        return None
    kept = {key: told.get(key) for key in ("algorithm", "recoding_digest", "output_digest", "other_digests", "overlap")}
    counted = certificate.to_json()
    found.add("certificate", counted | {key: value for key, value in kept.items() if value and not counted.get(key)})
    return certificate


def _assessed(found: _Gathering) -> None:
    """Add the risk before and after."""
    subject = found.subject
    schema = None if subject.release is not None else subject.schema
    known = found.attempt(
        "assess",
        lambda: assess(
            subject.asked,
            schema,
            original=subject.original,
            population=subject.beside.population,
            hierarchies=subject.hierarchies,
            recoding=subject.beside.recoding if subject.release is None else None,
            pseudonyms=() if subject.release is not None else subject.declared or tuple(subject.pseudonyms),
        ),
    )
    if known is None:
        return
    told = known.to_json()
    found.add("assess", told | {"notes": subject.notes(told["notes"], subject.schema)})
    if known.before is None:
        found.reasons["before"] = NO_ORIGINAL
    if subject.beside.population is None:
        found.reasons["population"] = NO_POPULATION
    elif subject.in_buckets:
        found.reasons["population"] = OF_BUCKETS


def _measured(found: _Gathering) -> tuple[Assignment | None, Measurements | None]:
    """Return what became of the original's cells, and what that cost."""
    subject = found.subject
    policy = subject.policy
    target = None if policy is None else policy.target
    asked = () if policy is None else policy.metrics
    if subject.release is not None:
        made = subject.release
        return made.assignment, found.attempt("measure", lambda: measure(made, asked or None, target=target))
    if subject.in_buckets:
        k = 1 if subject.model is None else subject.model.smallest
        return None, found.attempt("measure", lambda: _bucket_metrics(subject, k))
    needs = None if subject.original is not None else NO_ORIGINAL
    wanted = _metrics(subject, target, asked)

    def run() -> tuple[Assignment, Measurements]:
        keys = tuple(dict.fromkeys(key for metric in wanted for key in metric.keys))
        meant = read_assignment(
            subject.table, subject.schema, original=subject.original, hierarchies=subject.hierarchies, keys=keys
        )
        return meant, measure_all(meant, wanted)

    return found.attempt("measure", run, needs=needs) or (None, None)


def _bucket_metrics(subject: Subject, k: int) -> Measurements:
    from_buckets = subject.opened.in_buckets(subject.schema)
    return measure_buckets(from_buckets.links, k=k)


def _metrics(subject: Subject, target: str | None, asked: tuple[Metric, ...]) -> tuple[Metric, ...]:
    """Return the metrics that a published file can answer."""
    k = 1 if subject.model is None else subject.model.smallest
    chosen = tuple(each for each in asked if not each.compares_cells)
    every = standard_metrics(k=k, target=target)
    return chosen or tuple(each for each in every if not each.compares_cells)


def _distributed(found: _Gathering) -> tuple[Distributions | None, Mapping[str, Shares]]:
    """Return how far every column is from the original, and the shares of its values before and after."""
    subject = found.subject

    def run() -> tuple[Distributions, Mapping[str, Shares]]:
        columns = encoded_original(open_table(subject.original).data, subject.schema, hierarchies=subject.hierarchies)
        domains = {name: column.domain for name, column in columns.items()}
        shown = possible_values(subject.opened, subject.schema, domains=domains, hierarchies=subject.hierarchies)
        return compare_distributions(columns, shown), shares_of(columns, shown)

    needs = None if subject.original is not None else NO_ORIGINAL
    distances, shares = found.attempt("distributions", run, needs=needs) or (None, {})
    if distances is not None:
        found.add("distributions", distances.to_json())
    return distances, shares


def _members(found: _Gathering) -> dict[str, Membership] | None:
    """Return membership disclosure for each kind of tuples."""
    subject = found.subject
    kinds: dict[str, dict[str, Any]] = {"quasi-identifiers": {"hierarchies": subject.hierarchies}}
    if subject.in_buckets:
        kinds = {"all attributes": {"quasi_only": False}, "without sensitive ones": {"quasi_only": True}}

    def run() -> dict[str, Membership]:
        return {
            kind: membership_of(subject.table, subject.schema, original=subject.original, **options)
            for kind, options in kinds.items()
        }

    if subject.original is not None and subject.original.rows > LARGEST_MEMBERSHIP:
        limit = f"The original has more than {LARGEST_MEMBERSHIP:,} rows"
        found.reasons["membership"] = f"{limit}: `indistinct measure` tells this, which takes its time."
        return None
    members = found.attempt("membership", run, needs=None if subject.original is not None else NO_ORIGINAL)
    if members:
        found.add("membership", {kind: dict(each.to_json()) for kind, each in members.items()})
    return members


def _attacked(found: _Gathering) -> None:
    """Add what attacks achieve in the time that they have."""
    subject = found.subject
    needs = None if subject.original is not None else NO_ORIGINAL
    given: dict[str, Any] = {"schema": None if subject.release is not None else subject.schema}
    given |= {"original": subject.original, "hierarchies": subject.hierarchies, "seed": subject.beside.seed}
    if subject.original is not None and subject.original.rows > MOST_ATTACKED:
        given["sample"] = SAMPLE
    if subject.release is None:
        given |= {"model": subject.model, "algorithm": _named(subject)}
    seconds = subject.beside.seconds
    outcomes = found.attempt("attack", lambda: attack_all(subject.asked, seconds=seconds, **given), needs=needs)
    if outcomes is not None:
        found.add("attack", outcomes.to_json())


def _named(subject: Subject) -> Any:
    """Return the algorithm as `indistinct attack` knows it: where it is named."""
    return None if subject.algorithm is None or subject.algorithm.name == Auto.name else subject.algorithm


def _queried(found: _Gathering) -> WorkloadErrors | None:
    """Add how far the answers to a workload are off."""
    subject = found.subject
    needs = NO_WORKLOAD if subject.beside.workload is None else None if subject.original is not None else NO_ORIGINAL
    schema = None if subject.release is not None else subject.schema
    errors = found.attempt(
        "query",
        lambda: workload_error(
            subject.asked, subject.original, subject.beside.workload, schema, hierarchies=subject.hierarchies
        ),
        needs=needs,
    )
    if errors is not None:
        found.add("query", errors.to_json())
    return errors


def _learned(found: _Gathering) -> None:
    """Add what can be learned from the release, if that is asked for."""
    subject, target = found.subject, found.subject.beside.target
    needs = NOT_LEARNED if target is None else None if subject.original is not None else NO_ORIGINAL
    chosen: dict[str, Any] = {} if subject.beside.classifiers is None else {"classifiers": subject.beside.classifiers}

    def run() -> Any:
        assert target is not None  # noqa: S101  (said in `needs`)
        asked, hierarchies = subject.asked, subject.hierarchies
        return classify(
            subject.original, subject.schema, target=target, release=asked, hierarchies=hierarchies, **chosen
        )

    learned = found.attempt("classify", run, needs=needs)
    if learned is not None:
        found.add("classify", learned.to_json())
