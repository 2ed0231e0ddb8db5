"""`audit theory`: the propositions of Dong et al. (arXiv:2206.00240), tested by running the condenser."""

import json
from pathlib import Path
from typing import Any

import click

from audit.commands.attack import say, where_of
from audit.commands.workers import with_workers
from audit.specs.options import build, with_fields
from audit.specs.theory import Theory


@click.command("theory")
@with_fields(Theory)
@with_workers
@click.option("--data-root", type=click.Path(path_type=Path), help="Folder that holds data sets.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), default=Path("runs/theory"), show_default=True,
              help="Folder for the figures and finished condensations.")  # fmt: skip
@click.option("--show-records", is_flag=True, help="Also draw images that started from real records.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def theory(**flags: Any) -> None:
    """Test the propositions of Dong et al. by running the condenser.

    Runs distribution matching without augmentation, with linear, ReLU and convolutional extractors: do the barycentres
    of S and T coincide, does the closed form hold, how far does one record move the result? Draws the curves of
    Figure 7, the pictures of Figure 6 and the leave-one-out bound (35) beside what was measured. To resume after an
    interruption, run the same command again.
    """
    spec, where = build(Theory, flags), where_of(flags)
    from audit.games.run import run
    from audit.games.theory.examine import as_record

    report = run(spec, where, say)
    if flags["as_json"]:
        click.echo(json.dumps(as_record(report), indent=2))
    else:
        click.echo(_for_people(report) + "\n" + "\n".join(f"wrote {path}" for path in report.figures))


def _for_people(report: Any) -> str:
    head = (
        f"{report.dataset}: {report.class_size:g} records per class in {report.dimension} dimensions, of which "
        f"they span {min(report.ranks)} to {max(report.ranks)} (Assumption 4.1 "
        f"{'holds' if max(report.ranks) < report.dimension else 'does not hold'})"
    )
    lines = [
        head,
        "",
        "Propositions 4.3 and 4.4: distance of barycentres before and after; error of the closed form, relative",
        f"{'extractor':<13}{'start':<8}{'ipc':>4}{'before':>10}{'after':>11}{'(12)/(31)':>11}{'(13)':>9}",
    ]
    for entry in report.condensations:
        printed = f"{entry.eq13_error:>9.1e}" if entry.init == "random" else f"{'-':>9}"
        lines.append(
            f"{entry.extractor:<13}{entry.init:<8}{entry.ipc:>4}{entry.distances[0]:>10.3g}{entry.distances[-1]:>11.2e}"
            f"{entry.closed_form_error:>11.1e}{printed}"
        )
    lines += [
        "",
        "Leave-one-out, Eq. (35): largest shift of an image, closed form, 2B/|T| (means over classes), worst ratio to "
        "the bound; error of recovering x from S and the other records, relative to knowing only these",
        f"{'extractor':<13}{'start':<8}{'ipc':>4}  {'left out':<10}{'shift':>10}{'closed':>10}{'bound':>10}{'ratio':>8}"
        f"{'recovery':>10}",
    ]
    for entry in report.condensations:
        for one in entry.leave_one_out:
            lines.append(
                f"{entry.extractor:<13}{entry.init:<8}{entry.ipc:>4}  {one.left_out:<10}{one.largest_shift:>10.4f}"
                f"{one.closed_form:>10.4f}{one.bound:>10.4f}{one.worst_ratio:>8.2f}{one.recovery_error:>10.1e}"
            )
    gibbs = report.gibbs
    lines += [
        "",
        f"Eq. (33) on [0, 1], l = |theta - s|, {gibbs.num_images} images moved by {gibbs.shift:g}: sup |ln p/q| = "
        f"{gibbs.sup_log_ratio:.4f}, right side of (33) {gibbs.right_side_of_eq33:.4f}, with ln K "
        f"{gibbs.corrected_bound:.4f}; KL {gibbs.kl_divergence:.1e}",
        *(f"- {note}" for note in report.notes),
    ]
    return "\n".join(lines)
