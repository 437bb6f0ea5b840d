"""What a workbook stores apart from its sheets: pivot caches, comments, links, pictures, and unused entries."""

import posixpath
import re
from collections.abc import Iterator
from xml.etree import ElementTree

from indistinct.exploration.scan.base import Finding, ScanCheck, ScannedFile, Severity, leak, suspicion
from indistinct.exploration.scan.workbooks import XML, Workbook, local, read_elements
from indistinct.figures import plural
from indistinct.tables.sheets import CONTENT
from indistinct.tables.xml_documents import parse_xml

FIRST_PAGE = "a picture of its first page, perhaps of an earlier state"
DRAWINGS = "drawings or charts, with texts and values of their own"
# Names that Excel gives to ranges that are printed or filtered.
OWN_NAMES = "_xlnm."
# Entries that may contain cells or people's names, each with a description.
OTHER_ENTRIES = (
    (r"xl/pivotCache/.*Records.*\.(xml|bin)", Severity.LEAK, "a copy of the rows that a pivot table was made of"),
    (r"xl/externalLinks/.*\.(xml|bin)", Severity.LEAK, "cells of another workbook"),
    (r"xl/(comments|threadedComments).*\.(xml|bin)|xl/persons/.*\.xml", Severity.LEAK, "comments, and who wrote them"),
    (r"xl/revisions/.*", Severity.LEAK, "earlier versions of cells"),
    (
        r"Thumbnails/.*|docProps/thumbnail.*",
        Severity.SUSPICION,
        FIRST_PAGE,
    ),
    (r"Object .*/content\.xml|Pictures/.*", Severity.SUSPICION, "embedded files or pictures"),
    (r"Basic/.*|Scripts/.*", Severity.SUSPICION, "programs"),
    (r"xl/(queryTables|connections).*", Severity.SUSPICION, "where the rows were read from"),
    (r"xl/embeddings/.*|xl/media/.*", Severity.SUSPICION, "embedded files or pictures"),
    (r"xl/vbaProject\.bin|xl/macrosheets/.*", Severity.SUSPICION, "programs"),
    (r"customXml/item\d+\.xml", Severity.SUSPICION, "documents of other programs"),
    (r"xl/(drawings|charts|chartsheets|diagrams|ctrlProps|activeX|ink)/(?!.*\.rels).*", Severity.SUSPICION, DRAWINGS),
    (r"xl/(slicers|slicerCaches|timelines|timelineCaches|model|richData)/.*", Severity.SUSPICION, "values for filters"),
    (r"docMetadata/.*|xl/customProperty.*|xl/webextensions/.*", Severity.SUSPICION, "notes of other programs"),
    (r"xl/printerSettings/.*", Severity.NOTE, "the settings of a printer"),
)
# Elements of an OpenDocument file that may contain cells or people's names.
OTHER_ELEMENTS = (
    (rb"<office:annotation\b", Severity.LEAK, "comments, and who wrote them"),
    (rb"<table:tracked-changes\b", Severity.LEAK, "earlier versions of cells"),
    (rb"<table:data-pilot-table\b|<table:database-source", Severity.SUSPICION, "tables that were made of other cells"),
    (rb"<table:named-(?:range|expression)\b", Severity.SUSPICION, "names for ranges or values"),
)
# Entries that every workbook may have, and that other checks cover.
USUAL_ENTRIES = re.compile(
    r"\[Content_Types\]\.xml|(.*/)?_rels/[^/]*\.rels|docProps/(core|app|custom)\.xml"
    r"|xl/(workbook|styles|sharedStrings|calcChain|metadata|volatileDependencies)\.(xml|bin)|xl/theme/theme\d+\.xml"
    r"|xl/worksheets/(sheet|binaryIndex)\w*\.(xml|bin)|xl/tables/(table|tableSingleCells)\d+\.(xml|bin)"
    r"|xl/pivotTables/.*|xl/pivotCache/.*|customXml/itemProps\d+\.xml"
    r"|mimetype|(meta|styles|settings|content)\.xml|manifest\.rdf|META-INF/manifest\.xml|layout-cache|Configurations2/.*"
)
ROOT, MANIFEST = "_rels/.rels", "META-INF/manifest.xml"
# The first and last bytes of pictures.
PICTURES = {
    (".jpg", ".jpeg"): (b"\xff\xd8\xff", b"\xff\xd9"),
    (".png",): (b"\x89PNG\r\n\x1a\n", b"IEND\xaeB`\x82"),
    (".gif",): (b"GIF8", b";"),
}
HEADINGS = re.compile(rb"<(?:\w+:)?(?:odd|even|first)(?:Header|Footer)>|<style:(?:header|footer)>\s*<text:p>[^<]")
NEW_FILE = "save the table alone in a new file"


