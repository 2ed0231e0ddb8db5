"""What is handed out: wheel and sdist install into an environment of their own, and `audit` runs there by itself."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import pytest
from conftest import ROOT

from audit.version import __version__

BUILD = "import sys; from setuptools import build_meta; print(getattr(build_meta, sys.argv[1])('dist'))"
PACKAGES = ("condensation_audit", "audit", "attacks", "condensers", "reports")
SMALL = "lira --records 60 --shadows 16 --jobs 1 --set iterations=1 --set width=4 --set depth=1 --set victim.epochs=1"


def test_the_version_is_the_same_everywhere() -> None:
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    assert cited is not None
    assert cited[1] == __version__
    assert "version" in tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dynamic"]


def test_the_lowest_versions_are_stated_for_every_dependency() -> None:
    """The job `minimal-versions` installs them: `uv pip install --resolution lowest-direct`."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for requirement in [*project["dependencies"], *project["optional-dependencies"]["dev"]]:
        assert re.fullmatch(r"[a-z0-9-]+>=[0-9.]+", requirement), requirement
    workflow = (ROOT / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8")
    assert "minimal-versions:" in workflow
    assert "--resolution lowest-direct" in workflow


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["build_wheel", "build_sdist"])
def test_what_is_built_installs_and_runs_outside_the_repository(kind: str, tmp_path: Path) -> None:
    pytest.importorskip("setuptools", reason="setuptools is not installed: nothing can be built")
    source, environment, elsewhere = tmp_path / "source", tmp_path / "environment", tmp_path / "elsewhere"
    for name in PACKAGES:
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    built = subprocess.run([sys.executable, "-c", BUILD, kind], cwd=source, capture_output=True, text=True, check=True)
    file = source / "dist" / built.stdout.split()[-1]
    assert f"-{__version__}" in file.name
    if kind == "build_sdist":  # what pip does with it, by the setuptools of this environment
        shutil.unpack_archive(file, tmp_path)
        unpacked = tmp_path / file.name.removesuffix(".tar.gz")
        command = [sys.executable, "-c", BUILD, "build_wheel"]
        built = subprocess.run(command, cwd=unpacked, capture_output=True, text=True, check=True)
        file = unpacked / "dist" / built.stdout.split()[-1]

    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
    # Dependencies come from here, without what this environment itself installs in editable form.
    (library,) = environment.glob("lib/python*/site-packages")
    (library / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    pip = [str(environment / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "install", "--no-deps"]
    subprocess.run([*pip, "--no-index", str(file)], check=True, capture_output=True)

    elsewhere.mkdir()
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    def run(*words: str) -> str:
        return subprocess.run(
            [str(environment / "bin" / words[0]), *words[1:]],
            cwd=elsewhere,
            env=clean,
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    places = run("python", "-c", "import audit, reports, attacks, condensers; print(audit.__file__, reports.__file__)")
    assert all(Path(place).is_relative_to(library) for place in places.split())
    assert run("audit", "--version") == f"audit, version {__version__}\n"
    assert run("audit", "methods", "--method", "dm").startswith("dm  Distribution matching")
    if kind == "build_wheel":
        pdf = Path(run("audit", *SMALL.split()).splitlines()[-1])
        assert (elsewhere / pdf).read_bytes().startswith(b"%PDF-")
        assert (elsewhere / pdf).with_suffix(".html").is_file()
    assert all((library / name / "py.typed").is_file() for name in PACKAGES)
