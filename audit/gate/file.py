"""`privacy.toml`: which guarantees are given and which figures must not get worse.

    false_alarm = 0.001                 # of the whole file
    seed = 0

    [[guarantee]]                       # is (ε, δ)-DP refuted?
    name = "transcript of ndpdc"
    method = "ndpdc"                    # or "my_module:my_condenser"
    level = "transcript"                # or "set", "model"; unless given, transcript where there is a door, else set
    epsilon = 1.0                       # or claim = "gaussian:sigma=2,rate=.5,steps=10", "gdp:1.2", "laplace:1"
    delta = 1e-5
    trials = 10_000                     # designs = ["alone", "natural"] would try these only

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

import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from audit.data.limits import read_text
from audit.gate.metrics import METRICS
from audit.specs.membership import Lira, Loss, Membership, Rmia
from audit.specs.spec import LONGEST_TEXT, as_settings, check_text, fields_of
from audit.specs.worst_case import WorstCase
from condensers.errors import BadConfig
from condensers.spelling import did_you_mean

DEFAULT_FALSE_ALARM = 1e-3
MOST_BYTES, MOST_DOTS = 64 << 10, 20
MOST = sys.float_info.max  # TOML has whole numbers beyond it
# Public draws behind a recorded figure: its standard error has one degree of freedom fewer.
DEFAULT_DRAWS, FEWEST_DRAWS = 8, 4
OWN_KEYS = {"name", "command", "metrics", "level", "epsilon", "delta", "claim", "designs"}
# What belongs to the gate and not to one of its items.
RESERVED = {"confidence", "seed", "out", "json", "fail_above", "show_records", "jobs"}
RUN_COMMANDS = ("lira", "loss", "rmia")
KINDS: dict[str, type[Membership | WorstCase]] = {
    "lira": Lira,
    "loss": Loss,
    "rmia": Rmia,
    "worst-case": WorstCase,
}
LEVELS = ("transcript", "set", "model")


@dataclass(frozen=True, kw_only=True)
class Item:
    """One entry: what is asked for, but for what the gate decides (confidence and seed)."""

    name: str
    spec: Membership | WorstCase
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
        raw = _parse(path, read_text(path, MOST_BYTES))
    except OSError as error:
        raise BadConfig(f"{path}: {error.strerror or error}; `audit init` writes a file to start from") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadConfig(f"{path}: not TOML: {error}") from None
    _refuse_unknown(path.name, raw, {"false_alarm", "seed", "guarantee", "regression"})
    false_alarm, seed = raw.get("false_alarm", DEFAULT_FALSE_ALARM), raw.get("seed", 0)
    if not isinstance(false_alarm, float) or not 0 < false_alarm < 1:
        raise BadConfig(f"{path.name}: false_alarm={false_alarm!r}: must be a number between 0 and 1")
    if not _is_count(seed) or seed >= 1 << 63:
        raise BadConfig(f"{path.name}: seed={seed!r}: must be a whole number in 0…2^63 − 1")
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


def _parse(path: Path, text: str) -> dict[str, Any]:
    """The tables of the file; what no person writes is refused before the parser spends minutes on it."""
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > LONGEST_TEXT or line.partition("=")[0].count(".") > MOST_DOTS:
            raise BadConfig(f"{path}: line {number} is longer or more deeply nested than is allowed")
    try:
        raw = tomllib.loads(text)
    except RecursionError:
        raise BadConfig(f"{path}: is more deeply nested than is allowed") from None
    for value in _strings(raw):
        check_text(str(path), value)
    return raw


def _strings(value: Any) -> Iterator[str]:
    """All keys and texts."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)


