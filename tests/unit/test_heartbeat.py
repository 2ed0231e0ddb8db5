"""Nothing is silent for long: a sign of life from the command line, and bars of work that is mostly quick."""

import sys
import time

import pytest

from audit.accounting import calibrate
from audit.accounting.events import subsampled_gaussian
from audit.engine import heartbeat, progress
from audit.engine.progress import ProgressBar, listening
from audit.statistics.plan import make_plan


def test_silence_is_broken_and_speech_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    with heartbeat.heartbeat(silence=0.2):
        for _ in range(4):
            print("audit: scoring", file=sys.stderr)
            time.sleep(0.05)
        assert "still working" not in capsys.readouterr().err
        time.sleep(0.7)
    said = capsys.readouterr().err.splitlines()
    assert 2 <= len(said) <= 4
    assert all(line.startswith("audit: still working after ") and line.endswith("(scoring)") for line in said)


def test_no_limit_exceeds_five_seconds() -> None:
    assert progress.PLAIN_SECONDS < heartbeat.SILENCE < 5


def test_stderr_is_given_back_after_an_error() -> None:
    before = sys.stderr
    with pytest.raises(KeyError), heartbeat.heartbeat():
        raise KeyError
    assert sys.stderr is before


def test_a_quick_bar_says_nothing_and_a_slow_one_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    with listening(said.append):
        with ProgressBar("calibrating", {0: 1}, announced=False) as bar:
            bar.update(0, 0.5)
        assert said == []
        monkeypatch.setattr(progress, "PLAIN_SECONDS", 0.0)
        with ProgressBar("calibrating", {0: 1}, announced=False) as bar:
            bar.update(0, 0.5)
    assert [line.split(",")[0] for line in said] == ["calibrating: 50%"]
    assert "left" in said[0]


def test_plan_and_calibration_say_how_far_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PLAIN_SECONDS", 0.0)
    said: list[str] = []
    with listening(said.append):
        make_plan(epsilon=4.0, delta=1e-5, tightness=0.5, confidence=0.95, unit="run")
        assert len(said) > 3
        assert all(line.startswith("planning: ") for line in said)
        said.clear()
        calibrate.calibrate_noise(
            2.0, 1e-5, lambda noise: subsampled_gaussian(sampling_rate=1.0, noise_multiplier=noise, steps=1), "rdp"
        )
    assert said
    assert all(line.startswith("calibrating the noise to ε = 2: ") for line in said)