def _find_entries(subject: ScannedFile) -> Iterator[Finding]:
    """Report entries and elements of a workbook that may contain data."""
    book: Workbook = subject.file.inside
    for pattern, severity, what in OTHER_ENTRIES:
        count = sum(bool(re.fullmatch(pattern, name)) for name in book.names)
        if count:
            yield Finding(severity, "the entries of the file", count, f"the workbook holds {what}", NEW_FILE)
    for element_pattern, severity, what in OTHER_ELEMENTS:
        count = len(re.findall(element_pattern, book.entries.get(CONTENT, b"")))
        if count:
            yield Finding(severity, CONTENT, count, f"the document holds {what}", NEW_FILE)
    names = [
        element
        for element in read_elements(book, "xl/workbook.xml")
        if local(element) == "definedName" and not element.get("name", "").startswith(OWN_NAMES)
    ]
    if names:
        yield suspicion(
            "defined names",
            len(names),
            f"the workbook defines {plural(len(names), 'name')} for ranges or values",
            f"delete them, or {NEW_FILE}",
        )
    yield from _find_texts_in_xml(book)


def _find_texts_in_xml(book: Workbook) -> Iterator[Finding]:
    """Report comments, headers and links in the XML of a workbook."""
    documents = [content for name, content in book.entries.items() if name.endswith(XML)]
    sentences = {
        "comments in its XML, which no program shows": sum(content.count(b"<!--") for content in documents),
        "headers or footers of printed pages": sum(len(HEADINGS.findall(content)) for content in documents),
        "links to addresses or other files": sum(content.count(b'TargetMode="External"') for content in documents),
    }
    for what, count in sentences.items():
        if count:
            yield suspicion("the entries of the file", count, f"the workbook holds {what}", NEW_FILE)


def _find_unused_entries(subject: ScannedFile) -> Iterator[Finding]:
    """Report entries that no link or list of the workbook names."""
    book: Workbook = subject.file.inside
    names = [name for name in dict.fromkeys(book.names) if not name.endswith("/")]
    used = _listed_in_manifest(book) if MANIFEST in book.entries else _reached_by_links(book)
    unused = [name for name in names if used is not None and name.casefold() not in used]
    if unused:
        yield leak(
            "the entries of the file",
            len(unused),
            f"{plural(len(unused), 'entry belongs', 'entries belong')} to no part of the workbook, and programs do "
            "not show them",
            NEW_FILE,
        )
    patterns = [re.compile(pattern) for pattern, _, _ in OTHER_ENTRIES]
    strange = [
        name
        for name in names
        if name not in unused and not any(each.fullmatch(name) for each in (USUAL_ENTRIES, *patterns))
    ]
    if strange:
        yield suspicion(
            "the entries of the file",
            len(strange),
            f"{plural(len(strange), 'entry is', 'entries are')} of no kind that workbooks have",
            NEW_FILE,
        )
    broken = [name for name, content in book.entries.items() if _is_false_picture(name, content)]
    if broken:
        yield leak(
            "the entries of the file",
            len(broken),
            f"{plural(len(broken), 'entry has', 'entries have')} the name of a picture and other bytes",
            NEW_FILE,
        )


def _is_false_picture(name: str, content: bytes) -> bool:
    """Return whether an entry named as a picture does not begin and end like a picture of that type."""
    ends = next((ends for suffixes, ends in PICTURES.items() if name.lower().endswith(suffixes)), None)
    return ends is not None and not (content.startswith(ends[0]) and content.endswith(ends[1]))


def _reached_by_links(book: Workbook) -> set[str]:
    """Return the entries that are reachable by links from the parts of a workbook, and the lists of these links."""
    links = {name.casefold(): _targets(name, book.entries[name]) for name in book.entries if name.endswith(".rels")}
    by_name = {name.casefold() for name in book.entries}
    used = {"[content_types].xml", *(name for name in ("xl/workbook.xml", "xl/workbook.bin") if name in by_name)}
    ahead = [ROOT, *used]
    while ahead:
        name = ahead.pop()
        folder, own = posixpath.split(name)
        listed = name if name == ROOT else posixpath.join(folder, "_rels", f"{own}.rels")
        if listed in by_name:
            used.add(listed)
        reached = {target for target in links.get(listed, ()) if target in by_name} - used
        used |= reached
        ahead += reached
    return used


def _targets(name: str, content: bytes) -> set[str]:
    """Return the entries that a list of links points to, without addresses outside the file."""
    folder = posixpath.dirname(posixpath.dirname(name))
    try:
        links = list(parse_xml(content, name))
    except ElementTree.ParseError:
        return set()
    inside = [link.get("Target", "") for link in links if link.get("TargetMode") != "External"]
    return {posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/").casefold() for target in inside}


def _listed_in_manifest(book: Workbook) -> set[str]:
    """Return the entries that the manifest of an OpenDocument file lists, and those that every such file has."""
    listed = {
        value.casefold()
        for element in read_elements(book, MANIFEST)
        for key, value in element.items()
        if key.rpartition("}")[2] == "full-path"
    }
    return {"mimetype", MANIFEST.casefold(), "meta-inf/documentsignatures.xml", *listed}


CHECKS = (
    ScanCheck("workbook-entries", "pivot caches, comments, links, pictures, names", _find_entries, (), ("excel",)),
    ScanCheck(
        "workbook-unused-entries", "entries that no part of a workbook uses", _find_unused_entries, (), ("excel",)
    ),
)
