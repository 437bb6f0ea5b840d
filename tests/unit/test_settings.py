"""Every surface is made from the table of settings, and agrees with it."""

import inspect
from dataclasses import fields
from pathlib import Path

import indistinct as ind
from indistinct.cli.options import Flags
from indistinct.job.policy import Input, Policy, policy_from_toml, policy_to_toml
from indistinct.settings import FLAGS, SETTINGS, TABLES, settings_of, settings_under, value_at
from indistinct.tables.value import Declarations


def test_names_of_flags_and_keys_are_unique():
    names = [setting.name for setting in SETTINGS if setting.flag]
    keys = [setting.key for setting in SETTINGS if setting.key is not None]
    assert len(names) == len(set(names))
    assert len(keys) == len(set(keys))


def test_each_field_exists_in_a_policy():
    policy = Policy(Input(Path("a.csv")), ind.Schema(quasi=["age"]), (ind.KAnonymity(5),))
    for setting in SETTINGS:
        if setting.field is not None:
            value_at(policy, setting.field)  # raises AttributeError where there is no such field
    assert value_at(policy, "input.database.table") is None


def test_each_parameter_exists_in_python():
    missing = []
    for setting in SETTINGS:
        function, _, parameter = (setting.python or "").partition(".")
        if not function:
            continue
        known = inspect.signature(getattr(ind, function)).parameters
        declared = Declarations.__annotations__ if function == "open" else {}
        options = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in known.values())
        if parameter not in known and not (options and (not declared or parameter in declared)):
            missing.append(setting.python)
    assert missing == []


def test_what_can_be_declared_of_a_file_has_a_setting():
    assert set(settings_under("input.reading")) == set(Declarations.__annotations__)
    assert set(settings_under("output.writing")) == {each.name for each in fields(ind.Writing)} - {"labels", "whole"}
    assert set(settings_under("about")) == set(settings_of("about"))


def test_flags_have_the_names_of_settings():
    assert {each.name for each in fields(Flags)} == set(FLAGS)


def test_help_is_a_sentence_that_fits():
    for setting in SETTINGS:
        assert setting.help[0].isupper(), setting.name
        assert setting.help.endswith((".", ",")), setting.name
        assert setting.flag_help.endswith((".", ",")), setting.name
        assert len(setting.flag_help) < 240, setting.name


def test_a_policy_has_the_tables_of_the_settings(tmp_path):
    text = '[input]\npath = "a.csv"\n[columns]\nage = { role = "quasi" }\n[privacy]\nmodels = ["k-anonymity:k=2"]\n'
    written = policy_to_toml(policy_from_toml(text, base=tmp_path))
    found = [line.strip("[]") for line in written.splitlines() if line.startswith("[")]
    assert found == [table for table in TABLES if table in found]
    assert policy_from_toml(written, base=tmp_path) == policy_from_toml(text, base=tmp_path)
