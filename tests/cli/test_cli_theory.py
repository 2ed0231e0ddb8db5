import json
import sys

import pytest

from audit.cli import main

SMALL = ("--records", "60", "--ipc", "2", "--iterations", "3")


def run(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["audit", "theory", *arguments])
    with pytest.raises(SystemExit) as stop:
        main()
    printed = capsys.readouterr()
    return stop.value.code, printed.out, printed.err


def test_tables_and_figures(monkeypatch, capsys, tmp_path):
    code, out, err = run(monkeypatch, capsys, *SMALL, "--out", str(tmp_path / "figures"))
    assert code == 0
    assert "Eq. (35)" in out
    assert "(33) does not hold" in out
    assert out.splitlines()[-1] == str(tmp_path / "figures" / "report.pdf")
    assert "no worst case" in out
    assert "audit: 3 condensations" in err
    for name in ("figure6.png", "figure7.png", "leave_one_out.png"):
        assert (tmp_path / "figures" / "figures" / name).read_bytes().startswith(b"\x89PNG")


def test_record_for_machines(monkeypatch, capsys, tmp_path):
    code, out, _ = run(monkeypatch, capsys, *SMALL, "--json", "--show-records", "--out", str(tmp_path))
    record = json.loads(out)
    assert code == 0
    assert len(record["condensations"]) == 6
    assert record["config"]["iterations"] == 3
    assert record["pdf"] == str(tmp_path / "report.pdf")


def test_finished_condensations_are_taken_again(monkeypatch, capsys, tmp_path):
    _, first, _ = run(monkeypatch, capsys, *SMALL, "--json", "--out", str(tmp_path))
    monkeypatch.setattr("audit.games.theory.condense.match_distributions", None)
    code, again, err = run(monkeypatch, capsys, *SMALL, "--json", "--out", str(tmp_path))
    assert (code, again) == (0, first)
    assert "3 of 3 condensations were finished before" in err


def test_bad_input_is_one_line_and_exit_2(monkeypatch, capsys, tmp_path):
    code, out, err = run(monkeypatch, capsys, *SMALL, "--ipc", "0", "--out", str(tmp_path))
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert not any(tmp_path.iterdir())
