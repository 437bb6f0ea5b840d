"""Rules of one place: what only one module or folder may do."""

import ast
from types import SimpleNamespace

from indistinct.engines import CLASSES, make_engine


def calls(source, name):
    """Return the calls of a function or class in a file, under whatever module it is reached."""
    every = [node for node in ast.walk(source.tree) if isinstance(node, ast.Call)]
    return [node for node in every if ast.unparse(node.func).rpartition(".")[2] == name]


def test_only_recodings_ask_whether_one_of_them_goes_by_bucket(package):
    offences = [
        source.name
        for source in package
        if source.part != "recoding"
        for call in calls(source, "isinstance")
        if "ByBucket" in ast.unparse(call.args[1])
    ]
    assert offences == []


def test_no_import_inside_a_function_hides_a_cycle(package):
    """Commands import late so that `--help` is fast; an optional package is not ours."""
    offences = [
        source.name
        for source in package
        if source.part != "cli"
        for node in {id(n): n for function in source.functions() for n in ast.walk(function)}.values()
        if (isinstance(node, ast.ImportFrom) and str(node.module).partition(".")[0] == "indistinct")
        or (isinstance(node, ast.Import) and any(a.name.partition(".")[0] == "indistinct" for a in node.names))
    ]
    assert offences == []


def test_the_engine_is_made_in_one_place(package):
    """`make_engine` loads the class of an engine by its name."""
    assert [source.name for source in package for kind in CLASSES.values() for _ in calls(source, kind)] == []
    assert [make_engine(name).name for name in CLASSES] == list(CLASSES)


def test_dictionaries_of_chunks_are_united_in_one_place(package):
    """Arrow's `unify_dictionaries` looks up the undefined indices of missing cells, and may end the process."""
    offences = [
        source.name
        for source in package
        for node in ast.walk(source.tree)
        if (isinstance(node, ast.Attribute) and node.attr == "unify_dictionaries")
        or (isinstance(node, ast.keyword) and node.arg == "unify_dictionaries")
    ]
    assert offences == []


DRAWS = {"web/parts.py", "web/language.py"}
"""Modules of the page that draw what they are given, and look it up."""
SPOKEN = ("aria-label", "title", "alt", "placeholder")
STAYS = {"spot.value", "entry.value", "entry.whole", "words[index]", "json.dumps(words)"}
"""What modules of the page write into markup that is no sentence, or was looked up before."""
MARKUP = {"table_html", "rows_html", "slider_html", "shown_drawing"}
"""Functions whose markup has only words that were looked up."""
FRAMEWORK = {"ui.add_head_html", "ui.clipboard", "ui.context", "ui.element", "ui.navigate", "ui.page", "ui.page_title"}
FRAMEWORK |= {"ui.run_javascript", "ui.run_with", "ui.timer"}
"""Parts of the framework that say nothing, and the title of a page."""


def is_looked_up(node):
    return "translate(" in ast.unparse(node) or "_say(" in ast.unparse(node)


def unspoken_in(source):
    """Yield what a module of the page shows without a look into the catalogue of its language."""
    for node in ast.walk(source.tree):
        text = ast.unparse(node) if isinstance(node, ast.Attribute | ast.Call) else ""
        if isinstance(node, ast.Attribute) and text.startswith("ui.") and text.count(".") == 1:
            yield from [text] if text not in FRAMEWORK else []
        elif isinstance(node, ast.Call) and text.startswith(("escape(", "ui.page_title(")):
            yield from [text] if not is_looked_up(node) and ast.unparse(node.args[0]) not in STAYS else []
        elif isinstance(node, ast.Call) and text.startswith("parts.html("):
            made = getattr(getattr(node.args[0], "func", None), "id", ast.unparse(node.args[0]))
            yield from [text] if made not in {*MARKUP, "markup"} else []
        elif isinstance(node, ast.Assign):
            targets = " ".join(map(ast.unparse, node.targets))
            shown = targets.endswith(".text") or any(f"props['{each}']" in targets for each in SPOKEN)
            yield from [ast.unparse(node)] if shown and not is_looked_up(node.value) else []


def test_what_people_read_on_the_page_is_looked_up_in_its_language(package):
    """`parts` draws every text, and looks it up; whatever else shows a text looks it up itself."""
    page = [source for source in package if source.part == "web" and source.name not in DRAWS]
    assert {source.name: found for source in page if (found := list(unspoken_in(source)))} == {}
    assert {"ui.label('Open')", "x.props['title'] = 'Open'", "parts.html('<p>Open</p>')", "escape('Open')"} == {
        each
        for text in ("ui.label('Open')", "x.props['title'] = 'Open'", "parts.html('<p>Open</p>')", "escape('Open')")
        for found in unspoken_in(SimpleNamespace(tree=ast.parse(text)))
        for each in [text if found == "ui.label" else found]
    }
