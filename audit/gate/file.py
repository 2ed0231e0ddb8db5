"""`privacy.toml`: which guarantees are given and which figures must not get worse.

    false_alarm = 0.001                 # of the whole file
    seed = 0

    [[guarantee]]                       # is (ε, δ)-DP refuted?
    name = "ndpdc at the door"
    method = "ndpdc"                    # or "my_module:my_condenser"
    level = "transcript"                # or "set", "model"
    epsilon = 1.0
    delta = 1e-5
    trials = 10_000

    [[regression]]                      # is a figure worse than the recorded one?
    name = "dm on digits"
    command = "lira"                    # or "rmia", "loss", "worst-case"
    method = "dm"
    shadows = 256
    metrics = ["auc", "tpr at fpr 0.01", "epsilon", "accuracy"]

A figure is measured over several draws of the public randomness, 8 unless `public_draws` says otherwise. Every other
key is an option of the command of that name (`audit lira --help`), and `set` is a table of settings. So what the file
says is checked by the same code as what is typed.
"""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from audit.gate.metrics import METRICS
from condensers.errors import BadConfig

DEFAULT_FALSE_ALARM = 1e-3
# Public draws behind a recorded figure: its standard error has one degree of freedom fewer.
DEFAULT_DRAWS, FEWEST_DRAWS = 8, 4
OWN_KEYS = {"name", "command", "metrics", "level", "epsilon", "delta"}
# What belongs to the gate and not to one of its items.
RESERVED = {"confidence", "seed", "out", "json", "fail-above", "claim", "show-records", "jobs"}
RUN_COMMANDS = ("lira", "loss", "rmia")
LEVELS = ("transcript", "set", "model")


@dataclass(frozen=True, kw_only=True)
class Item:
    """One entry. `arguments` are those of `audit COMMAND`, but for what the gate decides (confidence, seed, folder)."""

    name: str
    command: str
    arguments: tuple[str, ...]
    epsilon: float | None = None
    metrics: tuple[str, ...] = ()

    @property
    def num_tests(self) -> int:
        return len(self.metrics) or 1


@dataclass(frozen=True, kw_only=True)
class Gate:
    """A file, checked as far as it can be without running anything."""

    path: Path
    false_alarm: float
    seed: int
    items: tuple[Item, ...]

    @property
    def significance(self) -> float:
        """Of each test: Bonferroni over all tests of the file."""
        return self.false_alarm / sum(item.num_tests for item in self.items)

    @property
    def baseline(self) -> Path:
        return self.path.with_suffix(".baseline.json")


def read_gate(path: Path) -> Gate:
    """Read a file; one line for whatever is wrong with it."""
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadConfig(f"{path}: {error.strerror or error}; `audit init` writes a file to start from") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadConfig(f"{path}: not TOML: {error}") from None
    _refuse_unknown(path.name, raw, {"false_alarm", "seed", "guarantee", "regression"})
    false_alarm, seed = raw.get("false_alarm", DEFAULT_FALSE_ALARM), raw.get("seed", 0)
    if not isinstance(false_alarm, float) or not 0 < false_alarm < 1:
        raise BadConfig(f"{path.name}: false_alarm={false_alarm!r}: must be a number between 0 and 1")
    if not _is_count(seed):
        raise BadConfig(f"{path.name}: seed={seed!r}: must be a whole number, 0 or more")
    items = [
        make(entry, f"{path.name}: [[{kind}]] {number}")
        for kind, make in (("guarantee", _guarantee), ("regression", _regression))
        for number, entry in enumerate(_tables(path, raw, kind), 1)
    ]
    if not items:
        raise BadConfig(f"{path.name}: neither a [[guarantee]] nor a [[regression]]; `audit init` shows how they look")
    names = [item.name for item in items]
    for name in names:
        if names.count(name) > 1:
            raise BadConfig(f"{path.name}: two entries are named {name!r}; give each a name of its own")
    return Gate(path=path, false_alarm=false_alarm, seed=seed, items=tuple(items))


