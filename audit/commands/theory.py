"""`audit theory`: the propositions of Dong et al. (arXiv:2206.00240), tested by running the condenser."""

import json
import sys
from pathlib import Path
from typing import Any

import click


@click.command("theory")
@click.option("--dataset", default="digits", show_default=True, help="A name of `audit data`, an .npz or a folder.")
@click.option("--data-root", type=click.Path(path_type=Path), help="Where data sets lie.")
@click.option("--records", type=int, default=500, show_default=True, help="Records to condense, all classes together.")
@click.option("--ipc", "ipcs", type=int, multiple=True, default=(2, 4), show_default=True,
              help="Images per class; may be repeated.")  # fmt: skip
@click.option("--iterations", type=int, default=150, show_default=True, help="Steps of distribution matching.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of everything.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), default=Path("runs/theory"), show_default=True,
              help="Folder for the figures.")  # fmt: skip
@click.option("--show-records", is_flag=True, help="Also draw images that started from real records.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def theory(**flags: Any) -> None:
    """Do the barycentres of S and T meet, does the closed form hold, how far does one record pull?

    Distribution matching without augmentation, with linear, ReLU and convolutional extractors. Draws the curves of
    Figure 7, the pictures of Figure 6 and the leave-one-out bound (35) against what was measured.
    """
    from audit.data.load import load_pool
    from audit.games.theory import TheoryConfig, as_record, examine

    config = TheoryConfig(ipcs=tuple(flags["ipcs"]), iterations=flags["iterations"], seed=flags["seed"])
    pool = load_pool(flags["dataset"], data_root=flags["data_root"], records=flags["records"])
    report = examine(pool, config, lambda line: print(f"audit: {line}", file=sys.stderr, flush=True))
    figures = _draw(report, flags["out"], pool, show_records=flags["show_records"])
    if flags["as_json"]:
        click.echo(json.dumps({**as_record(report), "figures": [str(path) for path in figures]}, indent=2))
    else:
        click.echo(_for_people(report) + "\n" + "\n".join(f"wrote {path}" for path in figures))


def _draw(report: Any, out: Path, pool: Any, *, show_records: bool) -> list[Path]:
    from audit.engine.store import explain_failure, write_atomically
    from reports.figures.theory import draw_distances, draw_images, draw_leave_one_out

    with explain_failure(out):
        out.mkdir(parents=True, exist_ok=True)
    extractors = list(dict.fromkeys(entry.extractor for entry in report.condensations))
    of = {name: [entry for entry in report.condensations if entry.extractor == name] for name in extractors}
    curves = {name: {(e.init, e.ipc): e.distances for e in entries} for name, entries in of.items()}
    pulls = {
        name: [
            (f"{e.init}, {e.ipc}, {one.left_out}", one.largest_shift, one.closed_form, one.bound)
            for e in entries
            for one in e.leave_one_out
        ]
        for name, entries in of.items()
    }
    largest = max(report.config.ipcs)
    panels = {
        f"{entry.extractor}\nfrom {'noise' if entry.init == 'random' else 'records'}": entry.images
        for entry in report.condensations
        if entry.ipc == largest and (entry.init == "random" or show_records)
    }
    drawings = {
        "figure7.png": lambda path: draw_distances(path, curves),
        "leave_one_out.png": lambda path: draw_leave_one_out(path, pulls),
    }
    if pool.images.ndim == 4:
        drawings["figure6.png"] = lambda path: draw_images(path, panels, pool.num_classes)
    for name, draw in drawings.items():
        write_atomically(out / name, draw)
    return [out / name for name in drawings]


def _for_people(report: Any) -> str:
    head = (
        f"{report.dataset}: {report.class_size:g} records a class in {report.dimension} dimensions, which they span to "
        f"{min(report.ranks)}-{max(report.ranks)} (Assumption 4.1 "
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
