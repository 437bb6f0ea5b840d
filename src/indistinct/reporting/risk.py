"""The sections about risk: models and thresholds, before and after, attributes, membership, attacks."""

from collections.abc import Mapping

from indistinct.drawing.class_sizes import draw_class_sizes, draw_cumulative
from indistinct.figures import number, percent
from indistinct.markup import Cell, Document, grid
from indistinct.models.registry import parse_model_or_none
from indistinct.release.certificate import groups_of
from indistinct.reporting.content import Block, Listing, Notice, Paragraph, Picture, Section, sentence
from indistinct.reporting.facts import Facts
from indistinct.spelling import arguments_of
from indistinct.study.assess.assessment import NO_POPULATION
from indistinct.study.assess.membership import Membership, draw_matching
from indistinct.study.assess.risk_grids import practice_grid, practice_sources, risk_grid, sensitive_grid

# Our words, and those of ISO/IEC 20889:2018 and NIST SP 800-188 for the same; only words that public accounts of the
# two documents use are named.
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
    ("risk of being found", "singling out; linking", "re-identification"),
    ("attribute disclosure", "inference", "–"),
)
TERMS = (
    "Terms follow ISO/IEC 20889:2018 and NIST SP 800-188, as far as public accounts of them show; a dash stands where "
    "none was found. The table translates words. It claims no conformity with a standard."
)


RISKS = (
    "A risk is the probability with which an attacker who knows the quasi-identifiers of a person picks the right one. "
    "A prosecutor knows that the person is in the table, a journalist does not, and a marketer counts hits over the "
    "whole table."
)
ATTRIBUTES = (
    "Whoever finds the {group} of a person learns its sensitive values without finding the row. The largest share says "
    "how sure they can be. l is the number of different values in a {group} at least, counted, or by entropy as if all "
    "were equally frequent. t is how far the values of a {group} are from those of all, from 0 to 1. β says how much "
    "more likely a {group} makes a value than it is among all (0 is no more), and δ the same in either direction as a "
    "power of two. Small t, β and δ are safer, and large l."
)
OUTCOMES = (
    "The baseline is what guessing achieves without the release, the control what the attack achieves for people who "
    "are not in it. The risk is the share that it finds beyond the control, or all that it finds without one. An "
    "attack beats chance where it does better than both, with a confidence of 95 %."
)


def thresholds(facts: Facts) -> Section:
    """Hold the release against the figures that regulators use, strict and rounded, in the words of standards."""
    found = facts.document("assess")
    blocks: list[Block] = []
    if found is None:
        blocks.append(Notice(facts.why_not("assess")))
    else:
        blocks.append(
            Paragraph(
                "A threshold of 0.09 stands twice: strictly, where a class of 11 with its 1/11 = 0.0909 is above it, "
                "and rounded, as it is used in practice, where classes of 11 are enough."
            )
        )
        blocks.append(practice_grid(found))
        blocks += [Paragraph("Where these rules come from:"), Listing(practice_sources(found))]
    headings = ("here", "ISO/IEC 20889", "NIST SP 800-188")
    blocks.append(grid("The same in the terms of standards", headings, STANDARDS))
    blocks.append(Paragraph(TERMS))
    return Section("thresholds", "Model, thresholds, terms", tuple(blocks))


def found_again(facts: Facts) -> Section:
    """Say how likely people are found, before and after, with pictures of class sizes."""
    found = facts.document("assess")
    if found is None:
        return Section("risk", "Risk of being found", (Notice(facts.why_not("assess")),))
    blocks: list[Block] = [Paragraph(RISKS), risk_grid(found)]
    if found.at("before") is None:
        blocks.append(Notice(facts.why_not("before")))
    if found.at("journalist") is None or found.at("journalist", "basis") == NO_POPULATION:
        blocks.append(Notice(facts.why_not("population")))
    blocks += _pictures(facts, found)
    blocks += [Paragraph(sentence(note)) for note in found.at("notes") or ()]
    return Section("risk", "Risk of being found", tuple(blocks))


