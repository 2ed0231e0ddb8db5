"""`audit account`: the analytic ε of a published method, of a mechanism, or of a ledger of events."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from audit.accounting.class_sizes import CLASS_SIZES
from audit.accounting.published import METHODS, Published, Setting, actual_event, claimed_event
from condensers.errors import BadConfig, BadData

if TYPE_CHECKING:
    from dp_accounting.dp_event import DpEvent

FALSE_POSITIVE_RATES = (1e-4, 1e-3, 1e-2, 1e-1)


@click.command(short_help="Analytic epsilon of a method or a mechanism (RDP and PLD).")
@click.option(
    "--method", help=f"A published method with its settings ({', '.join(METHODS)}), or your own file.py:name."
)
@click.option("--gaussian", is_flag=True, help="A (sub)sampled Gaussian mechanism: --rate, --sigma, --steps.")
@click.option("--ledger", type=click.Path(path_type=Path), help="A JSON file with the event that ran.")
@click.option("--dataset", type=click.Choice(list(CLASS_SIZES)), help="Its class sizes; the data are not needed.")
@click.option("--class-sizes", metavar="N,N,...", help="Class sizes of your own data, instead of --dataset.")
@click.option("--ipc", type=int, help="Synthetic images per class.")
@click.option("--batch", type=int, help="Expected records in a sample (per class where the method samples per class).")
@click.option("--noise-multiplier", "--sigma", "noise_multiplier", type=float, help="Noise / sensitivity.")
@click.option("--steps", type=int, help="Number of releases.")
@click.option("--rate", type=float, help="With --gaussian: sampling rate in (0, 1]. [default: 1]")
@click.option(
    "--sampling",
    type=click.Choice(["poisson", "fixed"]),
    default="poisson",
    show_default=True,
    help="With --gaussian. fixed: without replacement; a record is replaced, so the sensitivity is twice the clip.",
)
@click.option("--delta", type=float, default=1e-5, show_default=True)
@click.option("--epsilon", "target", type=float, help="Find the noise multiplier that keeps to this epsilon.")
@click.option(
    "--accountant",
    type=click.Choice(["rdp", "pld"]),
    default="rdp",
    show_default=True,
    help="With --epsilon: whose epsilon is kept to. rdp is what the papers used; pld needs less noise.",
)
@click.option("--conversion", type=click.Choice(["balle", "mironov"]), default="balle", show_default=True)
@click.option("--curve", is_flag=True, help="Also the largest true-positive rates that the guarantee allows.")
@click.option("--cross-check", is_flag=True, help="Also Opacus' RDP and PRV (imports torch).")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def account(as_json: bool, **flags: Any) -> None:
    """Compute what a mechanism's proof guarantees: epsilon at a given delta, by RDP and by PLD.

    \b
    audit account --method ldpdc --dataset mnist
    audit account --gaussian --rate 0.01 --sigma 1.1 --steps 1000
    """
    result = perform_account(**flags)
    click.echo(json.dumps(result, indent=2, ensure_ascii=False) if as_json else _format(result))


def perform_account(
    method: str | None,
    gaussian: bool,
    ledger: Path | None,
    conversion: str,
    delta: float,
    curve: bool,
    cross_check: bool,
    **options: Any,
) -> dict[str, Any]:
    """What `audit account` prints."""
    if (method is not None) + gaussian + (ledger is not None) != 1:
        raise BadConfig("give one of --method NAME, --gaussian and --ledger FILE")
    if not 0 < delta < 1:
        raise BadConfig(f"--delta {delta:g}: must lie in (0, 1)")
    if options["target"] is not None and not 0 < options["target"] < float("inf"):
        raise BadConfig(f"--epsilon {options['target']:g}: must be a finite number above 0")
    by_rdp = "rdp" if conversion == "balle" else f"rdp-{conversion}"
    options["calibrated_by"] = by_rdp if options["accountant"] == "rdp" else "pld"
    if method is not None and method not in METHODS and ":" not in method:
        raise BadConfig(f"--method {method!r}: is not one of {', '.join(METHODS)}; one of your own is file.py:name")
    if curve and method in METHODS and options["dataset"] in METHODS[method].private_share:
        raise BadConfig("--curve: of the auxiliary generator only an (epsilon, delta) point is known, no curve")
    if method is not None and method not in METHODS:
        result = _plugin(method, delta, conversion, options)
    elif method is not None:
        result = _method(method, METHODS[method], delta, conversion, options)
    elif ledger is not None:
        result = _ledger(ledger, delta, conversion, options)
    else:
        result = _gaussian(delta, conversion, options)
    event, share = result.pop("event"), result.pop("share", 1.0)
    if cross_check:
        result["cross_checks"] = _cross_checks(event, delta * share, result.get("auxiliary_epsilon", 0.0))
    if curve:
        result["largest_true_positive_rate"] = _largest_true_positive_rates(event)
    return result


def _plugin(name: str, delta: float, conversion: str, options: dict[str, Any]) -> dict[str, Any]:
    """What the plan of a method of one's own costs, with its own settings but for those that are given."""
    from dataclasses import fields

    from audit.accounting.events import neighbouring_relation
    from audit.accounting.ledger import calibrate_method, ledger_event
    from condensers.registry import explained, get_method

    _refuse(options, ("rate", "steps"), "--method of your own")
    method = get_method(name)
    if method.plan is None:
        raise BadConfig(
            f"--method {name}: it has no plan, so nothing is known of what it releases; give @condenser one"
        )
    known = {field.name for field in fields(method.config)}
    given = {key: options[key] for key in ("ipc", "batch", "noise_multiplier") if options[key] is not None}
    for key in given:
        if key not in known:
            raise BadConfig(f"--{key.replace('_', '-')}: the config of {name} has no field {key}")
    config, sizes = method.config(**given), tuple(float(size) for size in _class_sizes(options))
    if options["target"] is not None:
        config = calibrate_method(method, config, sizes, epsilon=options["target"], delta=delta)
    with explained(method):
        event = ledger_event(method.plan(config, sizes))
    found = _epsilons(event, delta, 1.0, 0.0, conversion)
    return {
        "method": name,
        "dataset": options["dataset"],
        **found,
        "noise_multiplier": config.noise_multiplier,
        "calibrated_by": "pld" if options["target"] is not None else None,
        "steps": found["releases"],
        "adjacency": neighbouring_relation(event),
        "conversion": conversion,
        "event": event,
    }


