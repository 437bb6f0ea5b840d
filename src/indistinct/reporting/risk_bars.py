"""The highest and the average re-identification risk as bars, before and after, with the limits of a profile."""

from indistinct.document.blocks import Block, JsonValues, Picture
from indistinct.drawing.class_sizes import draw_risks
from indistinct.figures import percent
from indistinct.reporting.subject import Subject

RISKS_DRAWN = {"highest": "highest risk of anybody", "average": "average risk"}


def risk_bars(subject: Subject, values: JsonValues | None) -> list[Block]:
    """Draw the highest and the average risk, but in buckets, where quasi-identifiers are unmodified.

    `values` is the assessment as JSON, None where there is none.
    """
    if values is None or not subject.structure.hides_rows or values.at("prosecutor", "highest") is None:
        return []
    bars = [
        (name, values.at("before", "prosecutor", key), values.at("prosecutor", key))
        for key, name in RISKS_DRAWN.items()
    ]
    profile = subject.profile
    limited = {} if profile is None else {figure: float(limit) for figure, limit, _ in profile.limits}
    limits = [limited.get(key) for key in RISKS_DRAWN]
    known = [percent(limit) for limit in limits if limit is not None]
    line = (
        f"; the line is the limit of the profile {profile.spec()}, {' and '.join(known)}" if profile and known else ""
    )
    words = "; ".join(f"{name} {before_after(before, after)}" for name, before, after in bars)
    caption = f"How likely a person is found{line}"
    return [Picture(caption, f"{caption}. {words[:1].upper()}{words[1:]}.", draw_risks(bars, limits=limits))]


def before_after(before: float | None, after: float) -> str:
    """Return a share before and after, such as 100 % → 8.33 %."""
    return percent(after) if before is None else f"{percent(before)} → {percent(after)}"
