"""`audit methods`: what the registries hold, for people and for machines."""

import json
import sys
from dataclasses import fields

import pytest

from attacks.registry import all_attacks
from audit.cli import main
from condensers.registry import all_methods


def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    monkeypatch.setattr(sys, "argv", ["audit", "methods", *arguments])
    with pytest.raises(SystemExit) as stop:
        main()
    printed = capsys.readouterr()
    assert stop.value.code == 0
    assert printed.err == ""
    return printed.out


def test_json_against_the_registries(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(run(monkeypatch, capsys, "--json"))
    assert [entry["name"] for entry in found["condensers"]] == list(all_methods())
    assert [entry["name"] for entry in found["attacks"]] == list(all_attacks())
    for entry in found["condensers"]:
        method = all_methods()[entry["name"]]
        assert entry["summary"] == method.summary
        assert entry["presets"] == method.presets
        defaults = {setting["name"]: setting["default"] for setting in entry["settings"]}
        assert defaults == {field.name: field.default for field in fields(method.config)}
    for entry in found["attacks"]:
        attack = all_attacks()[entry["name"]]
        assert entry["summary"] == attack.summary
        assert entry["needs_fit_runs"] == attack.needs_fit_runs
        assert [setting["name"] for setting in entry["settings"]] == [field.name for field in fields(attack.config)]


def test_people_see_every_setting(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    text = run(monkeypatch, capsys)
    lines = text.splitlines()
    assert all(len(line) <= 120 for line in lines)
    found = json.loads(run(monkeypatch, capsys, "--json"))
    for entry in [*found["condensers"], *found["attacks"]]:
        assert any(line.startswith(f"{entry['name']}  {entry['summary']}") for line in lines)
    for entry in [*found["condensers"], found["victims"], *found["attacks"]]:
        for setting in entry["settings"]:
            assert f"  {setting['flag']}" in text
    assert any(line.split() == ["--set", "iterations=", "int", "20000", "(quick:", "300)"] for line in lines)