def _method(name: str, method: Published, delta: float, conversion: str, options: dict[str, Any]) -> dict[str, Any]:
    from audit.accounting.events import neighbouring_relation

    _refuse(options, ("rate",), "--method")
    images = method.images_per_class if options["ipc"] is None else _positive(options["ipc"], "--ipc")
    target = method.target_epsilon if options["target"] is None else options["target"]
    share = method.private_share.get(options["dataset"] or "", 1.0)
    steps = method.steps(images, target) if options["steps"] is None else _positive(options["steps"], "--steps")
    batch = method.batch if options["batch"] is None else _positive(options["batch"], "--batch")
    sizes = _class_sizes(options)

    def setting(noise: float) -> Setting:
        return Setting(class_sizes=sizes, batch=batch, noise_multiplier=noise, steps=steps)

    calibrated = options["noise_multiplier"] is None and (
        options["target"] is not None or method.noise_multiplier is None
    )
    noise = _noise_multiplier(
        lambda value: claimed_event(method, setting(value)),
        options["noise_multiplier"] if options["noise_multiplier"] is not None else method.noise_multiplier,
        (target * share if calibrated else None, delta * share),
        options,
    )
    event = claimed_event(method, setting(noise))
    auxiliary = target * (1 - share)
    unchanged = all(options[key] is None for key in ("ipc", "batch", "noise_multiplier", "steps", "target"))
    printed = method.printed.get(options["dataset"]) if unchanged and delta == 1e-5 else None
    result = {
        "method": name,
        "dataset": options["dataset"],
        **_epsilons(event, delta, share, auxiliary, conversion),
        "noise_multiplier": noise,
        "accounted_noise": noise * method.accounted_noise_factor,
        "calibrated_by": options["calibrated_by"] if calibrated else None,
        "steps": steps,
        "batch": batch,
        "images_per_class": images,
        "adjacency": method.adjacency or neighbouring_relation(event),
        "conversion": conversion,
        "auxiliary_epsilon": auxiliary,
        "status": method.status,
        "theorem": method.theorem,
        "source": method.source,
        "note": method.note,
        "printed_epsilon": printed,
        "printed_by": None if printed is None else method.printed_by,
        "printed_conversion": method.conversion,
        "actual": None,
        "event": event,
        "share": share,
    }
    actual = actual_event(method, setting(noise), images)
    if actual is not None and method.actual is not None:
        costs = _epsilons(actual, delta, share, auxiliary, conversion)
        result["actual"] = {"reason": method.actual.reason, "attained_by": method.actual.attained_by, **costs}
    return result


