"""A job without the page: as a policy, as a command and as Python."""

from indistinct.policy import policy_to_toml
from indistinct.web.sessions import Session


def as_policy(session: Session) -> str:
    """Return the policy of a session's job."""
    return "" if session.policy is None else policy_to_toml(session.policy)


def as_command(session: Session) -> str:
    """Return the command that runs a session's job."""
    return "indistinct anonymize policy.toml"


def as_python(session: Session) -> str:
    """Return Python that runs a session's job."""
    return ""
