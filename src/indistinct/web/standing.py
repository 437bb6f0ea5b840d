"""The strip that always says where a job stands: rows, people, k, violations, highest risk, loss."""

from indistinct.figures import number, percent
from indistinct.models import KAnonymity
from indistinct.web.sessions import Session, job_of

ABSENT = "–"
RELEASED, INSPECTED = "release", "inspection"
"""Under these names a session keeps what a search published, and what a first look at the table found."""


def standing(session: Session) -> list[tuple[str, str, str]]:
    """Return each figure with its name, and whether it is good, bad or old.

    Before a search, risk is that of the table as it is; afterwards the release says what it achieves.
    """
    looked, made = session.found(INSPECTED), session.found(RELEASED)
    models = () if session.policy is None else session.policy.models
    asked = [model.k for model in models if isinstance(model, KAnonymity)]
    old = made is not None and not session.is_fresh(RELEASED, job_of(session.policy))
    kind = "old" if old else ""
    rows = None if looked is None else looked["rows"]
    people = None if looked is None else looked["people"]
    told: list[tuple[str, str, str]] = [
        ("rows", _shown(rows), ""),
        ("people", _shown(people), ""),
        ("k asked", _shown(max(asked, default=None)), ""),
    ]
    if made is None:
        risk = None if looked is None or not looked["smallest_class"] else 1 / looked["smallest_class"]
        return [
            *told,
            ("violations", ABSENT, ""),
            ("highest risk", ABSENT if risk is None else f"{percent(risk)} now", "bad" if risk == 1 else ""),
            ("loss", ABSENT, ""),
        ]
    holds = made["holds"]
    return [
        *told,
        ("k reached", _shown(made["k"]), kind),
        ("violations", _shown(made["violations"]), kind or ("good" if holds else "bad")),
        ("highest risk", percent(1 / made["k"]) if made["k"] else ABSENT, kind),
        ("loss", percent(made["loss"]) if made["loss"] is not None else ABSENT, kind),
        *([("", "changed since the last search", "old")] if old else []),
    ]


def _shown(value: float | None) -> str:
    return ABSENT if value is None else number(value)
