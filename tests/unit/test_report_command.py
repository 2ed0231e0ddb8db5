"""`audit report` on run directories, good and bad: the exit code and the one line."""

import errno
import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from test_report_simulation import simulate_report

from audit.cli import main
from audit.data.load import load_pool, pool_checksum
from audit.engine.store import RunDirectory, write_tensors
from reports.documents.blocks import Document
from reports.documents.kinds import build_document
from reports.documents.membership import MembershipMaterial
from reports.records.gallery import Gallery
from reports.records.schema import dump, load

RECORDS = 60


@pytest.fixture
def directory(tmp_path: Path) -> RunDirectory:
    return write_run(tmp_path / "lira-dm-digits-1", initial=-1)


def write_run(path: Path, *, initial: int) -> RunDirectory:
    """A finished run on 60 digits; `initial` is the record that every synthetic image started from, −1 for noise."""
    report, scores = simulate_report(runs=8, records=RECORDS)
    pool = load_pool("digits", records=RECORDS)
    exposed = tuple(replace(entry, label=int(pool.labels[entry.record])) for entry in report.exposed)
    config = {"dataset": "digits", "records": RECORDS, "data_checksum": pool_checksum(pool)}
    directory = RunDirectory(path)
    directory.shards.mkdir(parents=True)
    directory.report.write_text(dump(replace(report, exposed=exposed, config=config)), encoding="utf-8")
    scores.to_parquet(directory.scores, index=False)
    images = torch.from_numpy(np.random.default_rng(0).uniform(-1, 1, (2, 10, 1, 8, 8)).astype(np.float32))
    shard = {
        "images": images,
        "labels": torch.arange(10).repeat(2, 1),
        "initial_records": torch.full((2, 10), initial),
    }
    write_tensors(directory.shard(0), shard, digest=report.digest)
    return directory


def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    monkeypatch.setattr(sys, "argv", ["audit", "report", *arguments])
    with pytest.raises(SystemExit) as stop:
        main()
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err
    return int(stop.value.code or 0), captured.out, captured.err


def num_images(directory: RunDirectory) -> int:
    drawn = directory.pdf.read_bytes()
    return drawn.count(b"/Subtype /Image") - drawn.count(b"/SMask")  # the mask of an image is an image as well


def test_redraws_with_and_without_real_records_against_image_count(directory, monkeypatch, capsys) -> None:
    code, out, _ = run(monkeypatch, capsys, str(directory.path))
    assert (code, out) == (0, f"{directory.pdf}\n{directory.html}\n")
    assert num_images(directory) == 1
    code, out, _ = run(monkeypatch, capsys, str(directory.path), "--show-records", "--json")
    assert code == 0
    assert json.loads(out)["reports"][0]["pdf"] == str(directory.pdf)
    assert num_images(directory) == 3


@pytest.fixture
def galleries(monkeypatch: pytest.MonkeyPatch) -> list[Gallery]:
    """What would have been drawn."""
    found: list[Gallery] = []

    def keep(material: MembershipMaterial) -> Document:
        found.append(material.gallery)
        return build_document(material)

    monkeypatch.setattr("audit.commands.report_pages.build_document", keep)
    return found


def test_a_set_made_of_real_records_is_drawn_only_on_demand_against_gallery(
    tmp_path, galleries, monkeypatch, capsys
) -> None:
    directory = write_run(tmp_path / "lira-real-digits-1", initial=3)
    assert run(monkeypatch, capsys, str(directory.path))[0] == 0
    assert run(monkeypatch, capsys, str(directory.path), "--show-records")[0] == 0
    hidden, shown = galleries
    assert hidden.synthetic is None
    assert hidden.exposed is None
    assert "--show-records" in hidden.note
    assert shown.synthetic is not None
    assert shown.exposed is not None


def test_shown_records_are_those_of_the_report_against_pool(directory, galleries, monkeypatch, capsys) -> None:
    assert run(monkeypatch, capsys, str(directory.path), "--show-records")[0] == 0
    records = [entry.record for entry in load(directory.report.read_text(encoding="utf-8")).exposed]
    pool = load_pool("digits", records=RECORDS)
    expected = (pool.images[records].numpy() + 1) / 2
    assert galleries[0].exposed == pytest.approx(expected.transpose(0, 2, 3, 1))


def test_redraws_without_shards_against_note(directory, galleries, monkeypatch, capsys) -> None:
    directory.shard(0).unlink()
    assert run(monkeypatch, capsys, str(directory.path))[0] == 0
    assert galleries[0].synthetic is None
    assert "no shards" in galleries[0].note


def spoil_nothing(directory: RunDirectory) -> None:
    for path in (directory.report, directory.scores):
        path.unlink()


def start_run(directory: RunDirectory) -> None:
    directory.report.unlink()
    directory.config.write_text("{}", encoding="utf-8")


def change_data(directory: RunDirectory) -> None:
    text = directory.report.read_text(encoding="utf-8")
    directory.report.write_text(text.replace('"data_checksum": "', '"data_checksum": "0'), encoding="utf-8")


def change_schema(directory: RunDirectory) -> None:
    text = directory.report.read_text(encoding="utf-8")
    directory.report.write_text(text.replace("condensation-audit/1", "condensation-audit/0"), encoding="utf-8")


def swap_scores(directory: RunDirectory) -> None:
    simulate_report(runs=8, records=RECORDS, leak=0.0)[1].to_parquet(directory.scores, index=False)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-200])


@pytest.mark.parametrize(
    ("spoil", "says", "options"),
    [
        (spoil_nothing, "not a run directory", ()),
        (start_run, "not finished", ()),
        (lambda directory: directory.report.write_text("{"), "not JSON", ()),
        (change_schema, "this version reads", ()),
        (lambda directory: directory.scores.unlink(), "no scores.parquet", ()),
        (lambda directory: cut(directory.scores), "not a score table", ()),
        (swap_scores, "not of the same audit", ()),
        (lambda directory: cut(directory.shard(0)), "cannot be read", ()),
        (change_data, "is not what was audited", ("--show-records",)),
    ],
)
def test_a_bad_directory_is_one_line_and_exit_2_against_cases(
    spoil, says: str, options: tuple[str, ...], directory, monkeypatch, capsys
) -> None:
    spoil(directory)
    code, out, err = run(monkeypatch, capsys, str(directory.path), *options)
    assert (code, out) == (2, "")
    assert says in err
    assert err.count("\n") == 1
    assert not directory.pdf.exists()


def test_a_missing_directory_stops_all_before_anything_is_drawn_against_files(directory, monkeypatch, capsys) -> None:
    code, _, err = run(monkeypatch, capsys, str(directory.path), str(directory.path.parent / "nowhere"))
    assert code == 2
    assert "nowhere: no such directory" in err
    assert not directory.pdf.exists()


@pytest.mark.parametrize(("number", "expected"), [(errno.EACCES, 2), (errno.EROFS, 2), (errno.ENOSPC, 3)])
def test_a_folder_that_cannot_be_written_is_one_line_against_exit_code(
    number: int, expected: int, directory, monkeypatch, capsys
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    directory.shard(0).unlink()
    monkeypatch.setattr("audit.engine.pages.write_pdf", refuse)
    code, _, err = run(monkeypatch, capsys, str(directory.path))
    assert code == expected
    assert f"cannot write {directory.pdf}" in err
    assert err.count("\n") == 1
