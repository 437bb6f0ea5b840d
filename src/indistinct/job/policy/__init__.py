"""A policy: the whole job in one file, from the table through model and algorithm to the release.

It can be reviewed, versioned and run again; `read_policy(write_policy(policy, path))` is the same policy.
"""

from indistinct.job.policy.reading import policy_from_toml, read_policy
from indistinct.job.policy.value import Input, Output, Policy, Statement, predicted_column
from indistinct.job.policy.writing import policy_to_toml, write_policy

__all__ = [
    "Input",
    "Output",
    "Policy",
    "Statement",
    "policy_from_toml",
    "policy_to_toml",
    "predicted_column",
    "read_policy",
    "write_policy",
]
