"""Hostile calls of every command: flags, gates, records and files that nobody should write.

Whatever is given, a command ends in one line of words with exit 2, or goes as far as work would begin: never in a
traceback, never after more than 20 s, never with more than 2 GiB. Work itself is replaced by a marker, so that what is
tested is everything before it. `-s` shows the figures.
"""

import importlib
import io
import json
import pkgutil
import resource
import signal
import string
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, ClassVar, NoReturn

import click
import pytest
from hostile import HOSTILE, INTERNALS, KEYS, NAMES, write_good_files
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import audit
from audit.cli import COMMANDS, LazyGroup, group, main

pytestmark = pytest.mark.slow
MOST_SECONDS, MOST_BYTES = 20, 2 << 30
FLAGS, GATES, RECORDS, FILES = 400, 200, 200, 200


def fuzzed(cases: int) -> settings:
    """So many cases, the same every time."""
    return settings(
        max_examples=cases,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )


# Where work begins.
WORK = (
    "audit.games.membership.pipeline.run_audit",
    "audit.games.transcript.record.run_worst_case",
    "audit.games.visual.run.run_visual",
    "audit.games.visual.released.run_released",
    "audit.games.release.condense_for_release",
    "audit.games.probe.membership.probe_membership",
    "audit.games.probe.worst_case.probe_worst_case",
    "audit.games.bench.run_bench",
    "audit.statistics.plan._plan_estimator",
    "audit.engine.executor.Local.run",
    "audit.engine.executor.InProcess.run",
    "audit.data.download.download",
    "audit.data.weights_package.fetch_backbones",
    "audit.commands.report_pages.write_pages",
    "audit.commands.report_pages.write_pdf",
    "audit.commands.report_pages.write_html",
)


class Started(BaseException):
    """Work would begin now: everything that was given has passed."""


class TooLong(BaseException):
    """The limit of one case."""