def _pictures(facts: Facts, found: Document) -> list[Block]:
    sides = {}
    if found.at("before") is not None:
        sides["before"] = _sizes(found.at("before", "class_sizes", "histogram"))
    published = _sizes(found.at("class_sizes", "histogram"))
    if not published:
        return [Notice("No row is published, so there is nothing to draw.")]
    sides["after" if sides else "release"] = published
    told = facts.document("certificate")
    groups = "classes" if found.at("form") is None else "buckets"
    unit, k = str(found.at("unit")), _k(told)
    words = _describe_sizes(sides, k)
    drawn = {
        f"Share of {unit} by the size of their {groups}{'' if k is None else '; the line is k'}": draw_class_sizes,
        f"Running share of {unit} in {groups} of at most a size": draw_cumulative,
    }
    return [
        Picture(caption, f"{caption}. {words}", draw(sides, k=k, groups=groups, unit=unit))
        for caption, draw in drawn.items()
    ]


def _describe_sizes(sides: Mapping[str, Mapping[int, int]], k: int | None) -> str:
    parts = []
    for name, sizes in sides.items():
        members = sum(size * count for size, count in sizes.items()) or 1
        below = sum(size * count for size, count in sizes.items() if k is not None and size < k)
        limit = "" if k is None else f", {percent(below / members)} below k = {k}"
        parts.append(f"{name}: smallest {min(sizes, default=0)}{limit}")
    return "; ".join(parts)


def _k(told: Document | None) -> int | None:
    """Return the largest k that was asked for."""
    verdicts = (told and told.at("verdicts")) or ()
    models = filter(None, (parse_model_or_none(str(verdict["model"])) for verdict in verdicts))
    return max((model.smallest for model in models if arguments_of(model).get("k") == model.smallest), default=None)


def _sizes(histogram: Mapping[str, int] | None) -> dict[int, int]:
    return {int(size): classes for size, classes in (histogram or {}).items()}


def attributes(facts: Facts, *, internal: bool) -> Section:
    """Say what is learned of sensitive values without finding a row, and which classes tell most."""
    found = facts.document("assess")
    if found is None:
        return Section("attributes", "Attribute disclosure", (Notice(facts.why_not("assess")),))
    if not found.at("sensitive"):
        return Section("attributes", "Attribute disclosure", (Notice("No column has the role sensitive."),))
    group = "class" if found.at("form") is None else "bucket"
    blocks: list[Block] = [Paragraph(ATTRIBUTES.format(group=group)), sensitive_grid(found)]
    if not internal:
        blocks.append(Paragraph("t, β and δ compare classes with the published table itself."))
    if found.at("before", "sensitive"):
        blocks.insert(2, sensitive_grid(found, side="before"))
    if internal:
        for name in found.at("sensitive"):
            blocks += _worst(found, name)
    return Section("attributes", "Attribute disclosure", tuple(blocks))


def _worst(found: Document, name: str) -> list[Block]:
    worst = found.at("sensitive", name, "worst")
    if not worst:
        why = "Buckets are not named" if found.at("form") else "Classes are named only of a release"
        return [Notice(f"{why}: which tell most about {name} is not shown.")]
    columns = list(worst[0]["values"])
    rows: list[tuple[Cell, ...]] = []
    for index, each in enumerate(worst):
        shown = ["missing" if value is None else str(value) for value in each["values"].values()]
        place = ("sensitive", name, "worst", index)
        figures = (found.figure(*place, "members"), found.figure(*place, "largest_share", words=percent))
        rows.append((*shown, *figures, found.figure(*place, "distinct")))
    counted = ("members", "largest share", "values")
    caption = f"The classes that tell most about {name}, by what they publish"
    return [grid(caption, (*columns, *counted), rows, right=counted)]


