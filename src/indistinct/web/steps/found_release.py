"""The result of a search: guarantees, published rows, information loss, and the choice of the algorithm."""

from collections.abc import Iterator, Mapping
from typing import Any

from indistinct.figures import number, percent, plural
from indistinct.frequencies.structure import unit_of, units_of
from indistinct.metrics import SHARES
from indistinct.models.words import list_names
from indistinct.reporting.beginning import promise_in_words
from indistinct.web import parts
from indistinct.web.algorithm_words import title_of_spelled
from indistinct.web.blocks import draw_list
from indistinct.web.language import Own

Made = dict[str, Any]


def draw_release(made: Made) -> None:
    """Draw the summary of a release."""
    parts.heading("The release").classes("outcome")
    with parts.tag("dl", classes="facts", id="found"):
        for label, value in facts_of(made):
            with parts.tag("div"):
                parts.tag("dt", label)
                parts.tag("dd", value)
    _verdicts(made)
    _losses(made)
    _why(made)


def facts_of(made: Made) -> list[tuple[str, str]]:
    """Return the facts about a release in words."""
    unit = "rows" if made["people"] is None else "people"
    facts = [("Found by", title_of_spelled(made["algorithm"])), ("Rows", rows_in_words(made))]
    if made["people"] is not None:
        facts.append(("People", people_in_words(made)))
    title = units_of(made["form"]).capitalize()
    facts.append((title, f"{count_units(made)}, the smallest of {number(made['k'])} {unit}"))
    if made["loss"] is not None:
        facts.append(("Detail lost", percent(made["loss"])))
    return [*facts, ("Time", f"{made['counters']['seconds']:.1f} s")]


UNITS: Mapping[str, tuple[str, str]] = {
    "class": ("equivalence class", "equivalence classes"),
    "bucket": ("bucket", "buckets"),
}
"""What a unit of a release is called in full, and several."""


def count_units(made: Made) -> str:
    """Return the number of classes, or buckets, in words.

    >>> count_units({"form": None, "classes": 1}), count_units({"form": "sliced", "classes": 9})
    ('1 equivalence class', '9 buckets')
    """
    return plural(made["classes"], *UNITS[unit_of(made["form"])])


def rows_in_words(made: Made) -> str:
    """Return how many rows are published, and how many are suppressed.

    >>> rows_in_words({"rows": 90, "original_rows": 100, "suppressed_rows": 10})
    '90 of 100; 10 rows (10 %) are suppressed'
    """
    published, of, gone = made["rows"], made["original_rows"], made["suppressed_rows"]
    words = f"{published:,} of {of:,}" if of else f"{published:,}"
    if gone is None:
        return words
    share = f" ({percent(gone / of)})" if of and gone else ""
    return f"{words}; {plural(gone, 'row')}{share} {'is' if gone == 1 else 'are'} suppressed" if gone else words


def people_in_words(made: Made) -> str:
    """Return how many people are published, how many are not, and how many lost some of their rows only.

    >>> people_in_words({"people": 7_432, "original_people": 7_486, "suppressed_people": 352})
    '7,432 of 7,486; 54 have no published row, and 298 lost some of their rows'
    """
    published, of, touched = made["people"], made["original_people"], made["suppressed_people"]
    if of is None or of == published:
        some = f"; {touched:,} lost some of their rows" if touched else ""
        return f"{published:,}{f' of {of:,}' if of else ''}{some}"
    gone = of - published
    words = f"{published:,} of {of:,}; {gone:,} {'has' if gone == 1 else 'have'} no published row"
    left = max((touched or 0) - gone, 0)
    return f"{words}, and {left:,} lost some of their rows" if left else words


def _verdicts(made: Made) -> None:
    """Draw the required and achieved guarantees."""
    broken = "classes that break it"
    parts.table(
        "What was asked for, and what was reached",
        ["privacy guarantee", "satisfied", "reached", broken],
        [
            (
                promise_in_words(each["model"]),
                "yes" if each["holds"] else "NO",
                ", ".join(
                    f"{key} = {'–' if value is None else number(value)}" for key, value in each["achieved"].items()
                ),
                f"{each['violating_classes']:,}",
            )
            for each in made["models"]
        ],
        right=(broken,),
    )