def _tables(path: Path, raw: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    found = raw.get(kind, [])
    if not isinstance(found, list) or not all(isinstance(entry, dict) for entry in found):
        raise BadConfig(f"{path.name}: {kind} must be a list of tables: write [[{kind}]]")
    return found


def _guarantee(entry: dict[str, Any], where: str) -> Item:
    method, level = _text(entry, "method", where), _text(entry, "level", where, "transcript")
    name = _text(entry, "name", where, f"{method} at level {level}")
    if level not in LEVELS:
        raise BadConfig(f"{where}: level={level!r} is not one of {', '.join(LEVELS)}")
    epsilon, delta = _positive(entry, "epsilon", where), _positive(entry, "delta", where, 1e-5)
    if delta >= 1:
        raise BadConfig(f"{where}: delta={delta}: must lie in (0, 1)")
    command = "worst-case" if level == "transcript" else _text(entry, "command", where, "lira")
    arguments = [*_arguments(entry, where), "--delta", repr(delta)]
    if level != "transcript":
        arguments += ["--level", level, "--claim", repr(epsilon)]
    if "noise_multiplier" not in entry.get("set", {}) and _is_private(method):
        arguments += ["--epsilon", repr(epsilon)]
    return _checked(Item(name=name, command=command, arguments=tuple(arguments), epsilon=epsilon), where)


def _regression(entry: dict[str, Any], where: str) -> Item:
    method, command = _text(entry, "method", where), _text(entry, "command", where, "lira")
    name = _text(entry, "name", where, f"{command} {method}")
    metrics = entry.get("metrics")
    if not isinstance(metrics, list) or not metrics or len(set(map(str, metrics))) < len(metrics):
        raise BadConfig(f"{where}: metrics={metrics!r}: must be a list of some of {', '.join(METRICS)}")
    for metric in metrics:
        if metric not in METRICS or METRICS[metric].transcript != (command == "worst-case"):
            fit = [name for name, one in METRICS.items() if one.transcript == (command == "worst-case")]
            raise BadConfig(f"{where}: {metric!r} is not a metric of `audit {command}`; there are {', '.join(fit)}")
    arguments = _arguments(entry, where)
    for option in ("level", "epsilon", "delta"):
        if option in entry:
            arguments += [f"--{option}", str(entry[option])]
    if command in RUN_COMMANDS:
        arguments += _public_draws(entry, method, where)
    return _checked(Item(name=name, command=command, arguments=tuple(arguments), metrics=tuple(metrics)), where)


def _public_draws(entry: dict[str, Any], method: str, where: str) -> list[str]:
    """The default number of public draws where an entry names none and its runs share their public randomness.

    The error of a figure given one draw says nothing about another build, whose draws are others.
    """
    from condensers.registry import get_method

    if entry.get("independent_randomness") is True or get_method(method).releases == "network":
        return []
    draws = entry.get("public_draws", DEFAULT_DRAWS)
    if not _is_count(draws) or draws < FEWEST_DRAWS:
        raise BadConfig(
            f"{where}: public_draws={draws!r}: recorded figures need at least {FEWEST_DRAWS} public draws "
            f"({DEFAULT_DRAWS} unless given)"
        )
    return [] if "public_draws" in entry else ["--public-draws", str(draws)]


def _arguments(entry: dict[str, Any], where: str) -> list[str]:
    """Keys as options of the command: true is a flag, a table of settings is `--set` again and again."""
    arguments: list[str] = []
    for key, value in entry.items():
        option = key.replace("_", "-")
        if key in OWN_KEYS:
            continue
        if option in RESERVED:
            raise BadConfig(f"{where}: {key} is decided by the gate; leave it out")
        if key == "set":
            if not isinstance(value, dict):
                raise BadConfig(f"{where}: set={value!r}: must be a table such as {{ iterations = 50 }}")
            arguments += [part for name, one in value.items() for part in ("--set", f"{name}={_plain(one)}")]
        elif value is True:
            arguments.append(f"--{option}")
        elif value is not False:
            arguments += [f"--{option}", _plain(value)]
    return arguments


def _plain(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _checked(item: Item, where: str) -> Item:
    """Have the command itself look at the arguments."""
    if item.command not in (*RUN_COMMANDS, "worst-case"):
        raise BadConfig(f"{where}: command={item.command!r} is not one of {', '.join((*RUN_COMMANDS, 'worst-case'))}")
    try:
        flags_of(item.command, item.arguments)
    except click.ClickException as error:
        raise BadConfig(f"{where}: {error.format_message()}") from None
    return item


def flags_of(command: str, arguments: tuple[str, ...]) -> dict[str, Any]:
    """What `audit COMMAND ARGUMENTS` would be called with."""
    from audit.cli import group

    found = group.get_command(click.Context(group), command)
    if found is None:
        raise BadConfig(f"command {command!r}: this version has none of that name")
    return found.make_context(command, list(arguments)).params


def _is_private(method: str) -> bool:
    from condensers.registry import get_method

    return get_method(method).private


def _text(entry: dict[str, Any], key: str, where: str, default: str | None = None) -> str:
    value = entry.get(key, default)
    if not isinstance(value, str) or not value:
        raise BadConfig(f"{where}: {key} is missing or no text")
    return value


def _positive(entry: dict[str, Any], key: str, where: str, default: float | None = None) -> float:
    value = entry.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
        raise BadConfig(f"{where}: {key}={value!r}: must be a positive number")
    return float(value)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _refuse_unknown(name: str, raw: dict[str, Any], known: set[str]) -> None:
    for key in raw:
        if key not in known:
            raise BadConfig(f"{name}: {key!r} is unknown; there are {', '.join(sorted(known))}")
