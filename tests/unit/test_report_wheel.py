"""What is installed can draw: a wheel holds every room of `reports`, with the template, the style and the script."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("setuptools", reason="setuptools is not installed: no wheel can be built")
ROOT = Path(__file__).parents[2]
BUILD = "from setuptools import build_meta; print(build_meta.build_wheel('dist'))"
DRAW = """
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
import reports
from reports.documents.blocks import Document, Heading, Prose
from reports.render.html import write_html
from reports.render.pdf import write_pdf
assert Path(reports.__file__).is_relative_to(sys.argv[1]), reports.__file__
document = Document(over="Over", title="Title", line="line", blocks=(Heading(text="A"), Prose(text="B")))
write_html(document, Path(sys.argv[1]) / "page.html")
write_pdf(document, Path(sys.argv[1]) / "page.pdf")
"""


@pytest.mark.slow
def test_an_installed_wheel_draws_both_formats_against_files(tmp_path: Path) -> None:
    source, installed = tmp_path / "source", tmp_path / "installed"
    for name in ("audit", "attacks", "condensers", "reports"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, source / name)
    done = subprocess.run([sys.executable, "-c", BUILD], cwd=source, capture_output=True, text=True, check=True)
    with zipfile.ZipFile(source / "dist" / done.stdout.split()[-1]) as wheel:
        wheel.extractall(installed)
        held = set(wheel.namelist())
    for path in (ROOT / "reports").rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            assert str(path.relative_to(ROOT)) in held, path
    subprocess.run([sys.executable, "-c", DRAW, str(installed)], cwd=tmp_path, check=True)
    assert "<h3>A</h3>" in (installed / "page.html").read_text(encoding="utf-8")
    assert (installed / "page.pdf").read_bytes().startswith(b"%PDF-")
