"""What is still being found about several tables, and the verdict on their release, as several steps draw them."""

from collections.abc import Mapping
from typing import Any

from indistinct.evaluation.verdict import Verdict
from indistinct.evaluation.verdict_line import words_of
from indistinct.figures import number, plural
from indistinct.web import parts
from indistinct.web.blocks import draw_list
from indistinct.web.frame import Screen
from indistinct.web.steps.verdict_box import draw_chore_lines, draw_looked_at, say_no_release
from indistinct.web.tables_following import chores_for_tables, follow_tables, is_done
from indistinct.web.tables_standing import MADE, fresh_tables, verdict_on_tables

SAME_AS_TABLE = "The same as a table"
TOO_MANY = "too many to count"


def draw_tables_chores(screen: Screen) -> None:
    """Draw the running computations on several tables, with time left and a button to stop."""
    draw_chore_lines(screen, [each for each in chores_for_tables(screen.session) if not is_done(screen.session, each)],
                     begin=lambda: follow_tables(screen.session))  # fmt: skip


def draw_tables_verdict(screen: Screen, made: Any) -> Verdict:
    """Draw the verdict on a release of several tables; return it."""
    session = screen.session
    follow_tables(session)
    verdict = verdict_on_tables(session, made)
    with parts.tag("section", classes=f"verdict {verdict.tone}", id="verdict", aria_label="Verdict"):
        parts.tag("p", verdict.sentence, classes="sentence", role="status")
        if verdict.open:
            draw_list([words_of(each) for each in verdict.open])
        draw_looked_at(screen, verdict)
    draw_tables_chores(screen)
    return verdict


def tables_release_of(screen: Screen) -> Any:
    """Return the release of several tables; say so and return None where there is none, or where it is old."""
    made = fresh_tables(screen.session)
    if made is None:
        say_no_release(old=screen.session.result(MADE) is not None)
    return made


def release_sentence(certificate: Mapping[str, Any]) -> str:
    """Describe the release in a sentence.

    >>> release_sentence({"people": 90, "suppressed_people": None, "smallest_group": 5})
    '90 people are published, few are suppressed; an attacker who looks for one of them is left with 5 people or more.'
    """
    gone = certificate["suppressed_people"]
    dropped = "few are" if gone is None else "no person is" if gone == 0 else "1 is" if gone == 1 else f"{gone:,} are"
    published = plural(certificate["people"], "person is", "people are")
    return (
        f"{published} published, {dropped} suppressed; an attacker who looks for one of them is left with "
        f"{number(certificate['smallest_group'])} people or more."
    )
