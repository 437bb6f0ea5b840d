"""A filled form as a Word document. Needs python-docx, the extra `forms`.

The document's metadata name no author, no machine and no time of day.
"""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from indistinct.document.html import printable
from indistinct.errors import MissingExtraError
from indistinct.reporting.forms.form import FilledField, FilledTable, FormContent
from indistinct.reporting.forms.page import opening_words, source_words

OPEN_FIELD_COLOR = "FFF3D6"


def require_extra() -> None:
    """Raise `MissingExtraError` where python-docx is not installed."""
    try:
        import docx  # noqa: F401
    except ModuleNotFoundError as error:
        raise MissingExtraError(str(error.name), extra="forms", purpose="a form as .docx") from None


def document_of(form: FormContent) -> Callable[[Path], None]:
    """Return what writes a filled form to a path."""
    require_extra()
    import docx

    document = docx.Document()
    _clear_metadata(document, form)
    document.add_heading(printable(form.form.title), level=0)
    document.add_paragraph(printable(form.form.note))
    _shade(document.add_paragraph(printable(opening_words(form))))
    for section in form.sections:
        document.add_heading(printable(section.title), level=1)
        if section.note:
            document.add_paragraph(printable(section.note)).runs[0].italic = True
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
    """Set the properties of a document: a title, and nothing of who or which machine wrote it."""
    properties = document.core_properties
    properties.title, properties.author, properties.last_modified_by = form.form.title, "", ""
    properties.comments, properties.keywords, properties.revision = "", "", 1
    properties.created = properties.modified = datetime.fromisoformat(form.made)


def _add_field(document: Any, part: FilledField) -> None:
    paragraph = document.add_paragraph()
    paragraph.add_run(printable(f"{part.label}: ")).bold = True
    if part.text is not None:
        paragraph.add_run(printable(part.text))
        return
    paragraph.add_run(printable(part.help or "To be written.")).italic = True
    _shade(paragraph)
    _shade(document.add_paragraph(""))


def _add_table(document: Any, part: FilledTable) -> None:
    caption = document.add_paragraph()
    caption.add_run(printable(part.label)).bold = True
    caption.paragraph_format.keep_with_next = True
    table = document.add_table(rows=1, cols=len(part.headings), style="Light Grid Accent 1")
    for cell, name in zip(table.rows[0].cells, part.headings, strict=True):
        cell.text = printable(name)
    for row in part.rows:
        cells = table.add_row().cells
        for cell, name, text in zip(cells, part.headings, row, strict=True):
            cell.text = printable(text)
            if name in part.open_columns and not text:
                _shade_properties(cell._tc.get_or_add_tcPr())
    document.add_paragraph("" if part.rows else "Nothing to list.")


def _shade(paragraph: Any) -> None:
    """Mark a paragraph that a person has to write or read first."""
    _shade_properties(paragraph._p.get_or_add_pPr())


def _shade_properties(properties: Any) -> None:
    from docx.oxml import OxmlElement
    from docx.oxml.ns import qn

    shade = OxmlElement("w:shd")
    for name, value in (("w:val", "clear"), ("w:color", "auto"), ("w:fill", OPEN_FIELD_COLOR)):
        shade.set(qn(name), value)
    properties.append(shade)
