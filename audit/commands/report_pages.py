"""The pages of finished runs, drawn again, one run by itself or several side by side."""

import errno
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from audit.engine.pages import write_pages
from audit.engine.store import RunDirectory
from audit.games.redraw import DrawOptions, material_of
from condensers.errors import BadData, BadInput, Incomplete
from reports.documents.comparison import build_comparison
from reports.documents.kinds import AuditMaterial, SingleMaterial, build_document
from reports.records.attacks import CompareReport
from reports.records.grid import GridReport
from reports.records.kinds import AnyRecord, AuditRecord, Measurement
from reports.records.reproduction import ReproductionReport
from reports.records.visual import NearestReport
from reports.render.html import write_html
from reports.render.pdf import write_pdf

Run = tuple[RunDirectory, AnyRecord]


def from_here(folder: Path) -> Path:
    """As short as can be."""
    return folder.relative_to(Path.cwd()) if folder.is_relative_to(Path.cwd()) else folder


def redraw(
    directory: RunDirectory, record: AnyRecord, formats: tuple[str, ...], options: DrawOptions
) -> dict[str, Any]:
    paths = {"pdf": directory.pdf, "html": directory.html}
    with _explained(directory.path, paths[formats[0]]), directory.held():
        write_pages(build_document(material_of(directory, record, options)), directory, formats)
    written = {name: str(paths[name]) for name in formats}
    return {"run_directory": str(directory.path), "verdict": getattr(record, "verdict", None), **written}


def compare(runs: Sequence[Run], formats: Sequence[str], folder: Path, options: DrawOptions) -> dict[str, str]:
    """One run's scores and pictures are in memory at a time."""

    records: list[AuditRecord] = []
    for directory, record in runs:
        if isinstance(record, NearestReport):
            raise BadInput(f"RUN_DIR {directory.path}: tested nothing, so it cannot be compared; give it by itself")
        if isinstance(record, GridReport | CompareReport | ReproductionReport):
            raise BadInput(f"RUN_DIR {directory.path}: holds several audits; give the directories of single ones")
        if isinstance(record, Measurement):
            raise BadInput(f"RUN_DIR {directory.path}: holds no audit, so it cannot be compared; give it by itself")
        records.append(record)

    def materials() -> Iterator[AuditMaterial]:
        for directory, record in runs:
            material = material_of(directory, record, options)
            if not isinstance(material, SingleMaterial):
                yield material

    written = {}
    for name, write in (("pdf", write_pdf), ("html", write_html)):
        if name in formats:
            path = folder / f"comparison.{name}"
            with _explained(folder, path):
                write(build_comparison(records, materials()), path)
            written[name] = str(path)
    return written


@contextmanager
def _explained(where: Path, path: Path) -> Iterator[None]:
    """What a person can mend, in one line."""
    try:
        yield
    except ValueError as error:
        raise BadData(f"{where}: {error}") from None
    except OSError as error:
        kind = Incomplete if error.errno in (errno.ENOSPC, errno.EDQUOT) else BadInput
        raise kind(f"cannot write {path}: {error.strerror}") from None
