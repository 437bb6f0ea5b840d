"""A filled form as one HTML page: no script, nothing fetched, ready to be printed."""

import indistinct
from indistinct.document.html import escape
from indistinct.figures import plural
from indistinct.reporting.forms.form import FilledField, FilledTable, FormContent

STYLE = """
body { font: 11pt/1.45 "Liberation Sans", Arial, sans-serif; max-width: 48em; margin: 2em auto; padding: 0 1em;
  color: #111; }
h1 { font-size: 1.5em; } h2 { font-size: 1.15em; margin-top: 1.8em; break-after: avoid; }
dl { display: grid; grid-template-columns: minmax(10em, 1fr) 2fr; gap: 0.35em 1.2em; }
dt { color: #444; } dd { margin: 0; }
.open { border: 1px dashed #a60; background: #fff8ea; padding: 0.4em 0.6em; min-height: 2.6em; color: #6b4400; }
table { border-collapse: collapse; width: 100%; margin: 0.6em 0; font-size: 0.92em; }
caption { text-align: left; font-weight: bold; }
th, td { border-bottom: 1px solid #bbb; padding: 0.3em 0.5em; text-align: left; vertical-align: top;
  overflow-wrap: anywhere; }
td.open { border: 1px dashed #a60; } .note { color: #444; } @page { size: A4; margin: 18mm; }
@media (max-width: 40em) { dl { grid-template-columns: 1fr; } }
"""


def page_of(form: FormContent) -> str:
    """Return a filled form as an HTML document."""
    title = escape(form.form.title)
    parts = [
        f"<h1>{title}</h1>",
        f"<p>{escape(form.form.note)}</p>",
        f'<p class="open">{escape(opening_words(form))}</p>',
    ]
    for section in form.sections:
        parts.append(f"<h2>{escape(section.title)}</h2>")
        if section.note:
            parts.append(f'<p class="note">{escape(section.note)}</p>')
        parts += [_table(part) if isinstance(part, FilledTable) else _field(part) for part in section.parts]
    parts.append("<h2>Sources</h2><ul>")
    parts += [f"<li>{escape(source_words(form, index))}</li>" for index in range(len(form.form.sources))]
    parts.append("</ul>")
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title>'
    body = "".join(parts)
    return f'<!doctype html><html lang="en"><head>{head}<style>{STYLE}</style></head><body>{body}</body></html>\n'


def opening_words(form: FormContent) -> str:
    """Return how many fields a person must write, and the version that made the figures."""
    return (
        f"{plural(form.open_fields, 'field')} of this form must be written by a person; they are marked. All figures "
        f"were made by indistinct {indistinct.__version__} on {form.made} ({form.edition} edition)."
    )


def source_words(form: FormContent, index: int) -> str:
    """Return a source with its edition and how far it was read."""
    source = form.form.sources[index]
    return f"{source.name}, {source.edition}. Read on {source.read_on}: {source.read}."


def _field(part: FilledField) -> str:
    if part.text is None:
        return f'<dl><dt>{escape(part.label)}</dt><dd class="open">{escape(part.help or "To be written.")}</dd></dl>'
    return f"<dl><dt>{escape(part.label)}</dt><dd>{escape(part.text)}</dd></dl>"


def _table(part: FilledTable) -> str:
    """Return a table of a form as HTML."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in part.headings)
    rows = []
    for row in part.rows:
        cells = [
            f'<td class="open">{escape(cell)}</td>'
            if name in part.open_columns and not cell
            else f"<td>{escape(cell)}</td>"
            for name, cell in zip(part.headings, row, strict=True)
        ]
        rows.append(f"<tr>{''.join(cells)}</tr>")
    body = "".join(rows) or f'<tr><td colspan="{len(part.headings)}">{escape(part.nothing)}</td></tr>'
    return f"<table><caption>{escape(part.label)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
