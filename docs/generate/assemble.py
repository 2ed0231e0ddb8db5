"""Puts the pages of the site together: `PYTHONPATH=.:docs python -m generate.assemble FOLDER`.

Pages are copied from docs/. Where a page has the line of `MARK`, text that is generated from the code goes there.
Notebooks become pages beside themselves, with the outputs that are stored in them. Files of the repository that pages
refer to are copied to project/. Links that hold in the repository are turned into links that hold on the site.
"""

import re
import shutil
import sys
from pathlib import Path

from generate.command_line import describe_commands
from generate.notebook_pages import describe_notebook
from generate.python_api import describe_api
from generate.record_schema import describe_records

ROOT = Path(__file__).resolve().parents[2]
MARK = "<!-- generated -->"
GENERATED = {
    "reference/command-line.md": describe_commands,
    "reference/python-api.md": describe_api,
    "reference/report-json.md": describe_records,
}
PROJECT = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "privacy.toml")
NOTEBOOK_LINK = re.compile(r"\]\(((?:\.\./)?notebooks/[\w-]+)\.ipynb\)")
PROJECT_LINK = re.compile(rf"\]\(\.\./({'|'.join(map(re.escape, PROJECT))})\)")


def assemble(source: Path) -> None:
    """Write all pages and files of the site into the folder, which is emptied first."""
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(ROOT / "docs", source, ignore=shutil.ignore_patterns("generate", "__pycache__"))
    for path in sorted((source / "notebooks").glob("*.ipynb")):
        text, pictures = describe_notebook(path)
        path.with_suffix(".md").write_text(text, encoding="utf-8")
        for name, data in pictures.items():
            path.with_name(name).write_bytes(data)
    for page, describe in GENERATED.items():
        text = (source / page).read_text(encoding="utf-8")
        if text.count(MARK) != 1:
            raise LookupError(f"docs/{page}: needs one line {MARK}, where generated text goes")
        (source / page).write_text(text.replace(MARK, describe()), encoding="utf-8")
    for path in source.rglob("*.md"):
        text = path.read_text(encoding="utf-8")
        path.write_text(link_for_site(text), encoding="utf-8")
    (source / "project").mkdir()
    for name in PROJECT:
        text = (ROOT / name).read_text(encoding="utf-8")
        (source / "project" / name).write_text(text.replace("](docs/", "](../"), encoding="utf-8")


def link_for_site(text: str) -> str:
    """The same page with links to notebooks and to files of the repository as they are named on the site."""
    return PROJECT_LINK.sub(r"](project/\1)", NOTEBOOK_LINK.sub(r"](\1.md)", text))


if __name__ == "__main__":
    assemble(Path(sys.argv[1]))
