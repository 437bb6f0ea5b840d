"""What a workbook holds beside the cells that people see: authors, hidden sheets, comments, texts of deleted cells."""

import re
from collections.abc import Iterator
from xml.etree import ElementTree

from indistinct.figures import plural
from indistinct.study.scan.base import Check, Finding, Severity, Subject
from indistinct.study.scan.excel import Workbook, local, parsed
from indistinct.tables.sheets import CONTENT

# Properties that name people and places, and those that tell times.
PEOPLE = {"creator", "lastModifiedBy", "Manager", "Company", "category", "keywords", "subject", "description", "title"}
PEOPLE |= {"initial-creator", "printed-by", "keyword", "template"}
TIMES = {"created", "modified", "lastPrinted", "TotalTime", "creation-date", "date", "print-date", "editing-duration"}
PROPERTIES = ("docProps/core.xml", "docProps/app.xml", "meta.xml")
CUSTOM = "docProps/custom.xml"
# Names that Excel itself gives to ranges that are printed or filtered.
OWN_NAMES = "_xlnm."
# Entries that may hold cells or people, each with what it is.
OTHER_ENTRIES = (
    (r"xl/pivotCache/.*Records.*\.(xml|bin)", Severity.LEAK, "a copy of the rows that a pivot table was made of"),
    (r"xl/externalLinks/.*\.(xml|bin)", Severity.LEAK, "cells of another workbook"),
    (r"xl/(comments|threadedComments).*\.(xml|bin)|xl/persons/.*\.xml", Severity.LEAK, "comments, and who wrote them"),
    (r"xl/revisions/.*", Severity.LEAK, "earlier versions of cells"),
    (r"Thumbnails/.*", Severity.SUSPICION, "a picture of its first page, perhaps of an earlier state"),
    (r"Object .*/content\.xml|Pictures/.*", Severity.SUSPICION, "embedded files or pictures"),
    (r"Basic/.*|Scripts/.*", Severity.SUSPICION, "programs"),
    (r"xl/(queryTables|connections).*", Severity.SUSPICION, "where the rows were read from"),
    (r"xl/embeddings/.*|xl/media/.*", Severity.SUSPICION, "embedded files or pictures"),
    (r"xl/vbaProject\.bin|xl/macrosheets/.*", Severity.SUSPICION, "programs"),
    (r"customXml/item\d+\.xml", Severity.SUSPICION, "documents of other programs"),
    (r"xl/printerSettings/.*", Severity.NOTE, "the settings of a printer"),
)
# Elements of an open document that may hold cells or people.
OTHER_ELEMENTS = (
    (rb"<office:annotation\b", Severity.LEAK, "comments, and who wrote them"),
    (rb"<table:tracked-changes\b", Severity.LEAK, "earlier versions of cells"),
    (rb"<table:data-pilot-table\b|<table:database-source", Severity.SUSPICION, "tables that were made of other cells"),
    (rb"<table:named-(?:range|expression)\b", Severity.SUSPICION, "names for ranges or values"),
)


def _properties(subject: Subject) -> Iterator[Finding]:
    book: Workbook = subject.file.inside
    found = [element for entry in PROPERTIES for element in _elements(book, entry)]
    people = [element for element in found if local(element) in PEOPLE and (element.text or "").strip()]
    if people:
        yield Finding(
            "workbook-properties",
            Severity.SUSPICION,
            "the document's properties",
            len(people),
            f"{plural(len(people), 'property', 'properties')} of the document tell who made it, where, or of what",
            "remove them: File, Info, Inspect Document in Excel",
        )
    times = [element for element in found if local(element) in TIMES and (element.text or "").strip()]
    if times:
        yield Finding(
            "workbook-properties",
            Severity.NOTE,
            "the document's properties",
            len(times),
            "the document tells when it was made and changed",
            "remove it if these times tell something",
        )
    custom = sum(local(element) == "property" for element in _elements(book, CUSTOM))
    if custom:
        yield Finding(
            "workbook-properties",
            Severity.SUSPICION,
            CUSTOM,
            custom,
            f"the document has {plural(custom, 'property', 'properties')} of somebody's own making",
            "read them, and remove them",
        )


def _hidden(subject: Subject) -> Iterator[Finding]:
    book: Workbook = subject.file.inside
    for sheet in book.sheets:
        hidden = {"rows": sheet.hidden_rows, "columns": sheet.hidden_columns}
        if sheet.hidden:
            hidden = {"cells": max(sum(map(len, sheet.cells.values())), 1)}
        for what, count in hidden.items():
            if count:
                yield Finding(
                    "workbook-hidden",
                    Severity.LEAK,
                    f"sheet {sheet.number}",
                    count,
                    f"sheet {sheet.number} hides {plural(count, what.removesuffix('s'))}, which everybody can show",
                    "delete what is hidden, or save the table alone in a new file",
                )
        if sheet.formulas or sheet.rules:
            count = sheet.formulas + sheet.rules
            yield Finding(
                "workbook-hidden",
                Severity.SUSPICION,
                f"sheet {sheet.number}",
                count,
                f"sheet {sheet.number} has {plural(count, 'formula or rule', 'formulas or rules')} that may show other "
                "cells, or list the values of a column",
                "paste the values alone into a new file",
            )


def _strings(subject: Subject) -> Iterator[Finding]:
    book: Workbook = subject.file.inside
    used = frozenset[int]().union(*(sheet.strings for sheet in book.sheets))
    shown = {book.strings[place] for place in used}
    unused = {text for place, text in enumerate(book.strings) if place not in used and text.strip()} - shown
    if unused:
        yield Finding(
            "workbook-strings",
            Severity.LEAK,
            "the shared texts",
            len(unused),
            f"the workbook still stores {plural(len(unused), 'text')} that no cell has: those of deleted cells",
            "save the table alone in a new file",
        )


def _others(subject: Subject) -> Iterator[Finding]:
    book: Workbook = subject.file.inside
    for pattern, severity, what in OTHER_ENTRIES:
        count = sum(bool(re.fullmatch(pattern, name)) for name in book.names)
        if count:
            yield Finding(
                "workbook-entries",
                severity,
                "the entries of the file",
                count,
                f"the workbook holds {what}",
                "save the table alone in a new file",
            )
    for element_pattern, severity, what in OTHER_ELEMENTS:
        count = len(re.findall(element_pattern, book.entries.get(CONTENT, b"")))
        if count:
            yield Finding(
                "workbook-entries",
                severity,
                CONTENT,
                count,
                f"the document holds {what}",
                "save the table alone in a new file",
            )
    names = [
        element
        for element in _elements(book, "xl/workbook.xml")
        if local(element) == "definedName" and not element.get("name", "").startswith(OWN_NAMES)
    ]
    if names:
        yield Finding(
            "workbook-entries",
            Severity.SUSPICION,
            "defined names",
            len(names),
            f"the workbook defines {plural(len(names), 'name')} for ranges or values",
            "delete them, or save the table alone in a new file",
        )


def _elements(book: Workbook, entry: str) -> Iterator[ElementTree.Element]:
    if entry in book.entries:
        try:
            yield from parsed(book.entries[entry], entry).iter()
        except ElementTree.ParseError:
            return


CHECKS = (
    Check("workbook-properties", "who made a workbook, and when", _properties, (), ("excel",)),
    Check("workbook-hidden", "hidden sheets, rows and columns, formulas", _hidden, (), ("excel",)),
    Check("workbook-strings", "texts that a workbook stores and no cell has", _strings, (), ("excel",)),
    Check("workbook-entries", "pivot caches, comments, links, names", _others, (), ("excel",)),
)
