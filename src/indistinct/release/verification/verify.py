"""Verification: models judge what was counted on the published tables of a release.

It trusts nothing upstream: it knows no algorithm, no engine and no kind of recoding, and works for tables from
anywhere.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

import indistinct
from indistinct.figures import Sentence, literal, rows_of_all
from indistinct.frequencies.count import Counted
from indistinct.frequencies.singled_out import is_nearly_unique
from indistinct.frequencies.value import PERSON, Classes, Histogram
from indistinct.models.arithmetic import per_class
from indistinct.models.base import Judgement, Model
from indistinct.release.certificate import About, Certificate, ModelVerdict, OwnValues, PeopleCounted
from indistinct.release.guarantee import (
    MATCHES,
    NO_ADDED_ROWS,
    NO_IDENTIFIER,
    OWN_CERTIFICATE,
    ROLES_COMPLETE,
    SETS_SHARED,
    TRANSFORMED,
)
from indistinct.release.verification.evidence import Appearance, Evidence, JudgedClasses, merged_readings
from indistinct.schema import Schema

LINKED = "linked"
AMBIGUOUS = "ambiguous"
"""The kinds of warnings that make a release fail: of pseudonyms that link rows, and of values that readers merge."""
PUBLISHED = (
    "an attacker who knows how many rows a person has in each class may find the pseudonym, and keyed ones link this "
    "release with all others under the same key"
)
SEEDED = "a fixed seed was used: an attacker who knows it can link every row again; use none for a real release"


def verify(
    evidence: Evidence,
    model: Model,
    *,
    schema: Schema,
    appearance: Appearance | None = None,
    about: About | None = None,
) -> Certificate:
    """Verify a release under a model and return the certificate; `schema` has the roles of its columns."""
    about, shows = about or About(), appearance or Appearance()
    judged = evidence.judged or judge_classes(evidence, model)
    verdicts = [_verdict(part, evidence, each) for part, (each, _) in zip(model.parts(), judged.parts, strict=True)]
    verdicts += [*evidence.verdicts_beside_original(), *_sets_shared(evidence, model)]
    verdicts += [*_transformed(evidence), *_matched(evidence)]
    known = evidence.reference
    added = known is not None and evidence.rows > known.frequencies.rows
    broken = {NO_IDENTIFIER: bool(shows.identifiers), ROLES_COMPLETE: bool(shows.unknown)}
    broken |= {OWN_CERTIFICATE: shows.foreign_certificate, NO_ADDED_ROWS: added}
    verdicts += [ModelVerdict(rule, False, {}, 0, evidence.rows) for rule, is_broken in broken.items() if is_broken]
    persons = evidence.persons(model)
    people = None if persons is None else people_of(persons, original=evidence.reference)
    original = None if evidence.reference is None else evidence.reference.frequencies.rows
    with_people = evidence.linked is not None and evidence.linked.shared is not None
    about_people = () if persons is None else people_warnings(persons, original=evidence.reference, shown=with_people)
    hidden = evidence.hidden_warnings(key for part in model.parts() for key in part.table_keys)
    warnings = (*shows.warnings, *hidden, *(warning for _, several in judged.parts for warning in several))
    warnings += (*about_people, *_warnings(evidence, model, verdicts))
    pointing = {names: rows for names, rows in evidence.alone.items() if is_nearly_unique(rows, evidence.rows)}
    warnings += tuple(each.warning for each in evidence.not_transformed)
    warnings += () if evidence.compared is None else evidence.compared.warnings
    warnings += (*_linked_warnings(evidence, model, about), *about.warnings, *([SEEDED] if about.seeded else []))
    return Certificate(
        version=indistinct.__version__,
        verdicts=tuple(verdicts),
        rows=evidence.rows,
        classes=judged.classes,
        smallest_class=judged.smallest,
        original_rows=original,
        suppressed_rows=None if original is None else original - evidence.rows,
        quasi_identifiers=tuple(schema.quasi),
        algorithm=about.algorithm,
        recoding_digest=about.recoding_digest,
        output_digest=about.output_digest,
        other_digests=about.other_digests,
        form=evidence.structure.form,
        columns=evidence.structure.slices,
        generalized=evidence.structure.generalized,
        seeded=about.seeded,
        warnings=tuple(dict.fromkeys(warnings)),
        people=people,
        overlap=about.overlap,
        pseudonyms=about.pseudonyms,
        sample=about.sample,
        table_version=about.table_version,
        population_size=None if evidence.population is None else evidence.population.size,
        own_values=tuple(OwnValues(names, rows) for names, rows in pointing.items()),
    )


def judge_classes(evidence: Evidence, model: Model) -> JudgedClasses:
    """Judge the counted classes by each part of a model."""
    judgements, persons = [_judge(part, evidence) for part in model.parts()], evidence.persons(model)
    sizes = evidence.sizes if persons is None else np.diff(persons.indptr)
    return JudgedClasses(len(sizes), int(sizes.min()) if len(sizes) else 0, tuple(judgements))


def add_judged(model: Model, one: JudgedClasses, two: JudgedClasses) -> JudgedClasses:
    """Merge the judgements of two sets of classes; the model judges every class by itself."""
    both = [
        (_added(part, mine, theirs), tuple(dict.fromkeys([*cautions, *more])))
        for part, (mine, cautions), (theirs, more) in zip(model.parts(), one.parts, two.parts, strict=True)
    ]
    return JudgedClasses(one.classes + two.classes, min(one.smallest, two.smallest), tuple(both))


def _added(model: Model, one: Judgement, two: Judgement) -> Judgement:
    """Merge the judgements of one model on two sets of classes."""
    weaker = _weaker(model, replace(one, holds=True), replace(two, holds=True))
    return replace(
        weaker,
        holds=one.holds and two.holds,
        violating_classes=one.violating_classes + two.violating_classes,
        violating_rows=one.violating_rows + two.violating_rows,
    )


def _judge(model: Model, evidence: Evidence) -> tuple[Judgement, tuple[str, ...]]:
    """Judge a release by a model; return also the warnings that weaken the judgement."""
    linked = model.of_links and evidence.links is not None
    judged = model.judge(Classes(evidence.sizes) if linked else evidence.classes_for(model), evidence.links)
    full = evidence.in_full() if linked and not judged.holds else evidence
    if full is not evidence:
        judged = model.judge(Classes(full.sizes), full.links)
    judged, warnings = _judge_coarsely(model, evidence, judged)
    if evidence.linked is not None and evidence.linked.counted is not None and not model.needs_population:
        other, more = _judge_linked(model, evidence, evidence.linked.counted)
        judged, warnings = _weaker(model, judged, other), warnings + more
    return judged, warnings


def _verdict(model: Model, evidence: Evidence, judged: Judgement) -> ModelVerdict:
    """Convert a judgement to the verdict of a certificate."""
    achieved = {
        key: int(value) if float(value).is_integer() else float(value) for key, value in judged.achieved.items()
    }
    return ModelVerdict(
        model.spec(),
        judged.holds,
        achieved,
        judged.violating_classes,
        judged.violating_rows,
        judged.needs_original,
        tuple(key for key in model.larger_is_stronger if key in achieved),
        model.compares_with_original and evidence.reference is not None,
    )


def _judge_linked(model: Model, evidence: Evidence, parted: Counted) -> tuple[Judgement, tuple[str, ...]]:
    """Judge classes that are divided further by pseudonyms, which link the rows of a person."""
    hidden = [name for key in model.table_keys if key not in parted.frequencies.classes.histograms for name in key]
    if hidden or model.needs_labels:
        what = "columns that are not published" if hidden else "a few columns each"
        why = f"pseudonyms link rows, of which {model.name} looks at {what}"
        broken = Judgement(holds=False, achieved={}, violating_classes=0, violating_rows=evidence.rows)
        return broken, (Sentence(literal(why), LINKED),)
    linked = Evidence(parted, evidence.rows, coarse=evidence.coarse)
    return _judge_coarsely(model, linked, model.judge(linked.classes_for(model)))


def _weaker(model: Model, one: Judgement, two: Judgement) -> Judgement:
    """Return the judgement that does not hold, or the weaker achievements of both."""
    if not (one.holds and two.holds):
        return two if one.holds else one
    achieved = {
        key: (min if key in model.larger_is_stronger else max)(value, two.achieved.get(key, value))
        for key, value in one.achieved.items()
    }
    return replace(one, achieved=achieved)


def _sets_shared(evidence: Evidence, model: Model) -> list[ModelVerdict]:
    """Return whether the sets of classes that pseudonyms show are shared by as many people as a class must have."""
    linked = evidence.linked
    if linked is None or (linked.problem is None and linked.shared is None):
        return []
    if linked.problem is not None:
        return [ModelVerdict(SETS_SHARED, False, {}, 0, evidence.rows)]
    below, achieved = linked.below(model.smallest), {"k": linked.smallest}
    return [ModelVerdict(SETS_SHARED, not below, achieved, 0, 0, larger_is_stronger=("k",))]


def _transformed(evidence: Evidence) -> list[ModelVerdict]:
    """Return whether columns show what their transformations make, where some are declared."""
    if not evidence.transformed:
        return []
    strange = evidence.not_transformed
    # Rows of several columns may be the same ones: the largest number is what is known for sure.
    rows = max((each.rows for each in strange), default=0)
    return [ModelVerdict(TRANSFORMED, not strange, {}, 0, rows)]


def _matched(evidence: Evidence) -> list[ModelVerdict]:
    """Return whether the rows of a release are rows of its original, where they were compared."""
    compared = evidence.compared
    if compared is None or (compared.skipped is not None and compared.matches):
        return []
    rows = evidence.rows if compared.unknown else compared.rows
    return [ModelVerdict(MATCHES, compared.matches, {}, compared.classes, rows, needs_original=True)]


def _linked_warnings(evidence: Evidence, model: Model, about: About) -> list[str]:
    """Return warnings about pseudonyms; those of the kind `LINKED` make a release fail."""
    warnings: list[str] = []
    linked, k = evidence.linked, model.smallest
    if about.pseudonyms:
        kinds = " and ".join(f"{', '.join(map(repr, names))} ({kind})" for kind, names in _by_kind(about).items())
        warnings.append(f"pseudonyms are published in {kinds}: {PUBLISHED}")
    if linked is not None and linked.problem is not None:
        warnings.append(Sentence(literal(f"pseudonyms link rows: {linked.problem}"), LINKED))
    elif linked is not None and linked.several:
        # Readers count all of this on the release, so that there is nothing to hide.
        broken, several = linked.below(k), f"{linked.several:,} of {linked.people:,} people have several linked rows"
        few = f"; {broken:,} have rows in classes that fewer than {k:,} people share" if broken else ""
        smallest = f"the fewest people who share the classes of their rows are {linked.smallest:,}"
        if broken:
            warnings.append(Sentence(f"pseudonyms link rows: {several}{few}; {smallest}", LINKED))
        else:
            warnings.append(f"pseudonyms show linked rows: {several}; {smallest}")
    return warnings


def _by_kind(about: About) -> dict[str, list[str]]:
    kinds: dict[str, list[str]] = {}
    for name, kind in about.pseudonyms.items():
        kinds.setdefault(kind, []).append(name)
    return kinds


def _judge_coarsely(model: Model, evidence: Evidence, judged: Judgement) -> tuple[Judgement, tuple[str, ...]]:
    """Judge again as if readers of a text file confused similar values; unchanged if that is still satisfied."""
    if not (evidence.coarse and judged.holds):
        return judged, ()
    classes = evidence.classes_for(model)
    several = [name for key in model.keys if len(key) > 1 for name in key if evidence.is_ambiguous(name)]
    if several:  # vectors that readers confuse are not counted: nothing is guaranteed
        broken = Judgement(holds=False, achieved={}, violating_classes=len(classes), violating_rows=classes.rows)
        return broken, (_ambiguous(several),)
    merged_histograms = {key: merged_readings(histogram) for key, histogram in classes.histograms.items()}
    merged = {key: each for key, each in merged_histograms.items() if each is not None}
    spelling = {old: new for each in merged.values() for old, new in each.spelling.items()}
    for index in range(max((len(each.histograms) for each in merged.values()), default=0)):
        coarse = {key: each.histograms[min(index, len(each.histograms) - 1)] for key, each in merged.items()}
        read = replace(classes, histograms={**classes.histograms, **coarse})
        coarsely = model.respelled(spelling).judge(read)
        if not coarsely.holds:
            return coarsely, (_ambiguous([key[0] for key in merged]),)
    return judged, ()


def _ambiguous(names: Sequence[str]) -> Sentence:
    """Return the warning that readers of a text file may confuse values of some columns."""
    columns = ", ".join(map(repr, dict.fromkeys(names)))
    words = (
        f"readers of a text file take different values of {columns} for one (such as missing and empty text, or 1.50 "
        "and 1.5): write Parquet, or make the values differ"
    )
    return Sentence(literal(words), AMBIGUOUS)


def nearly_unique(names: Sequence[str], alone: int, rows: int) -> str:
    """Return the warning of unmodified columns that point at single rows.

    >>> nearly_unique(["cost"], 3871, 4000).partition(": ")[0]
    "column 'cost' is published unmodified, and 3,871 of 4,000 rows (96.8 %) have a unique value"
    """
    columns = ", ".join(map(repr, names))
    if len(names) == 1:
        what, value = f"column {columns} is published unmodified", "value"
    else:
        what, value = f"columns {columns} are published together unmodified", "combination"
    return f"{what}, and {rows_of_all(alone, rows)} have a unique {value}: an attacker who knows it finds the row"


def _warnings(evidence: Evidence, model: Model, verdicts: list[ModelVerdict]) -> list[str]:
    """Return the warnings of a certificate: cautions of models, nearly unique columns, and links."""
    warnings = [part.caution for part in model.parts() if part.caution is not None]
    warnings += [
        nearly_unique(names, alone, evidence.rows)
        for names, alone in evidence.alone.items()
        if is_nearly_unique(alone, evidence.rows)
    ]
    return warnings + evidence.warnings_on_links(verdicts)


COUNTED = (
    "people were counted on the original, by what was published of their rows: the release does not show who they "
    "are, so they cannot be counted without the original"
)

SHOWN = "people can be counted on the release, by the pseudonyms that it shows"


def people_of(persons: Histogram, *, original: Counted | None) -> PeopleCounted:
    """Return how many people are published, and how many of the original lost a row."""
    published = np.bincount(persons.codes, weights=persons.counts, minlength=len(persons.reference))
    if original is None:
        return PeopleCounted(int((published > 0).sum()))
    whole = original.frequencies.classes.histograms[(PERSON,)].reference
    return PeopleCounted(int((published > 0).sum()), int((whole > 0).sum()), int((published < whole).sum()))


def people_warnings(persons: Histogram, *, original: Counted | None, shown: bool = False) -> tuple[str, ...]:
    """Return notes on how people were counted, and on people with many rows or classes.

    A release that has them as pseudonyms has `shown` them.
    """
    warnings: list[str] = [SHOWN if shown else COUNTED]
    whole = 0 if original is None else original.frequencies.members
    if original is not None and original.alike is not None and original.alike < whole:
        warnings.append(
            Sentence(
                "{people} people were counted, of whom some differ by upper and lower case or spaces alone; without "
                "that there would be {people_alike}: write everybody in one way",
                people=whole,
                people_alike=original.alike,
            )
        )
    rows, most = (per_class(reduction, persons.counts, indptr=persons.indptr) for reduction in (np.add, np.maximum))
    led = int((2 * most > rows).sum())
    if led:
        warnings.append(
            Sentence(
                f"in {{classes}} of {len(rows):,} classes one person has more than half of the rows: who matches such "
                "a class mostly sees that person",
                classes=led,
            )
        )
    classes = np.bincount(persons.codes, minlength=1)
    several, people = int((classes > 1).sum()), int((classes > 0).sum())
    if several:
        warnings.append(
            Sentence(
                "{people_several} of {people} people are in several classes, one of them in {classes}: an attacker "
                "who knows several of their rows can look for the people that these classes share",
                people_several=several,
                people=people,
                classes=int(classes.max()),
            )
        )
    return tuple(warnings)
