"""A first look at a table: what each column is like, which role it may have, and which columns single people out."""

from indistinct.study.inspect.inspecting import inspect
from indistinct.study.inspect.page import inspection_page, write_inspection_page
from indistinct.study.inspect.roles import suggest_role, words_of
from indistinct.study.inspect.value import ColumnProfile, Inspection

__all__ = [
    "ColumnProfile",
    "Inspection",
    "inspect",
    "inspection_page",
    "suggest_role",
    "words_of",
    "write_inspection_page",
]
