"""Projects in the layout of ARX: what its program writes into a `.deid` archive, made here from invented tables."""

import csv
import io
import zipfile
from xml.sax.saxutils import escape

# A serialized Java object begins so; reading one is never tried.
JAVA = b"\xac\xed\x00\x05sr\x00\x10java.util.HashMap"
TYPES = {
    "identifier": "IDENTIFYING_ATTRIBUTE",
    "quasi": "QUASI_IDENTIFYING_ATTRIBUTE",
    "sensitive": "SENSITIVE_ATTRIBUTE",
    "insensitive": "INSENSITIVE_ATTRIBUTE",
}


def semicolons(rows, delimiter=";"):
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows(rows)
    return text.getvalue()


def element(name, text):
    return f"<{name}>{escape(str(text))}</{name}>\n"


def column(name, role="quasi", *, kind="String", **more):
    """Return an assignment of the data definition; `more` are its other elements, such as ref, min, max and format."""
    parts = {"name": name, "type": TYPES.get(role, role), "datatype": kind, **more}
    return "<assigment>\n" + "".join(element(key, value) for key, value in parts.items()) + "</assigment>\n"


def configuration(criteria=("5-anonymity",), *, suppression=0.05, weights=None, metric="Loss"):
    listed = "".join(element("criterion", each) for each in criteria)
    weighted = "".join(
        "<attributeWeight>" + element("attribute", name) + element("weight", weight) + "</attributeWeight>"
        for name, weight in (weights or {}).items()
    )
    return (
        "<config>\n<suppressTuplesInNonAnonymousOutput>true</suppressTuplesInNonAnonymousOutput>\n"
        f"<practicalMonotonicity>false</practicalMonotonicity>\n{element('relativeMaxOutliers', suppression)}"
        f"{element('metric', metric)}<attributeWeights>{weighted}</attributeWeights>\n"
        f"<criteria>{listed}</criteria>\n</config>"
    )


def arx_project(path, rows, columns, *, hierarchies=None, config=None, delimiter=";", entries=None):
    """Write a project; `columns` are assignments, `hierarchies` rows by column, `entries` replace or add entries."""
    held = {
        "metadata.xml": "<metadata>" + element("version", "3.9.1") + element("vocabulary", "2.0") + "</metadata>",
        "project.dat": JAVA,
        "project.xml": "<project>" + element("name", "clinic") + element("separator", delimiter) + "</project>",
        "data/input.csv": semicolons(rows, delimiter),
        "input/config.dat": JAVA,
        "input/config.xml": configuration() if config is None else config,
        "input/definition.xml": "<definition>\n" + "".join(columns) + "</definition>",
    }
    for name, each in (hierarchies or {}).items():
        held[f"input/hierarchies/{name}.csv"] = semicolons(each, delimiter)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {**held, **(entries or {})}.items():
            if content is not None:
                archive.writestr(name, content)
    return path


def clinic_rows(people=60):
    """Return a header and invented patients, whose towns and ages repeat."""
    diseases = ("flu", "cough", "ulcer", "HIV")
    return [["name", "born", "age", "zip", "disease", "note"]] + [
        [
            f"P{n}",
            f"{n % 27 + 1:02}.{n % 12 + 1:02}.19{50 + n % 40}",
            20 + n % 50,
            f"0{4100 + n % 6}",
            diseases[n % 4],
            "x",
        ]
        for n in range(people)
    ]


def clinic_project(path, **changed):
    """Write a project of invented patients with hierarchies, limits, weights and several models."""
    zips = [[f"0{4100 + n}", "041**", "*"] for n in range(6)]
    ages = [[age, f"{age // 10 * 10}-{age // 10 * 10 + 9}", "*"] for age in range(20, 70)]
    given = {
        "rows": clinic_rows(),
        "columns": [
            column("name", "identifier"),
            column("born", "identifier", kind="Date/Time", format="dd.MM.yyyy"),
            column("age", kind="Integer", ref="hierarchies/age.csv", min=1, max="All"),
            column("zip", ref="hierarchies/zip.csv", min="All", max="All"),
            column("disease", "sensitive"),
            column("note", "insensitive"),
        ],
        "hierarchies": {"age": ages, "zip": zips},
        "config": configuration(
            ["5-anonymity", "distinct-2-diversity for attribute 'disease'"], weights={"age": 0.5, "zip": 1.0}
        ),
        **changed,
    }
    return arx_project(path, given.pop("rows"), given.pop("columns"), **given)