def _gaussian(delta: float, conversion: str, options: dict[str, Any]) -> dict[str, Any]:
    from audit.accounting.events import fixed_size_gaussian, neighbouring_relation, subsampled_gaussian

    _refuse(options, ("dataset", "class_sizes", "ipc", "batch"), "--gaussian")
    rate = 1.0 if options["rate"] is None else options["rate"]
    if not 0 < rate <= 1:
        raise BadConfig(f"--rate {rate:g}: must lie in (0, 1]")
    steps = 1 if options["steps"] is None else _positive(options["steps"], "--steps")

    def build(noise: float) -> DpEvent:
        if options["sampling"] == "poisson":
            return subsampled_gaussian(sampling_rate=rate, noise_multiplier=noise, steps=steps)
        exact = Fraction(rate).limit_denominator(10**12)
        return fixed_size_gaussian(
            population=exact.denominator, batch=exact.numerator, noise_multiplier=noise, steps=steps
        )

    noise = _noise_multiplier(build, options["noise_multiplier"], (options["target"], delta), options)
    event = build(noise)
    return {
        "method": "gaussian",
        "dataset": None,
        **_epsilons(event, delta, 1.0, 0.0, conversion),
        "noise_multiplier": noise,
        "calibrated_by": None if options["target"] is None else options["calibrated_by"],
        "steps": steps,
        "sampling": options["sampling"],
        "adjacency": neighbouring_relation(event),
        "conversion": conversion,
        "event": event,
    }


def _ledger(path: Path, delta: float, conversion: str, options: dict[str, Any]) -> dict[str, Any]:
    from audit.accounting.events import event_from_json, neighbouring_relation

    _refuse(
        options, tuple(name for name in options if name not in ("sampling", "accountant", "calibrated_by")), "--ledger"
    )
    try:
        record = json.loads(path.read_text())
    except (OSError, ValueError, RecursionError) as error:
        raise BadData(f"--ledger {path}: {error}") from None
    event = event_from_json(record)
    return {
        "method": "ledger",
        "dataset": None,
        **_epsilons(event, delta, 1.0, 0.0, conversion),
        "adjacency": neighbouring_relation(event),
        "conversion": conversion,
        "event": event,
    }


def _noise_multiplier(
    build: Any, given: float | None, target: tuple[float | None, float], options: dict[str, Any]
) -> float:
    from audit.accounting.calibrate import calibrate_noise

    if options["noise_multiplier"] is not None and options["target"] is not None:
        raise BadConfig("--epsilon asks for a noise multiplier: do not give --noise-multiplier as well")
    if target[0] is not None:
        return calibrate_noise(target[0], target[1], build, options["calibrated_by"])
    if given is None:
        raise BadConfig("give --noise-multiplier, or --epsilon to have it computed")
    return given