class Figures:
    """Of all cases of this file."""

    cases: ClassVar[Counter[str]] = Counter()
    outcomes: ClassVar[Counter[str]] = Counter()
    slowest: ClassVar[tuple[float, str]] = (0.0, "")
    peak_before: ClassVar[int] = 0  # of the process, which other tests may have run in


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with one good file of every kind; work is replaced, and memory limited."""
    path = tmp_path_factory.mktemp("fuzz")

    def begin(*_: Any, **__: Any) -> NoReturn:
        raise Started

    before = resource.getrlimit(resource.RLIMIT_AS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["audit"])  # every case has its own; afterwards it is as it was
        patch.chdir(path)
        write_good_files(path)
        patch.setenv("AUDIT_DATA_ROOT", str(path / "nothing"))
        for name in COMMANDS:
            command_of(name)  # imported before the limit is set
        # A module that is imported for the first time while work is replaced would keep the replacement.
        for found in pkgutil.walk_packages(audit.__path__, "audit."):
            importlib.import_module(found.name)
        for place in WORK:
            patch.setattr(place, begin)
        size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + MOST_BYTES, before[1]))
        Figures.peak_before = peak_bytes()
        try:
            yield path
        finally:
            resource.setrlimit(resource.RLIMIT_AS, before)


def peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def command_of(name: str) -> click.Command:
    assert isinstance(group, LazyGroup)
    command = group.get_command(click.Context(group), name)
    assert command is not None
    return command


@contextmanager
def limited(seconds: int) -> Iterator[None]:
    def stop(*_: object) -> NoReturn:
        raise TooLong

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def check(kind: str, words: list[str]) -> None:
    """Run a command; it must end in words, or where work would begin."""
    out, err, started = io.StringIO(), io.StringIO(), time.process_time()
    sys.argv = ["audit", *words]
    shown = " ".join(word[:60] for word in words)
    try:
        with redirect_stdout(out), redirect_stderr(err), limited(10 * MOST_SECONDS):
            main()
        outcome = "returned"
    except SystemExit as stop:
        outcome = f"exit {stop.code or 0}"
    except Started:
        outcome = "work begins"
    taken = time.process_time() - started
    Figures.cases[kind] += 1
    Figures.outcomes[outcome] += 1
    Figures.slowest = max(Figures.slowest, (taken, shown))
    assert taken < MOST_SECONDS, shown
    assert outcome in ("exit 0", "exit 2", "exit 3", "exit 4", "work begins"), (shown, err.getvalue())
    said = err.getvalue()
    assert "Traceback" not in said
    assert "\x1b" not in said + out.getvalue(), shown
    assert len(said) < 20_000, shown
    lines = said.splitlines()
    assert all(line.startswith("audit: ") for line in lines), (shown, said)
    if outcome == "exit 2" and words[:1] != ["check"]:
        assert out.getvalue() == "" or words[:1] == ["report"], shown
        assert lines, shown
        assert not any(word in lines[-1] for word in INTERNALS), lines


hostile_values = st.sampled_from(HOSTILE) | st.text(max_size=12) | st.integers().map(str) | st.floats().map(str)


# Values that are allowed, so that some calls come as far as others do not.
PLAUSIBLE = {
    "method": "dm real ldpdc ndpdc kip dpsgd cgan",
    "dataset": "digits pool.npz",
    "records": "40 100 200",
    "shadows": "8 16 24",
    "ipc": "1 2",
    "settings": "iterations=2 width=4 depth=1 victim.epochs=1 batch=4",
    "epsilon": "1 8",
    "delta": "0 1e-5",
    "trials": "200 1000",
    "synthetic": "set.npz set.safetensors set.pt",
    "members": "coins.csv",
    "scores": "scores.csv scores.parquet",
    "ledger": "ledger.json",
    "run_directories": "run other",
}


@st.composite
def calls(draw: st.DrawFn) -> list[str]:
    """A command with some of its own options, hostile values, and sometimes a word too many."""
    name = draw(st.sampled_from(list(COMMANDS)))
    words = [name]
    for param in draw(st.lists(st.sampled_from(command_of(name).params), max_size=4)):
        values = hostile_values
        if isinstance(param.type, click.Choice):
            values = st.sampled_from(list(map(str, param.type.choices))) | hostile_values
        elif param.name in PLAUSIBLE:
            values = st.sampled_from(PLAUSIBLE[param.name].split()) | hostile_values
        if isinstance(param, click.Argument):
            words.append(draw(values))
        elif getattr(param, "is_flag", False):
            words.append(draw(st.sampled_from([*param.opts, *param.secondary_opts])))
        else:
            words += [param.opts[0], draw(values)]
    return [*words, *draw(st.lists(hostile_values, max_size=1))] if draw(st.integers(0, 4)) == 0 else words


@fuzzed(FLAGS)
@given(words=calls())
def test_hostile_flags(folder: Path, words: list[str]) -> None:
    assert folder.is_dir()
    check("flags", words)


plain = st.one_of(
    st.sampled_from([*NAMES.split(), ""]),
    st.sampled_from([[], ["auc"], [["auc"]], {}, {"iterations": 5}, {"width": 10**14}]),
    st.integers(),
    st.floats(),
    st.booleans(),
    st.text(string.printable, max_size=8),
)
keys = st.sampled_from(KEYS.split())


def as_toml(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return json.dumps(value)
        case list():
            return f"[{', '.join(map(as_toml, value))}]"
        case dict():
            return "{" + ", ".join(f"{json.dumps(key)} = {as_toml(inner)}" for key, inner in value.items()) + "}"
        case _:
            return str(value)


@st.composite
def gates(draw: st.DrawFn) -> str:
    """Entries with keys that there are and values of any type, or lines of anything."""
    if draw(st.integers(0, 5)) == 0:
        return draw(st.text(max_size=200))
    lines = [f"{key} = {as_toml(draw(plain))}" for key in draw(st.sets(st.sampled_from(["seed", "false_alarm", "x"])))]
    for kind in draw(st.lists(st.sampled_from(["guarantee", "regression"]), max_size=2)):
        entry = {"method": draw(st.sampled_from(["ldpdc", "dm", "real"]))} if draw(st.booleans()) else {}
        entry |= {"epsilon": 1.0} if draw(st.booleans()) else {}
        entry |= {"trials": 200} if kind == "guarantee" and draw(st.booleans()) else {}
        entry |= draw(st.dictionaries(keys, plain, max_size=2))
        lines += [f"[[{kind}]]", *(f"{key} = {as_toml(value)}" for key, value in entry.items())]
    return "\n".join(lines) + "\n"


@fuzzed(GATES)
@given(text=gates(), update=st.booleans())
def test_hostile_gates(folder: Path, text: str, update: bool) -> None:
    (folder / "hostile.toml").write_text(text, encoding="utf-8", errors="surrogatepass")
    check("gates", ["check", "hostile.toml", *(["--update"] if update else [])])


small = st.none() | st.text(max_size=5)
values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.sampled_from([10**400, 1e308, float("nan"), "x" * 100_000, "\x1b[31m", "", -1]),
    st.lists(small, max_size=3),
    st.dictionaries(st.text(max_size=3), small, max_size=3),
)
INSERTED = [b"9" * 400, b"[" * 2000, b"nan", b"\xff\xfe", b",", b"\n"]


def spots(value: Any) -> list[tuple[Any, Any]]:
    """Every place in a JSON value that can be replaced."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [spot for key, inner in pairs for spot in [(value, key), *spots(inner)]]


