"""A filled form as a Word document. Needs python-docx, the extra `forms`.

The document's metadata name no author, no machine and no time of day.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from indistinct.document.html import printable
from indistinct.errors import MissingExtraError
from indistinct.reporting.forms.form import FilledField, FilledTable, FormContent
from indistinct.reporting.forms.page import opening_words, source_words

OPEN_FIELD_COLOR, TABLE_POINTS, MARGIN, PAGE = "FFF3D6", 9, 20, (210, 297)
"""Color of fields that a person fills in, font size of tables, and margins and page size in millimeters."""
MIN_COLUMN_LETTERS, MAX_COLUMN_LETTERS = 11, 36
"""Smallest and largest number of letters for which the width of a column is computed."""


def require_extra() -> None:
    """Raise `MissingExtraError` where python-docx is not installed."""
    try:
        import docx  # noqa: F401
    except ModuleNotFoundError as error:
        raise MissingExtraError(str(error.name), extra="forms", purpose="a form as .docx") from None


def document_of(form: FormContent) -> Callable[[Path], None]:
    """Return a function that writes a filled form to a path."""
    require_extra()
    import docx

    document = docx.Document()
    _clear_metadata(document, form)
    _set_page(document)
    document.add_heading(printable(form.form.title), level=0)
    document.add_paragraph(printable(form.form.note))
    _shade(document.add_paragraph(printable(opening_words(form))))
    for section in form.sections:
        document.add_heading(printable(section.title), level=1)
        if section.note:
            note = document.add_paragraph(printable(section.note))
            note.runs[0].italic = note.paragraph_format.keep_with_next = True
        for part in section.parts:
            if isinstance(part, FilledTable):
                _add_table(document, part)
            else:
                _add_field(document, part)
    document.add_heading("Sources", level=1)
    for index in range(len(form.form.sources)):
        document.add_paragraph(printable(source_words(form, index)), style="List Bullet")
    return lambda path: document.save(str(path))


def _clear_metadata(document: Any, form: FormContent) -> None:
    """Set the metadata of a document: a title, and nothing about its author or machine."""
    properties = document.core_properties
    properties.title, properties.author, properties.last_modified_by = form.form.title, "", ""
    properties.comments, properties.keywords, properties.revision = "", "", 1
    properties.created = properties.modified = datetime.fromisoformat(form.made)


def _add_field(document: Any, part: FilledField) -> None:
    """Append a field's label and text; an empty field becomes a shaded placeholder with its help."""
    paragraph = document.add_paragraph()
    paragraph.add_run(printable(f"{part.label}: ")).bold = True
    if part.text is not None:
        paragraph.add_run(printable(part.text))
        return
    paragraph.add_run(printable(part.help or "To be written.")).italic = True
    _shade(paragraph)
    _shade(document.add_paragraph(""))


def _set_page(document: Any) -> None:
    """Set an A4 page, and a body font for which every word processor has an equivalent."""
    from docx.shared import Mm, Pt

    section = document.sections[0]
    section.page_width, section.page_height = map(Mm, PAGE)
    section.left_margin = section.right_margin = section.top_margin = section.bottom_margin = Mm(MARGIN)
    style = document.styles["Normal"]
    style.font.name, style.font.size, style.paragraph_format.space_after = "Arial", Pt(10), Pt(5)


def _add_table(document: Any, part: FilledTable) -> None:
    """Add a table to a document."""
    from docx.shared import Mm

    caption = document.add_paragraph()
    caption.add_run(printable(part.label)).bold = True
    if not part.rows:
        caption.add_run(f": {part.nothing}")
        return
    caption.paragraph_format.keep_with_next = True
    table = document.add_table(rows=1, cols=len(part.headings), style="Light Grid Accent 1")
    table.autofit = False
    widths = _widths(part)
    for column, width in zip(table.columns, widths, strict=True):
        column.width = Mm(width)  # LibreOffice reads the widths of columns, Word those of cells
    _fill_row(table.rows[0], part.headings, widths)
    _mark_row(table.rows[0], "w:tblHeader")
    for row in part.rows:
        added = table.add_row()
        _fill_row(added, row, widths)
        for cell, name, text in zip(added.cells, part.headings, row, strict=True):
            if name in part.open_columns and not text:
                _shade_properties(cell._tc.get_or_add_tcPr())
    for each in table.rows:
        _mark_row(each, "w:cantSplit")
    for cell in table.rows[0].cells:
        # LibreOffice loses the rows if only the headings fit on a page.
        cell.paragraphs[0].paragraph_format.keep_with_next = True
    document.add_paragraph("")


def _widths(part: FilledTable) -> list[int]:
    """Return the widths of a table's columns in millimeters, by the longest text of each.

    >>> _widths(FilledTable("", ("no.", "name"), (("1", "x" * 80),)))
    [40, 130]
    """
    columns = zip(part.headings, *part.rows, strict=True)
    # Words that are not broken are set in bold, with space on both sides.
    letters = [
        min(max(MIN_COLUMN_LETTERS, _longest_word(texts) + 5, *map(len, texts)), MAX_COLUMN_LETTERS)
        for texts in columns
    ]
    whole = PAGE[0] - 2 * MARGIN
    return [round(whole * each / sum(letters)) for each in letters]


def _longest_word(texts: Iterable[str]) -> int:
    return max((len(word) for text in texts for word in text.split()), default=0)


def _fill_row(row: Any, texts: Sequence[str], widths: Sequence[int]) -> None:
    """Fill a row of a table."""
    from docx.shared import Mm, Pt

    for cell, text, width in zip(row.cells, texts, widths, strict=True):
        cell.width, cell.text = Mm(width), printable(text)
        for paragraph in cell.paragraphs:
            paragraph.paragraph_format.space_after = Pt(1)
            for run in paragraph.runs:
                run.font.size = Pt(TABLE_POINTS)


def _mark_row(row: Any, name: str) -> None:
    """Set a property of a row: it is repeated on every page, or not split over two."""
    from docx.oxml import OxmlElement

    row._tr.get_or_add_trPr().append(OxmlElement(name))


def _shade(paragraph: Any) -> None:
    """Mark a paragraph that a person must write or read first."""
    _shade_properties(paragraph._p.get_or_add_pPr())


def _shade_properties(properties: Any) -> None:
    """Shade a field that a person must fill in."""
    from docx.oxml import OxmlElement
    from docx.oxml.ns import qn

    shade = OxmlElement("w:shd")
    for name, value in (("w:val", "clear"), ("w:color", "auto"), ("w:fill", OPEN_FIELD_COLOR)):
        shade.set(qn(name), value)
    properties.append(shade)
