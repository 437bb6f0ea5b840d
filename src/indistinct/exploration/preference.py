"""A study's own analyses as a metric: how much the confidence intervals of a release differ from the original's."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from indistinct.algorithms.base import Algorithm
from indistinct.algorithms.full_domain.node import ChosenNode
from indistinct.algorithms.registry import parse_algorithm
from indistinct.errors import IndistinctError, InfeasibleError, ParameterError
from indistinct.evaluation.analyze.analyze import analyze, parse_analyses
from indistinct.evaluation.analyze.regression import require_extra
from indistinct.job.job import Job
from indistinct.job.policy.value import AnalysisPlan
from indistinct.job.running import run_job
from indistinct.release.release import Release
from indistinct.schema import Schema
from indistinct.tables.opening import open_table

ANALYSIS_LOSS = "analysis-loss"
"""The name of this metric: 1 minus the mean overlap of confidence intervals, from 0 to 1."""
MAX_NODES_ANALYZED = 40
"""Upper limit of the lattice nodes that are published and analyzed."""
Analysis = str | Sequence[str] | AnalysisPlan


@dataclass(frozen=True, slots=True, eq=False)
class Preference:
    """A study's analyses, and the original with which they are compared, before its columns were masked."""

    plan: AnalysisPlan
    original: Any

    @classmethod
    def of(cls, analysis: Analysis, original: Any, schema: Schema) -> "Preference":
        """Return the preference for formulas, or for the analyses of a policy; raise at once if there are none."""
        require_extra()
        if not isinstance(analysis, AnalysisPlan):
            analysis = AnalysisPlan(formulas=(analysis,) if isinstance(analysis, str) else tuple(analysis))
        if not analysis.asks:
            raise ParameterError(
                "the analysis to prefer releases by is not known",
                hint='name it in [analysis] of the policy, or with --formula "cost ~ age"',
            )
        parse_analyses(analysis.formulas, analysis.family, analysis.questions, open_table(original).columns, schema)
        return cls(analysis, original)

    def loss(self, release: Release) -> float | None:
        """Return 1 minus the mean overlap of all estimates, None where nothing can be compared."""
        overlap = analyze(release, **self.plan.arguments, original=self.original).mean_overlap
        return None if overlap is None else 1 - overlap


def algorithms_tried(job: Job) -> Iterator[Algorithm]:
    """Yield the algorithms with a release among which a job's algorithm chooses, otherwise its own."""
    named = "auto" if job.algorithm is None else job.algorithm
    algorithm = parse_algorithm(named) if isinstance(named, str) else named
    if not algorithm.chooses:
        yield algorithm
        return
    try:
        explained = run_job(replace(job, algorithm=algorithm, progress=None)).explanation
    except InfeasibleError:
        yield algorithm  # its trial reports the reason
        return
    if explained is None:
        yield algorithm
        return
    yield from (parse_algorithm(each.algorithm) for each in explained.attempts if each.loss is not None)


def losses_of_nodes(job: Job, preference: Preference, nodes: Iterable[tuple[int, ...]]) -> dict[tuple[int, ...], float]:
    """Return the analysis loss of the releases of some nodes; nodes without a release are left out."""
    losses = {}
    for node in nodes:
        try:
            loss = preference.loss(run_job(replace(job, algorithm=ChosenNode(node))))
        except IndistinctError:
            loss = None
        if loss is not None:
            losses[node] = loss
    return losses
