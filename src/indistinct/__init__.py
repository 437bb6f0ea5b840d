"""Publish tables about people so that nobody in them can be singled out.

A *recoding* says what to publish for each combination of quasi-identifier values. An *algorithm* finds one,
an *engine* applies it, a *model* judges the result.
"""

import logging
from difflib import get_close_matches
from importlib import import_module

__version__ = "0.2.0"

# Stages report here what they counted, never a cell's value; nobody sees it unless a program asks for it.
logging.getLogger(__name__).addHandler(logging.NullHandler())

# The module of every public name, which the stub `__init__.pyi` lists for type checkers. A name is loaded on its first
# use: the command line answers --help without Arrow and Numba.
_MODULE_OF = {
    "KACA": "algorithms.cluster.kaca",
    "MDAV": "algorithms.cluster.mdav",
    "Algorithm": "algorithms.base",
    "AlgorithmTraits": "algorithms.base",
    "AlphaK": "models",
    "Anatomy": "algorithms.bucket.anatomy",
    "Answer": "study.query.answer",
    "Assessment": "study.assess.assessment",
    "Assignment": "recoding.outputs",
    "Attack": "study.attack.base",
    "AverageRisk": "models",
    "BasicBetaLikeness": "models",
    "BottomUp": "algorithms.full_domain.bottom_up",
    "BucketTable": "release.opening",
    "CellSuppression": "algorithms.full_domain.cell_suppression",
    "Certificate": "release.certificate",
    "ChosenNode": "algorithms.full_domain.node",
    "Classes": "frequencies.value",
    "Classification": "study.measure.learning.scores",
    "Codebook": "recoding.codebook",
    "Compare": "metrics.queries.value",
    "Comparison": "study.compare.compare",
    "DatabaseTable": "engines.base",
    "Datafly": "algorithms.full_domain.datafly",
    "DeltaDisclosure": "models",
    "DeltaPresence": "models",
    "DistinctLDiversity": "models",
    "Distributions": "study.measure.distributions",
    "EnhancedBetaLikeness": "models",
    "EntropyLDiversity": "models",
    "Exploration": "study.explore",
    "Finding": "study.scan.base",
    "GradientBoosting": "study.measure.learning.classifiers",
    "Hierarchy": "hierarchy",
    "HierarchyError": "errors",
    "Histogram": "frequencies.value",
    "Incognito": "algorithms.full_domain.incognito",
    "IndistinctError": "errors",
    "InfeasibleError": "errors",
    "InputError": "errors",
    "Inspection": "study.inspect",
    "IsMissing": "metrics.queries.value",
    "KAnonymity": "models",
    "KMap": "models",
    "LDiverseLinks": "models",
    "LabelEntry": "recoding.codebook",
    "LedgerEntry": "release.history.ledger",
    "LogisticRegression": "study.measure.learning.classifiers",
    "Measurements": "metrics",
    "Membership": "study.assess.membership",
    "Metric": "metrics",
    "MissingExtraError": "errors",
    "Model": "models",
    "ModelTraits": "models",
    "Mondrian": "algorithms.partition.mondrian",
    "Multiset": "algorithms.bucket.multiset",
    "NaiveBayes": "study.measure.learning.classifiers",
    "Optimal": "algorithms.full_domain.optimal",
    "OriginalError": "errors",
    "OutOfMemoryError": "errors",
    "Outcome": "study.attack.base",
    "Outcomes": "study.attack.attacking",
    "OutputError": "errors",
    "ParameterError": "errors",
    "PolicyError": "errors",
    "PopulationUniqueness": "models",
    "Problem": "algorithms.base",
    "Pseudonym": "release.pseudonyms.making",
    "Published": "release.published",
    "Query": "metrics.queries.value",
    "RandomForest": "study.measure.learning.classifiers",
    "Recoding": "recoding.kinds",
    "RecursiveLDiversity": "models",
    "Refine": "algorithms.cluster.refine",
    "Release": "release.release",
    "Report": "reporting.report",
    "Samarati": "algorithms.full_domain.samarati",
    "SampleUniqueness": "models",
    "Scan": "study.scan.scan",
    "Schema": "schema",
    "SchemaError": "errors",
    "SingleDimensional": "algorithms.partition.single_dimensional",
    "Slicing": "algorithms.bucket.slicing",
    "SubsetAnonymity": "models",
    "TCloseness": "models",
    "Table": "tables",
    "TextProgress": "machine.progress",
    "TopDown": "algorithms.cluster.top_down",
    "TopDownKACA": "algorithms.cluster.top_down_kaca",
    "TopDownSpecialization": "algorithms.full_domain.tds",
    "Transformation": "recoding.transformations",
    "TwoLevel": "algorithms.cluster.two_level",
    "UnseenValueError": "errors",
    "ValueSuppression": "algorithms.full_domain.value_suppression",
    "VerificationError": "errors",
    "Workload": "metrics.queries.workload",
    "WorkloadError": "metrics",
    "WorkloadErrors": "study.query.workload",
    "Writing": "release.writing.delimited",
    "XYAnonymity": "models",
    "anonymize": "job.publishing",
    "apply": "job.publishing",
    "assess": "study.assess.assessing",
    "attack": "study.attack.attacking",
    "attack_all": "study.attack.attacking",
    "classify": "study.measure.learning.classification",
    "compare": "study.compare.compare",
    "distributions": "study.measure.measuring",
    "explore": "study.explore",
    "for_others": "release.certificate",
    "forget_release": "release.history.ledger",
    "inspect": "study.inspect",
    "intervals": "study.codebook",
    "measure": "study.measure.measuring",
    "measure_table": "study.measure.measuring",
    "membership_of": "study.assess.membership",
    "open": "job.opening",
    "problem": "job.job",
    "published": "job.published",
    "query": "study.query.querying",
    "read_ledger": "release.history.ledger",
    "recode_classes": "algorithms.results",
    "recode_levels": "algorithms.results",
    "report": "reporting.report",
    "run": "job.publishing",
    "scan": "study.scan.scan",
    "transform": "job.opening",
    "verify": "study.verify",
    "workload_error": "study.query.querying",
}
__all__ = list(_MODULE_OF)


def __getattr__(name: str) -> object:
    if name not in _MODULE_OF:
        close = get_close_matches(name, __all__, n=1)
        meant = f"; did you mean {close[0]!r}?" if close else ""
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{meant}")
    value: object = getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
