"""The sections about risk: models and thresholds, before and after, attributes, membership, attacks."""

from collections.abc import Mapping

from indistinct.document.blocks import Block, JsonValues, Notice, Paragraph, Picture, Section, grid, sentence
from indistinct.drawing.class_sizes import draw_class_sizes, draw_column_sets, draw_cumulative
from indistinct.evaluation.assess.assess_document import (
    compatible_blocks,
    membership_grid,
    practice_blocks,
    risk_grid,
    sensitive_grid,
    worst_grid,
)
from indistinct.evaluation.assess.assessment import NO_POPULATION
from indistinct.evaluation.assess.membership import Membership, draw_matching
from indistinct.evaluation.attack.base import outcome_blocks
from indistinct.figures import number, percent
from indistinct.frequencies.structure import unit_of, units_of
from indistinct.models.registry import parse_model_or_none
from indistinct.reporting.facts import Facts
from indistinct.reporting.risk_bars import before_after, risk_bars
from indistinct.text_form import arguments_of

# Our terms, and those of ISO/IEC 20889:2018 and NIST SP 800-188; only terms used in public accounts of the two
# documents are named.
STANDARDS = (
    ("identifier, dropped", "masking, a suppression technique", "direct identifier, removed"),
    ("identifier, shown as a pseudonym", "pseudonymization", "pseudonymization"),
    ("quasi-identifier, recoded", "quasi-identifier; generalization", "quasi-identifier, transformed"),
    ("rounded or cut off at the ends", "rounding; top and bottom coding", "–"),
    ("suppressed row", "record suppression", "–"),
    ("cell shown as *", "local suppression", "–"),
    ("class", "equivalence class", "–"),
    ("links broken inside buckets", "anatomization; permutation", "–"),
    ("k-anonymity", "k-anonymity model, a formal privacy measurement model", "k-anonymity"),
    ("risk of re-identification", "singling out; linking", "re-identification"),
    ("attribute disclosure", "inference", "–"),
)
TERMS = (
    "Terms follow ISO/IEC 20889:2018 and NIST SP 800-188, as far as public accounts of them show; a dash means that "
    "none was found. The table translates words. It claims no conformity with a standard."
)


STRICT_AND_ROUNDED = (
    "A threshold of 0.09 appears twice: strictly, where a class of 11 with its 1/11 = 0.0909 is above it, and "
    "rounded, as in practice, where classes of 11 are enough."
)
RISKS = (
    "A risk is the probability with which an attacker who knows the quasi-identifiers of a person picks the right one. "
    "A prosecutor knows that the person is in the table, a journalist does not, and a marketer counts hits over the "
    "whole table."
)
ATTRIBUTES = (
    "An attacker who finds the {group} of a person learns its sensitive values without finding the row. The largest "
    "share says how sure that is. l is the number of different values in a {group} at least, counted, or by entropy as "
    "if all were equally frequent. t is how far the values of a {group} are from those of all, from 0 to 1. β says how "
    "much more likely a {group} makes a value than it is among all (0 is no more), and δ the same in either direction "
    "as a power of two. Small t, β and δ are safer, and large l."
)
TUPLES = (
    "A tuple is a combination of values. A reader who takes every tuple for possible that the release allows has this "
    "many candidates; fake ones are those that no person of the original has. Many fake tuples hide membership."
)


def thresholds(facts: Facts) -> Section:
    """Compare the release with the thresholds of regulators, strict and rounded, in the terms of standards."""
    assessment = facts.json("assess")
    blocks: list[Block] = []
    if assessment is None:
        blocks.append(Notice(facts.why_not("assess")))
    else:
        blocks.append(Paragraph(STRICT_AND_ROUNDED))
        blocks += practice_blocks(assessment)
    headings = ("here", "ISO/IEC 20889", "NIST SP 800-188")
    blocks.append(grid("The same in the terms of standards", headings, STANDARDS))
    blocks.append(Paragraph(TERMS))
    return Section("thresholds", "Model, thresholds, terms", tuple(blocks))


def found_again(facts: Facts) -> Section:
    """Return how likely people are re-identified, before and after, with pictures of class sizes."""
    assessment = facts.json("assess")
    if assessment is None:
        return Section("risk", "Risk of re-identification", (Notice(facts.why_not("assess")),))
    blocks: list[Block] = [Paragraph(RISKS), risk_grid(assessment), *compatible_blocks(assessment)]
    if assessment.at("before") is None:
        blocks.append(Notice(facts.why_not("before")))
    if assessment.at("journalist") is None or assessment.at("journalist", "basis") == NO_POPULATION:
        blocks.append(Notice(facts.why_not("population")))
    blocks += [*_column_sets(facts), *_class_sizes(facts, assessment)]
    blocks += [Paragraph(sentence(note)) for note in assessment.at("notes") or ()]
    return Section("risk", "Risk of re-identification", tuple(blocks))


def pictures_of_risk(facts: Facts) -> list[Block]:
    """Return pictures of the risk: compared with the limits of the profile, unique rows, and class sizes."""
    assessment = facts.json("assess")
    if assessment is None:
        return []
    return [*risk_bars(facts.subject, assessment), *_column_sets(facts), *_class_sizes(facts, assessment)]


RUNNING = "Running share of"


def _column_sets(facts: Facts) -> list[Block]:
    """Return a picture of the rows that are unique on sets of columns, if the original is known."""
    uniques = facts.json("unique_on_columns")
    sets = [] if uniques is None else uniques.at("sets")
    if uniques is None or not sets:
        return []
    rows = uniques.at("rows")
    quasi = list(facts.subject.schema.quasi)
    bars = [
        (
            "all quasi-identifiers" if each["columns"] == quasi and len(quasi) > 1 else " + ".join(each["columns"]),
            each["before"] / rows,
            each["after"] / rows,
        )
        for each in sets
    ]
    caption = f"Rows that are unique on columns that an attacker may know, of {number(rows)}"
    words = "; ".join(f"{name} {before_after(before, after)}" for name, before, after in bars)
    return [Picture(caption, f"{caption}: {words}.", draw_column_sets(bars))]