def _epsilons(event: DpEvent, delta: float, share: float, auxiliary: float, conversion: str) -> dict[str, Any]:
    from audit.accounting.epsilon import epsilon_pld, epsilon_rdp
    from audit.accounting.events import num_releases, worst_sampling_rate

    return {
        "epsilon_rdp": auxiliary + epsilon_rdp(event, delta * share, conversion=conversion),
        "epsilon_pld": auxiliary + epsilon_pld(event, delta * share),
        "delta": delta,
        "sampling_rate": worst_sampling_rate(event),
        "releases": num_releases(event),
    }


def _cross_checks(event: DpEvent, delta: float, auxiliary: float) -> dict[str, float]:
    from audit.accounting.epsilon import epsilon_prv_opacus, epsilon_rdp_opacus

    return {
        "rdp_opacus": auxiliary + epsilon_rdp_opacus(event, delta),
        "prv_opacus": auxiliary + epsilon_prv_opacus(event, delta),
    }


def _largest_true_positive_rates(event: DpEvent) -> dict[str, float]:
    import numpy as np

    from audit.accounting.curve import tradeoff_curve

    missed = tradeoff_curve(event).false_negative_rate(np.array(FALSE_POSITIVE_RATES))
    return {f"{rate:g}": float(1 - least) for rate, least in zip(FALSE_POSITIVE_RATES, missed, strict=True)}


def _class_sizes(options: dict[str, Any]) -> tuple[int, ...]:
    if (options["dataset"] is None) == (options["class_sizes"] is None):
        raise BadConfig(f"give one of --dataset ({', '.join(CLASS_SIZES)}) and --class-sizes N,N,...")
    if options["dataset"] is not None:
        return CLASS_SIZES[options["dataset"]]
    try:
        return tuple(_positive(int(size), "--class-sizes") for size in options["class_sizes"].split(","))
    except ValueError:
        raise BadConfig(f"--class-sizes {options['class_sizes']}: must be whole numbers parted by commas") from None


def _positive(value: int, name: str) -> int:
    if value < 1:
        raise BadConfig(f"{name} {value}: must be at least 1")
    return value


def _refuse(options: dict[str, Any], names: tuple[str, ...], kind: str) -> None:
    for name in names:
        if options[name] is not None:
            flag = {"target": "epsilon"}.get(name, name.replace("_", "-"))
            raise BadConfig(f"--{flag} does not go with {kind}")


def _format(result: dict[str, Any]) -> str:
    def row(label: str, value: Any) -> str:
        return f"{label:<20}{value:.6g}" if isinstance(value, float) else f"{label:<20}{value}"

    hidden = {"actual", "cross_checks", "largest_true_positive_rate"}
    hidden |= set() if result.get("auxiliary_epsilon") else {"auxiliary_epsilon"}
    hidden |= {"printed_conversion"} if result.get("printed_epsilon") is None else set()
    hidden |= {"accounted_noise"} if result.get("accounted_noise") == result.get("noise_multiplier") else set()
    shown = [name for name in result if name not in hidden]
    lines = [row(name.replace("_", " "), result[name]) for name in shown if result[name] not in (None, "")]
    if result.get("actual"):
        actual = result["actual"]
        lines.append(row("what really runs", actual["reason"]))
        lines.append(row("", f"epsilon rdp {actual['epsilon_rdp']:.6g}, epsilon pld {actual['epsilon_pld']:.6g}"))
    for name, value in result.get("cross_checks", {}).items():
        lines.append(row(name.replace("_", " "), value))
    for rate, value in result.get("largest_true_positive_rate", {}).items():
        lines.append(row(f"TPR at FPR {rate}", f"at most {value:.6g}"))
    return "\n".join(lines)
