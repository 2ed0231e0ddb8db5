"""`audit lira`, `rmia`, `loss` and `gan-leak`: an attack on condensations of random halves of a pool."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from audit.commands.workers import executor_of, with_workers
from audit.specs.membership import GanLeak, Lira, Loss, Membership, Rmia
from audit.specs.options import build, with_fields
from condensers.errors import BadConfig

if TYPE_CHECKING:
    from audit.engine.where import Where

OPTIONS: list[Callable[[Callable[..., Any]], Callable[..., Any]]] = [
    click.option("--data-root", type=click.Path(path_type=Path), help="Folder that holds data sets."),
    click.option("--out", type=click.Path(path_type=Path), default=Path("runs"), show_default=True,
                 help="Folder that holds run directories."),
    click.option("--show-records", is_flag=True, help="Show real images of the most exposed records in the PDF."),
    click.option("--fail-above", type=float, help="Exit 4 if the bound exceeds this ε."),
    click.option("--json", "as_json", is_flag=True, help="Print the record of the audit as JSON."),
]  # fmt: skip


def with_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Options that do not determine the result."""
    for option in reversed(OPTIONS):
        function = option(function)
    return with_workers(function)


@click.command()
@with_fields(Lira)
@with_options
def lira(**flags: Any) -> int:
    """Run the likelihood-ratio attack (LiRA) with shadow condensations.

    With --level model the adversary sees a network trained on the synthetic set, with --level set the set itself.
    Audits of the same condensation in the same --out folder share its runs. The last line printed is the path of a
    PDF. To resume after an interruption, run the same command again. With --synthetic and --members, sets made by
    somebody else are audited, and all condensations are used to fit the attack. With --scores nothing is condensed:
    models that you trained yourself are audited from a table of their signals.
    """
    return _run(build(Lira, flags), flags)


@click.command()
@with_fields(Rmia)
@with_options
def rmia(**flags: Any) -> int:
    """Run robust membership inference (RMIA, Zarifzadeh et al.), which needs few shadow condensations.

    Takes the same options as `audit lira`, including --scores. --set attack.online=false selects the offline variant.
    """
    return _run(build(Rmia, flags), flags)


@click.command()
@with_fields(Loss)
@with_options
def loss(**flags: Any) -> int:
    """Run the loss-threshold attack under the two protocols of Dong et al.

    Table 2 compares members with non-members. Table 1 (with --init real) compares the members that initialised the
    synthetic images with other members. With --scores, a model of your own is audited from its losses, without any
    shadow model.
    """
    return _run(build(Loss, flags), flags)


@click.command("gan-leak")
@with_fields(GanLeak)
@with_options
def gan_leak(**flags: Any) -> int:
    """Run GAN-leak: how well a released generator reconstructs a record.

    For methods that release a generator. --set attack.calibration=reference subtracts the reconstruction error of
    generators trained without the record; the default is LiRA over shadow generators. --set attack.starts and
    attack.steps set how long the attack searches for a latent code.
    """
    return _run(build(GanLeak, flags), flags)


def _run(spec: Membership, flags: dict[str, Any]) -> int:
    limits = check_limits(flags)
    from audit.games.run import run
    from reports.records import schema

    report = run(spec, where_of(flags), say)
    click.echo(schema.dump(report) if flags["as_json"] else _for_people(report), nl=not flags["as_json"])
    return 4 if report.verdict == "REFUTED" or any(report.epsilon.lower > limit for limit in limits) else 0


def say(line: str) -> None:
    """To the person, while something runs."""
    print(f"audit: {line}", file=sys.stderr, flush=True)


def where_of(flags: dict[str, Any]) -> "Where":
    """What the options say that does not determine the result."""
    from audit.engine.where import Where

    own = {name: flags[name] for name in ("out", "data_root", "show_records")}
    return Where(executor=executor_of(flags), **own)


def check_limits(flags: dict[str, Any]) -> tuple[float, ...]:
    """--fail-above and --claim, as far as they are given: a certified ε above one of them is exit 4."""
    fail_above, claim = flags["fail_above"], flags["claim"]
    if fail_above is not None and not fail_above >= 0:
        raise BadConfig(f"--fail-above {fail_above}: must be a number, 0 or more")
    return tuple(limit for limit in (fail_above, claim) if limit is not None)


def _for_people(report: Any) -> str:
    from reports.words.coin_test import describe_coin_test
    from reports.words.groups import lines_of_groups
    from reports.words.intervals import bracketed
    from reports.words.membership import explain_displacement
    from reports.words.rounding import down, percent, say_delta, up

    roc, bound, proved = report.roc, report.epsilon, report.proved
    said = bracketed(roc.interval_unit)

    def with_interval(value: float, interval: tuple[float, float]) -> str:
        return f"{value:.2%} [{interval[0]:.2%}, {interval[1]:.2%}]"

    lines = [
        f"{report.verdict}  {report.verdict_reason}",
        "",
        f"ε              ≥ {down(bound.lower)}  ({percent(bound.confidence)} confidence, {say_delta(bound.delta)}, "
        f"{bound.estimator}, {bound.num_trials} coins; a perfect attack would have certified {down(bound.ceiling)})",
        f"AUC            {roc.auc:.4f} [{roc.auc_interval[0]:.4f}, {roc.auc_interval[1]:.4f}]{said}",
    ]
    if report.curve_test is not None:
        found = "REFUTED" if report.curve_test.refuted else "not refuted"
        lines.append(f"claimed curve  {found}: {describe_coin_test(report.curve_test)}")
    if proved is not None:
        lines.insert(
            3,
            f"proved         ε ≤ {up(proved.epsilon_pld)} by PLD, {up(proved.epsilon_rdp)} by RDP  "
            f"({say_delta(proved.delta)}, from the {proved.source})",
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
    if report.displacement is not None:
        lines.append(explain_displacement(report.displacement))
    lines += lines_of_groups(report.groups, said)
    return "\n".join([*lines, "", report.pdf])