def _tables(path: Path, raw: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    found = raw.get(kind, [])
    if not isinstance(found, list) or not all(isinstance(entry, dict) for entry in found):
        raise BadConfig(f"{path.name}: {kind} must be a list of tables: write [[{kind}]]")
    return [_spelt(entry, f"{path.name}: [[{kind}]] {number}") for number, entry in enumerate(found, 1)]


def _spelt(entry: dict[str, Any], where: str) -> dict[str, Any]:
    """Keys may be written as options are, with hyphens."""
    names = [key.replace("-", "_") for key in entry]
    for name in names:
        if names.count(name) > 1:
            raise BadConfig(f"{where}: {name} is given twice, once with a hyphen; leave one of them out")
    return dict(zip(names, entry.values(), strict=True))


def _guarantee(entry: dict[str, Any], where: str) -> Item:
    method, private = _text(entry, "method", where), _is_private(_text(entry, "method", where))
    level = _text(entry, "level", where, "transcript" if private else "set")
    name = _text(entry, "name", where, f"{method} at level {level}")
    if level not in LEVELS:
        raise BadConfig(f"{where}: level={level!r} is not one of {', '.join(LEVELS)}{did_you_mean(level, LEVELS)}")
    claim, delta = entry.get("claim"), _positive(entry, "delta", where, 1e-5)
    epsilon = None if claim is not None and "epsilon" not in entry else _positive(entry, "epsilon", where)
    if delta >= 1:
        raise BadConfig(f"{where}: delta={delta}: must lie in (0, 1)")
    chosen = level == "transcript" or claim is not None or "designs" in entry or "level" not in entry
    command = _text(entry, "command", where, "worst-case" if chosen else "lira")
    if chosen and command != "worst-case":
        raise BadConfig(
            f"{where}: command={command!r}: this guarantee is tested by worst-case; leave command out, or give "
            'level = "set" or "model", and neither claim nor designs'
        )
    values = {**_values(entry, where), "delta": delta, "level": level}
    if command == "worst-case":
        values |= {"design": _designs(entry, where), "claim": claim if private or claim is not None else epsilon}
    else:
        values["claim"] = epsilon
    if "noise_multiplier" not in entry.get("set", {}) and private and epsilon is not None:
        values["epsilon"] = epsilon
    return Item(name=name, spec=_build(command, values, where), epsilon=epsilon)


def _designs(entry: dict[str, Any], where: str) -> tuple[str, ...]:
    designs = entry.get("designs", [])
    if not isinstance(designs, list) or not all(isinstance(design, str) for design in designs):
        raise BadConfig(f"{where}: designs={designs!r}: must be a list of names (audit worst-case --help)")
    return tuple(designs)


def _regression(entry: dict[str, Any], where: str) -> Item:
    method, command = _text(entry, "method", where), _text(entry, "command", where, "lira")
    name = _text(entry, "name", where, f"{command} {method}")
    metrics = entry.get("metrics")
    texts = isinstance(metrics, list) and all(isinstance(metric, str) for metric in metrics)
    if not texts or not metrics or len(set(metrics)) < len(metrics):
        raise BadConfig(f"{where}: metrics={metrics!r}: must be a list of some of {', '.join(METRICS)}")
    for metric in metrics:
        if metric not in METRICS or METRICS[metric].transcript != (command == "worst-case"):
            fit = [name for name, one in METRICS.items() if one.transcript == (command == "worst-case")]
            raise BadConfig(
                f"{where}: {metric!r} is not a metric of `audit {command}`; there are {', '.join(fit)}"
                f"{did_you_mean(metric, fit)}"
            )
    for key in ("claim", "designs"):
        if key in entry:
            raise BadConfig(f"{where}: {key} belongs to a [[guarantee]]; leave it out")
    values = _values(entry, where)
    values |= {key: entry[key] for key in ("level", "epsilon", "delta") if key in entry}
    if command in RUN_COMMANDS:
        values |= _public_draws(entry, method, where)
    return Item(name=name, spec=_build(command, values, where), metrics=tuple(metrics))


def _public_draws(entry: dict[str, Any], method: str, where: str) -> dict[str, int]:
    """The default number of public draws where an entry names none and its runs share their public randomness.

    The error of a figure given one draw says nothing about another build, whose draws are others.
    """
    from condensers.registry import get_method

    if entry.get("independent_randomness") is True or get_method(method).releases == "network":
        return {}
    draws = entry.get("public_draws", DEFAULT_DRAWS)
    if not _is_count(draws) or draws < FEWEST_DRAWS:
        raise BadConfig(
            f"{where}: public_draws={draws!r}: recorded figures need at least {FEWEST_DRAWS} public draws "
            f"({DEFAULT_DRAWS} unless given)"
        )
    return {"public_draws": draws}


def _values(entry: dict[str, Any], where: str) -> dict[str, Any]:
    """The fields of the specification that an entry gives; `set` is a table of settings."""
    values: dict[str, Any] = {}
    for key, value in entry.items():
        if key in OWN_KEYS:
            continue
        if key in RESERVED:
            raise BadConfig(f"{where}: {key} is decided by the gate; leave it out")
        if key == "set":
            if not isinstance(value, dict):
                raise BadConfig(f"{where}: set={value!r}: must be a table such as {{ iterations = 50 }}")
            values["settings"] = as_settings(value)
        else:
            values[key] = value
    return values


def _build(command: str, values: dict[str, Any], where: str) -> Membership | WorstCase:
    if command not in KINDS:
        raise BadConfig(f"{where}: command={command!r} is not one of {', '.join(KINDS)}{did_you_mean(command, KINDS)}")
    kind = KINDS[command]
    known = [name for name, _ in fields_of(kind)]
    for name in values:
        if name not in known:
            raise BadConfig(
                f"{where}: {name!r} is unknown to `audit {command}`; there are {', '.join(sorted(known))}"
                f"{did_you_mean(name, [*known, *OWN_KEYS, 'set'])}"
            )
    try:
        spec = kind(**values)
        _check_settings(spec)
        return spec
    except BadConfig as error:
        raise BadConfig(f"{where}: {error}") from None


def _check_settings(spec: Membership | WorstCase) -> None:
    """Refuse a setting that neither the method nor what attacks it has, before anything is run or looked up."""
    from attacks.registry import get_attack
    from attacks.victims import VictimConfig
    from audit.games.settings import check_changes
    from condensers.registry import get_method

    owners: dict[str, type] = {"": get_method(spec.method).config}
    if not isinstance(spec, WorstCase):
        owners |= {"victim.": VictimConfig, "attack.": get_attack(spec.COMMAND).config}
    check_changes(dict(spec.settings), owners)


def _is_private(method: str) -> bool:
    from condensers.registry import get_method

    return get_method(method).private


def _text(entry: dict[str, Any], key: str, where: str, default: str | None = None) -> str:
    value = entry.get(key, default)
    if value is None:
        misspelt = next((name for name in entry if did_you_mean(name, [key])), None)
        hint = "" if misspelt is None else f"; {misspelt} is unknown{did_you_mean(misspelt, [key])}"
        raise BadConfig(f"{where}: {key} is missing{hint}")
    if not isinstance(value, str) or not value:
        raise BadConfig(f"{where}: {key}={value!r}: must be text")
    return value


def _positive(entry: dict[str, Any], key: str, where: str, default: float | None = None) -> float:
    value = entry.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= MOST:
        raise BadConfig(f"{where}: {key}={value!r}: must be a positive number")
    return float(value)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _refuse_unknown(name: str, raw: dict[str, Any], known: set[str]) -> None:
    for key in raw:
        if key not in known:
            raise BadConfig(
                f"{name}: {key!r} is unknown; there are {', '.join(sorted(known))}{did_you_mean(key, known)}"
            )
