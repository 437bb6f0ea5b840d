"""Rules of one place: what only one module or folder may do."""

import ast

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
