"""`audit visual`: do synthetic images look like records that were in? Counted and tested, and shown where asked."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from audit.commands.attack import say, where_of
from audit.commands.workers import with_workers
from audit.specs.options import build, with_fields
from audit.specs.pictures import UNTESTED, Visual
from condensers.errors import BadConfig


@click.command()
@with_fields(Visual)
@click.option(
    "--lpips-weights",
    "weights",
    type=click.Path(path_type=Path),
    multiple=True,
    metavar="FILE",
    help="Backbone of LPIPS as safetensors with torchvision's layer names. May be repeated.",
)
@click.option("--download", is_flag=True, help="Let torchvision download a missing backbone.")
@with_workers
@click.option("--data-root", type=click.Path(path_type=Path), help="Folder that holds data sets.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("runs"),
    show_default=True,
    help="Folder that holds run directories.",
)
@click.option("--show-records", is_flag=True, help="Show real images, which are private, in the PDF.")
@click.option("--fail-above", type=float, help="Exit 4 if the bound exceeds this ε.")
@click.option("--fail-below-p", type=float, help="Exit 4 if an adjusted p-value is below this.")
@click.option("--json", "as_json", is_flag=True, help="Print the record of the audit as JSON.")  # fmt: skip
def visual(**flags: Any) -> int:
    """Find the nearest real image of every synthetic image, by L2 and LPIPS, and test how many are members.

    Condenses random halves of a pool, guesses for each synthetic image that its nearest record was a member, and tests
    the number of correct guesses against fair coins. The last line printed is the path of a PDF, which shows real
    images only with --show-records. With --synthetic and --members, sets made by somebody else are tested; without
    --members they are only shown. To resume after an interruption, run the same command again.
    """
    spec = build(Visual, flags)
    _check(spec, flags)
    where = replace(where_of(flags), weights=flags["weights"], download=flags["download"])
    from audit.games.run import run
    from reports.records import schema
    from reports.records.visual import NearestReport

    report = run(spec, where, say)
    untested = isinstance(report, NearestReport)
    text = _distances_for_people(report) if untested else _for_people(report)
    click.echo(schema.dump(report) if flags["as_json"] else text, nl=not flags["as_json"])
    return 0 if untested else _exit_code(flags, report)


def _exit_code(flags: dict[str, Any], report: Any) -> int:
    above = flags["fail_above"] is not None and report.epsilon.lower > flags["fail_above"]
    smallest = min(finding.p_value_adjusted for finding in report.distances)
    below = flags["fail_below_p"] is not None and smallest < flags["fail_below_p"]
    return 4 if report.verdict == "REFUTED" or above or below else 0


def _check(spec: Visual, flags: dict[str, Any]) -> None:
    if flags["fail_above"] is not None and not flags["fail_above"] >= 0:
        raise BadConfig(f"--fail-above {flags['fail_above']}: must be a number, 0 or more")
    if flags["fail_below_p"] is not None and not 0 <= flags["fail_below_p"] <= 1:
        raise BadConfig(f"--fail-below-p {flags['fail_below_p']}: must lie in [0, 1]")
    for name in ("fail_above", "fail_below_p"):
        if spec.synthetic and spec.members is None and flags[name] is not None:
            raise BadConfig(f"--{name.replace('_', '-')}: {UNTESTED}")


def _for_people(report: Any) -> str:
    from audit.games.visual.match import describe_finding
    from reports.words.intervals import bracketed
    from reports.words.rounding import down, percent, probability, say_delta, up

    lines = [f"{report.verdict}  {report.verdict_reason}", "", report.finding]
    if report.proved is not None:
        proved = report.proved
        lines.append(
            f"{'proved':<15}ε ≤ {up(proved.epsilon_pld)} by PLD, {up(proved.epsilon_rdp)} by RDP  "
            f"({say_delta(proved.delta)}, from the {proved.source})"
        )
    for finding in report.distances:
        low, high = finding.roc.auc_interval
        lines += [
            f"{finding.name:<15}{describe_finding(finding)} "
            f"(adjusted for the number of distances: {probability(finding.p_value_adjusted)})",
            f"{'':<15}ε ≥ {down(finding.bound.lower)} ({percent(finding.bound.confidence)} confidence, "
            f"{say_delta(finding.bound.delta)}; if every guess were right: {down(finding.most_certifiable)}), "
            f"AUC {finding.roc.auc:.4f} [{low:.4f}, {high:.4f}]{bracketed(finding.roc.interval_unit)}",
        ]
    lines += [f"{left.name:<15}not computed: {left.why}" for left in report.not_computed]
    return "\n".join([*lines, "", report.pdf])


def _distances_for_people(report: Any) -> str:
    from reports.words.visual import UNTESTED

    lines = [UNTESTED, ""]
    lines += [
        f"{one.name:<15}{one.num_images} images"
        f"{'' if one.num_copies is None else f', {one.num_copies} of them equal to a record'}; distance to the nearest "
        f"{one.smallest:.3g} to {one.largest:.3g}, median {one.median:.3g}"
        for one in report.distances
    ]
    lines += [f"{left.name:<15}not computed: {left.why}" for left in report.not_computed]
    return "\n".join([*lines, "", report.pdf])
