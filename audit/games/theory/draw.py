"""The figures of `audit theory`."""

from collections.abc import Callable
from pathlib import Path

from audit.engine.store import explain_failure, write_atomically
from audit.games.theory.examine import TheoryReport
from reports.figures.theory import draw_distances, draw_images, draw_leave_one_out


def draw_theory(report: TheoryReport, out: Path, *, show_records: bool) -> list[Path]:
    """Figure 7, Figure 6 where records are pictures, and Eq. (35); images that started from records only if asked."""
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
    largest = max(report.config.ipc)
    panels = {
        f"{entry.extractor}\nfrom {'noise' if entry.init == 'random' else 'records'}": entry.images
        for entry in report.condensations
        if entry.ipc == largest and (entry.init == "random" or show_records)
    }
    drawings: dict[str, Callable[[Path], None]] = {
        "figure7.png": lambda path: draw_distances(path, curves),
        "leave_one_out.png": lambda path: draw_leave_one_out(path, pulls),
    }
    if report.condensations[0].images.ndim == 4:
        drawings["figure6.png"] = lambda path: draw_images(path, panels, len(report.ranks))
    for name, draw in drawings.items():
        write_atomically(out / name, draw)
    return [out / name for name in drawings]
