"""`audit lira`, `audit rmia` and `audit loss`: an attack on condensations of random halves of a pool."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from audit.commands.released_options import KNOWN_RANDOMNESS, with_released_options
from condensers.errors import BadConfig

OPTIONS: list[Callable[[Callable[..., Any]], Callable[..., Any]]] = [
    click.option("--method", default="dm", show_default=True,
                 help="Condenser; `audit methods` lists them. One of your own: module:name or file.py:name."),
    click.option("--dataset", default="digits", show_default=True, help="Name (`audit data`), .npz file or folder."),
    click.option("--records", type=int, help="Class-balanced pool of this many records; default: all."),
    click.option("--ipc", type=int, help="Synthetic images per class; default 1."),
    click.option("--ratio", type=float, help="Instead of --ipc: synthetic over condensed records, r of Dong et al."),
    click.option("--init", type=click.Choice(["random", "real"]), help="Where images start; default: random."),
    click.option("--level", type=click.Choice(["model", "set"]), default="model", show_default=True,
                 help="What the adversary sees: a network trained on the set, or the set itself."),
    click.option("--preset", type=click.Choice(["quick", "paper"]), default="quick", show_default=True,
                 help="Small networks and 300 steps, or the published settings."),
    click.option("--set", "changes", multiple=True, metavar="KEY=VALUE",
                 help="Any setting of the method; victim.KEY, attack.KEY for the others. May be repeated."),
    click.option("--test-runs", type=int,
                 help="Runs kept for testing the attack; default: a quarter, all for loss."),
    click.option("--fit-runs", type=int, help="Learn from this many of the other runs only; default: all of them."),
    click.option("--canaries", metavar="KIND:COUNT,…",
                 help="Plant records: mislabelled, outlier, blank, crafted; reported by themselves."),
    click.option("--queries", type=int, default=1, show_default=True,
                 help="Queries per record: itself and shifts by a pixel."),
    click.option("--delta", type=float, default=1e-5, show_default=True, help="δ of the bound."),
    click.option("--confidence", type=float, default=0.95, show_default=True, help="Of bound and intervals."),
    click.option("--tries", type=int, default=1, show_default=True,
                 help="Several tries at one claim (seeds, attacks): divide the error among so many."),
    click.option("--claim", type=float, help="An ε claimed for the method: REFUTED (exit 4) if the bound exceeds it."),
    click.option("--epsilon", type=float, help="Calibrate a private method's noise to this ε at --delta."),
    click.option("--independent-randomness", is_flag=True,
                 help="Every run draws its own networks and noise: the papers' terms; slower."),
    click.option("--public-draws", type=int, default=1, show_default=True,
                 help="Divide the runs into this many groups with networks, augmentations and starting noise of their "
                      "own; intervals are then over draws."),
    click.option("--shuffle-membership", is_flag=True,
                 help="Control: tell the attack coins that decided nothing. It must find nothing."),
    click.option("--seed", type=int, default=0, show_default=True, help="Seed of everything."),
    click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda, cuda:N or mps."),
    click.option("--compile", "compiled", type=click.Choice(["auto", "on", "off"]), default="auto", show_default=True,
                 help="Compiled kernels; auto: where they pay and a compiler is here."),
    click.option("--jobs", type=int, help="Worker processes; default: one per core, one on a GPU."),
    click.option("--shard-runs", type=int, help="Runs computed together; default: what fits in memory, at most 64."),
    click.option("--data-root", type=click.Path(path_type=Path), help="Folder of data sets."),
    click.option("--out", type=click.Path(path_type=Path), default=Path("runs"), show_default=True,
                 help="Folder that holds run directories."),
    click.option("--show-records", is_flag=True, help="Show real images of the most exposed records in the PDF."),
    click.option("--fail-above", type=float, help="Exit 4 if the bound exceeds this ε."),
    click.option("--json", "as_json", is_flag=True, help="Print the record of the audit as JSON."),
]  # fmt: skip


def with_options(function: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(OPTIONS):
        function = option(function)
    return function


@click.command()
@click.option("--shadows", type=int, default=256, show_default=True, help="Condensations of random halves.")
@with_released_options
@KNOWN_RANDOMNESS
@with_options
def lira(**flags: Any) -> int:
    """Likelihood-ratio attack: shadow condensations tell how a record changes what is released.

    --level model attacks a network trained on the synthetic set, --level set the set itself. Audits of one condensation
    in one --out folder share its runs. Ends with the path of a PDF. The same command resumes after an interruption.
    With --synthetic and --members the sets of somebody else are tested, and all condensations are for learning.
    """
    return _run("lira", flags)


@click.command()
@click.option("--shadows", type=int, default=16, show_default=True, help="Condensations of random halves.")
@with_released_options
@KNOWN_RANDOMNESS
@with_options
def rmia(**flags: Any) -> int:
    """Robust membership inference (Zarifzadeh et al.): compares records with each other, so few shadows do.

    Takes the options of `audit lira`; --set attack.online=false for the offline variant.
    """
    return _run("rmia", flags)


@click.command()
@click.option("--shadows", "--runs", type=int, default=10, show_default=True, help="Condensations (seeds).")
@with_options
def loss(**flags: Any) -> int:
    """Loss-threshold attack, by the two protocols of Dong et al.

    Table 2: members against non-members. Table 1 (with --init real): initialisation members against other members.
    """
    return _run("loss", flags)


def _run(attack_name: str, flags: dict[str, Any]) -> int:
    from reports.records import schema

    limits = check_limits(flags)
    report = perform_attack(attack_name, flags, lambda line: print(f"audit: {line}", file=sys.stderr, flush=True))
    click.echo(schema.dump(report) if flags["as_json"] else _for_people(report), nl=not flags["as_json"])
    return 4 if report.verdict == "REFUTED" or any(report.epsilon.lower > limit for limit in limits) else 0


def check_limits(flags: dict[str, Any]) -> tuple[float, ...]:
    """--fail-above and --claim, as far as they are given: a certified ε above one of them is exit 4."""
    fail_above, claim = flags["fail_above"], flags["claim"]
    if fail_above is not None and not fail_above >= 0:
        raise BadConfig(f"--fail-above {fail_above}: must be a number, 0 or more")
    return tuple(limit for limit in (fail_above, claim) if limit is not None)


def perform_attack(attack_name: str, flags: dict[str, Any], say: Callable[[str], None]) -> Any:
    """Run or resume what the flags ask for; the record of it."""
    from audit.foreign import given_files, resolve_foreign
    from audit.pipeline import Settings, run_audit
    from audit.resolve import resolve_config

    jobs = flags["jobs"]
    if jobs is not None and jobs < 1:
        raise BadConfig(f"--jobs {jobs}: must be at least 1")
    foreign = None
    if given_files(flags):
        config, pool, foreign = resolve_foreign(attack_name, flags)
    else:
        config, pool = resolve_config(attack_name, flags)
    if jobs is None:
        jobs = _num_cores() if config.device == "cpu" else 1
    settings = Settings(out=flags["out"], jobs=jobs, data_root=flags["data_root"], show_records=flags["show_records"])
    return run_audit(config, pool, settings, say, foreign)


def _num_cores() -> int:
    """Cores that this process may use, where the system tells."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _for_people(report: Any) -> str:
    from reports.words.coin_test import describe_coin_test
    from reports.words.intervals import bracketed
    from reports.words.rounding import down, percent, up

    roc, bound, proved = report.roc, report.epsilon, report.proved
    said = bracketed(roc.interval_unit)

    def with_interval(value: float, interval: tuple[float, float]) -> str:
        return f"{value:.2%} [{interval[0]:.2%}, {interval[1]:.2%}]"

    lines = [
        f"{report.verdict}  {report.verdict_reason}",
        "",
        f"ε              ≥ {down(bound.lower)}  ({percent(bound.confidence)} confidence, δ = {bound.delta:g}, "
        f"{bound.estimator}, {bound.num_trials} coins; a perfect attack would have shown {down(bound.ceiling)})",
        f"AUC            {roc.auc:.4f} [{roc.auc_interval[0]:.4f}, {roc.auc_interval[1]:.4f}]{said}",
    ]
    if report.curve_test is not None:
        found = "REFUTED" if report.curve_test.refuted else "not refuted"
        lines.append(f"claimed curve  {found}: {describe_coin_test(report.curve_test)}")
    if proved is not None:
        lines.insert(
            3,
            f"proved         ε ≤ {up(proved.epsilon_pld)} by PLD, {up(proved.epsilon_rdp)} by RDP  "
            f"(δ = {proved.delta:g}, from the {proved.source})",
        )
    lines += [
        f"TPR at FPR {float(rate):.1%} {with_interval(value, roc.tpr_at_fpr_interval[rate])}{said}"
        for rate, value in roc.tpr_at_fpr.items()
    ]
    if report.utility is not None:
        accuracy = with_interval(report.utility.accuracy, report.utility.accuracy_interval)
        lines.append(f"accuracy       {accuracy}{bracketed(report.utility.interval_unit)}")
    lines += [
        f"{protocol.name}: {with_interval(protocol.advantage, protocol.advantage_interval)} over "
        f"{protocol.num_seeds} runs{bracketed(protocol.interval_unit)}"
        for protocol in report.protocols
    ]
    lines += [
        f"{group.name:<15}{group.num_records} records, AUC {group.auc:.4f} [{group.auc_interval[0]:.4f}, "
        f"{group.auc_interval[1]:.4f}]{said}, ε ≥ {down(group.epsilon.lower)}"
        for group in report.groups
    ]
    return "\n".join([*lines, "", report.pdf])