@fuzzed(RECORDS)
@given(data=st.data())
def test_hostile_records(folder: Path, data: st.DataObject) -> None:
    record = json.loads((folder / "run" / "report.json").read_text())
    for _ in range(data.draw(st.integers(1, 3))):
        places = spots(record)
        holder, key = places[data.draw(st.integers(0, len(places) - 1))]
        if isinstance(holder, dict) and data.draw(st.booleans()):
            del holder[key]
        else:
            holder[key] = data.draw(values)
    (folder / "other").mkdir(exist_ok=True)
    (folder / "other" / "report.json").write_text(json.dumps(record))
    (folder / "other" / "scores.parquet").write_bytes((folder / "run" / "scores.parquet").read_bytes())
    check("records", ["report", "other", *data.draw(st.sampled_from([[], ["run"], ["--show-records"]]))])


READERS: dict[str, Callable[[str], list[str]]] = {
    "pool.npz": lambda name: ["data", name],
    "scores.csv": lambda name: ["epsilon", name],
    "scores.parquet": lambda name: ["epsilon", name],
    "ledger.json": lambda name: ["account", "--ledger", name],
    "set.npz": lambda name: ["utility", "--synthetic", name, "--records", "40"],
    "set.safetensors": lambda name: ["visual", "--synthetic", name, "--records", "40", "--distance", "l2"],
    "set.pt": lambda name: ["utility", "--synthetic", name, "--records", "40"],
    "coins.csv": lambda name: ["condense", "--members", name, "--records", "40", "--out", "release"],
    "audited.txt": lambda name: ["lira", "--audited", name, "--records", "40", "--shadows", "16"],
    "run/report.json": lambda name: ["report", str(Path(name).parent)],
}


@fuzzed(FILES)
@given(data=st.data(), source=st.sampled_from(list(READERS)))
def test_hostile_files(folder: Path, data: st.DataObject, source: str) -> None:
    """A good file with bytes cut out, changed or put in."""
    content = bytearray((folder / source).read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, max(0, len(content) - 1)))
        match data.draw(st.sampled_from(["cut", "change", "insert", "repeat"])):
            case "cut":
                del content[place : place + data.draw(st.sampled_from([1, 10, 1_000_000]))]
            case "change":
                content[place : place + 1] = data.draw(st.binary(min_size=1, max_size=4))
            case "insert":
                content[place:place] = data.draw(st.sampled_from(INSERTED))
            case "repeat":
                content[place:place] = content[place : place + 50] * 3
    path = folder / "damaged" / source
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    check("files", READERS[source](f"damaged/{source}"))


def test_the_figures_of_all_cases(capsys: pytest.CaptureFixture[str]) -> None:
    if sum(Figures.cases.values()) == 0:
        pytest.skip("the cases run in another process")
    peak = peak_bytes()
    with capsys.disabled():
        print(f"\n{dict(Figures.cases)}, {dict(Figures.outcomes)}")
        print(f"slowest {Figures.slowest[0]:.1f} s of processor time: {Figures.slowest[1]}; peak {peak >> 20} MiB")
    assert sum(Figures.cases.values()) >= 500
    assert peak - Figures.peak_before < MOST_BYTES