def _losses(made: Made) -> None:
    """Draw the information loss by column."""
    if not made["column_losses"]:
        parts.say("Values are published unmodified; what is lost is which of them belong together.")
        return
    lost = "detail lost"
    ordered = sorted(made["column_losses"].items(), key=lambda item: -item[1])
    gone = [name for name, loss in ordered if percent(loss) == percent(1.0)]
    if gone:
        _warn_of_columns(gone)
    parts.table(
        "What each column loses",
        ["column", lost],
        [(Own(name), percent(loss)) for name, loss in ordered],
        right=(lost,),
    )


def _warn_of_columns(gone: list[str]) -> None:
    """Say which columns are published without one value, and where that can be changed."""
    verb = "say" if len(gone) > 1 else "says"
    with (
        parts.notice(f"{list_names(gone)} {verb} nothing any more: not one value is published.", kind="warning"),
        parts.tag("p", classes="hint"),
    ):
        parts.tag("span", "More stays where fewer columns count as known to others, or more rows are suppressed. ")
        parts.link("Go to columns", "/columns")
        parts.tag("span", " ")
        parts.link("Go to privacy", "/privacy")


def _why(made: Made) -> None:
    """Draw the attempts behind the choice of the algorithm."""
    why = made.get("explanation")
    if why is None:
        return
    with parts.tag("details", id="why"):
        parts.tag("summary", "Why this algorithm was chosen")
        parts.say("Each was judged by what it loses, or keeps.")
        shares = why["metric"] in SHARES
        tried = [each for each in why["attempts"] if each.get("loss") is not None]
        best = sorted(tried, key=lambda each: each["loss"] * (1 if why["better"] == "lower" else -1))
        parts.table(
            "What was tried",
            ["found by", "detail lost" if shares else why["metric"], "classes"],
            [
                (
                    title_of_spelled(each["algorithm"]),
                    (percent if shares else number)(each["loss"]),
                    f"{each['classes']:,}",
                )
                for each in best
            ],
            right=("detail lost" if shares else why["metric"], "classes"),
        )
        draw_list(list(reasons_in_words(why)))


def reasons_in_words(why: Made) -> Iterator[str]:
    """Yield the reasons for the result: attempts that failed, the proven bound, and easier settings."""
    spell = percent if why["metric"] in SHARES else number
    for each in why["attempts"]:
        if each["loss"] is None:
            yield f"{title_of_spelled(each['algorithm'])}: not tried, because it {each['reason'].rstrip('.')}."
    proof = why.get("proof")
    if proof is not None and proof["proven"]:
        yield f"It is proven that nothing of this kind is better: {plural(proof['nodes'], 'choice')} were weighed."
    elif proof is not None:
        yield (
            f"The search was stopped after {proof['nodes']:,} choices: at most {percent(proof['gap'])} could be gained."
        )
    yield from map(as_sentence, why.get("notes", ()))
    most = sorted(why["columns"].items(), key=lambda item: -item[1])[:3]
    if sum(why["columns"].values()) > 0:
        named = list_names([f"{name} ({percent(share)})" for name, share in most if share > 0])
        yield f"Of all that is lost, most is lost in {named}."
    for each in why["changes"]:
        setting = f"{each['setting'][:1].upper()}{each['setting'][1:]}"
        after, before = spell(each["loss"]), spell(each["before"])
        outcome = "would lose the same" if after == before else f"would give {after} instead of {before}"
        yield f"{setting}, {title_of_spelled(each['algorithm'])} {outcome}."


def as_sentence(text: str) -> str:
    """Return a message of the library as a sentence; one that begins with a specification is not changed."""
    worded = text.partition(" ")[0].isalpha()
    return f"{text[:1].upper() if worded else text[:1]}{text[1:].rstrip('.')}."