def membership(facts: Facts) -> Section:
    """Say how well the release hides who is in it."""
    found = facts.document("membership")
    if found is None:
        return Section("membership", "Membership disclosure", (Notice(facts.why_not("membership")),))
    kinds, told = list(found.content), facts.document("certificate")
    groups = "classes" if told is None else groups_of(told)
    lines = (
        ("candidate tuples", "candidates"),
        ("original tuples among them", "originals"),
        ("fake tuples", "fake"),
        ("fake tuples for each original one", "fake_per_original"),
        (f"originals that match one of the {groups} only", "unique_original"),
        (f"matching {groups} of an original, mean", "mean_matching_original"),
        (f"matching {groups} of a fake, mean", "mean_matching_fake"),
    )
    rows: list[tuple[Cell, ...]] = [(words, *(found.figure(kind, key) for kind in kinds)) for words, key in lines]
    blocks: list[Block] = [
        Paragraph(
            "A tuple is a combination of values. A reader who takes every tuple for possible that the release allows "
            "has this many candidates; fake ones are those that nobody in the original has. Many fake tuples hide who "
            "is in the table."
        ),
        grid("Tuples that the release makes possible", ("tuples", *kinds), rows, right=kinds),
    ]
    one = "class" if groups == "classes" else "bucket"
    drawn = [(kind, each) for kind, each in facts.membership.items() if _differs(each)]
    for kind, each in drawn[:1]:
        title = f"{groups.capitalize()} that match original and fake tuples"
        words = f"{title}: {number(each.originals)} original and {number(round(each.fake))} fake tuples of {kind}"
        blocks.append(Picture(title, words, draw_matching(each, title=title, matched=(one, groups), kind=kind)))
    return Section("membership", "Membership disclosure", tuple(blocks))


def _differs(found: Membership) -> bool:
    """Return whether a picture says more than the table: whether tuples match different numbers of classes."""
    counts = zip(found.matching_original, found.matching_fake, strict=True)
    return sum(bool(original or fake) for (_, original), (_, fake) in counts) > 1


def attacks(facts: Facts, *, internal: bool) -> Section:
    """Say what attacks achieved, beside the baseline and people who are not in the release."""
    found = facts.document("attack")
    if found is None:
        return Section("attacks", "Attacks that were tried", (Notice(facts.why_not("attack")),))
    if not internal:
        if not found.at("tried"):
            return Section("attacks", "Attacks that were tried", (Notice("No attack was through in time."),))
        tried = Paragraph(f"Tried: {', '.join(found.at('tried'))}.")
        said = "At least one of them did better than chance." if found.at("succeeds") else "None beat chance."
        return Section("attacks", "Attacks that were tried", (tried, Paragraph(said)))
    rows: list[tuple[Cell, ...]] = []
    for index, outcome in enumerate(found.at("outcomes")):
        place = ("outcomes", index)
        rows.append(
            (
                str(outcome["attack"]),
                found.figure(*place, "attempts"),
                found.figure(*place, "successes", words=lambda value: number(round(value, 1))),
                found.figure(*place, "baseline", words=percent),
                found.figure(*place, "control", words=percent, absent="none"),
                found.figure(*place, "risk", words=percent),
                found.figure(*place, "interval", 0, words=percent),
                found.figure(*place, "interval", 1, words=percent),
                found.figure(*place, "succeeds", words=lambda value: "YES" if value else "no"),
            )
        )
    headings = ("attack", "tried", "found", "baseline", "control", "risk", "at least", "at most", "beats chance")
    caption = "What attacks achieve, with a confidence of 95 %"
    table = grid(caption, headings, rows, right=headings[1:8])
    blocks: list[Block] = [Paragraph(OUTCOMES), table] if rows else [Notice("No attack was through in time.")]
    if found.at("sample"):
        blocks.append(
            Paragraph(
                f"Attacked were {number(found.at('sample'))} rows of the original, drawn by chance; intervals allow "
                "for that. `indistinct attack all` attacks every row, which takes its time."
            )
        )
    blocks.append(Listing(tuple(_sentence(each) for each in found.at("outcomes"))))
    refused = tuple(f"{name}: {reason}" for name, reason in found.at("refused").items())
    if refused:
        blocks += [Paragraph("Attacks that did not apply:"), Listing(refused)]
    if found.at("left_out"):
        blocks.append(Notice(f"Left out for lack of time: {', '.join(found.at('left_out'))}.", "warning"))
    return Section("attacks", "Attacks that were tried", tuple(blocks))


def _sentence(outcome: Mapping[str, object]) -> str:
    said = f"{outcome['attack']}: {outcome['sentence']}"
    return f"{said} To defend: {outcome['defend']}" if outcome["succeeds"] and outcome["defend"] else said