def _class_sizes(facts: Facts, values: JsonValues) -> list[Block]:
    """Return a picture of class sizes and of the people in small classes."""
    if not _sizes(values.at("class_sizes", "histogram")):
        return [Notice("No row is published, so there is nothing to draw.")]
    sides = {}
    if values.at("before") is not None:
        sides["before"] = _sizes(values.at("before", "class_sizes", "histogram"))
    sides["after" if sides else "release"] = _sizes(values.at("class_sizes", "histogram"))
    certificate = facts.json("certificate")
    groups = units_of(values.at("form"))
    unit, k = str(values.at("unit")), _k(certificate)
    words = _describe_sizes(sides, k)
    drawn = {
        f"Share of {unit} by the size of their {groups}{'' if k is None else '; the line is k'}": draw_class_sizes,
        f"{RUNNING} {unit} in {groups} of at most a size": draw_cumulative,
    }
    return [
        Picture(caption, f"{caption}. {words}", draw(sides, k=k, groups=groups, unit=unit))
        for caption, draw in drawn.items()
    ]


def _describe_sizes(sides: Mapping[str, Mapping[int, int]], k: int | None) -> str:
    """Describe the class sizes before and after."""
    parts = []
    for name, sizes in sides.items():
        members = sum(size * count for size, count in sizes.items()) or 1
        below = sum(size * count for size, count in sizes.items() if k is not None and size < k)
        limit = "" if k is None else f", {percent(below / members)} below k = {k}"
        parts.append(f"{name}: smallest {min(sizes, default=0)}{limit}")
    return "; ".join(parts)


def _k(certificate: JsonValues | None) -> int | None:
    """Return the largest required k."""
    verdicts = (certificate and certificate.at("verdicts")) or ()
    models = filter(None, (parse_model_or_none(str(verdict["model"])) for verdict in verdicts))
    return max((model.smallest for model in models if arguments_of(model).get("k") == model.smallest), default=None)


def _sizes(histogram: Mapping[str, int] | None) -> dict[int, int]:
    return {int(size): classes for size, classes in (histogram or {}).items()}


def attributes(facts: Facts, *, internal: bool) -> Section:
    """Return what is learned about sensitive values without finding a row, and the classes that reveal most."""
    assessment = facts.json("assess")
    if assessment is None:
        return Section("attributes", "Attribute disclosure", (Notice(facts.why_not("assess")),))
    if not assessment.at("sensitive"):
        return Section("attributes", "Attribute disclosure", (Notice("No column has the role sensitive."),))
    group = unit_of(assessment.at("form"))
    blocks: list[Block] = [Paragraph(ATTRIBUTES.format(group=group)), sensitive_grid(assessment)]
    if not internal:
        blocks.append(Paragraph("t, β and δ compare classes with the published table itself."))
    if assessment.at("before", "sensitive"):
        blocks.insert(2, sensitive_grid(assessment, side="before"))
    if internal:
        blocks += [_worst(assessment, name) for name in assessment.at("sensitive")]
    return Section("attributes", "Attribute disclosure", tuple(blocks))


def _worst(values: JsonValues, name: str) -> Block:
    if values.at("sensitive", name, "worst"):
        return worst_grid(values, name)
    why = "Buckets are not named" if values.at("form") else "Classes are named only of a release"
    return Notice(f"{why}: which tell most of {name} is not shown.")


def membership(facts: Facts) -> Section:
    """Return how well the release hides who is in it."""
    membership_figures = facts.json("membership")
    if membership_figures is None:
        return Section("membership", "Membership disclosure", (Notice(facts.why_not("membership")),))
    certificate = facts.json("certificate")
    groups = units_of(None if certificate is None else certificate.at("form"))
    blocks: list[Block] = [Paragraph(TUPLES), membership_grid(membership_figures, groups=groups)]
    one = "class" if groups == "classes" else "bucket"
    drawn = [(kind, each) for kind, each in facts.membership.items() if _differs(each)]
    for kind, each in drawn[:1]:
        title = f"{groups.capitalize()} that match original and fake tuples"
        words = f"{title}: {number(each.originals)} original and {number(round(each.fake))} fake tuples of {kind}"
        blocks.append(Picture(title, words, draw_matching(each, title=title, matched=(one, groups), kind=kind)))
    return Section("membership", "Membership disclosure", tuple(blocks))


def _differs(membership: Membership) -> bool:
    """Return whether a picture adds to the table: whether tuples match different numbers of classes."""
    counts = zip(membership.matching_original, membership.matching_fake, strict=True)
    return sum(bool(original or fake) for (_, original), (_, fake) in counts) > 1


def attacks(facts: Facts, *, internal: bool) -> Section:
    """Return the results of attacks, compared with the baseline and with people who are not in the release."""
    outcomes = facts.json("attack")
    if outcomes is None:
        return Section("attacks", "Attacks that were tried", (Notice(facts.why_not("attack")),))
    if not internal:
        if not outcomes.at("tried"):
            return Section("attacks", "Attacks that were tried", (Notice("No attack was through in time."),))
        tried = Paragraph(f"Tried: {', '.join(outcomes.at('tried'))}.")
        words = "At least one of them did better than chance." if outcomes.at("succeeds") else "None beat chance."
        return Section("attacks", "Attacks that were tried", (tried, Paragraph(words)))
    return Section("attacks", "Attacks that were tried", tuple(outcome_blocks(outcomes)))
