"""Pages that people read: links hold, what is generated is complete, notebooks are stored as they ran."""

import re
from pathlib import Path

import click
import nbformat
import pytest
from conftest import ROOT
from generate.assemble import link_for_site
from generate.check_links import problems_of
from generate.command_line import describe_commands
from generate.notebook_pages import describe_notebook
from generate.python_api import describe_api
from generate.record_schema import describe_records, kinds, schema_of

import audit
from audit.cli import COMMANDS, group

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")


def anchors_of(text: str) -> set[str]:
    """The anchors of the headings of a page, as GitHub and MyST name them."""
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    headings = re.findall(r"^#{1,6} (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}


def broken_links(page: Path) -> list[str]:
    found = []
    for url in LINK.findall(
        re.sub(r"```.*?```|`[^`\n]*`(?!\])", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    ):
        path, _, anchor = url.partition("#")
        if "://" in url:
            continue
        target = (page.parent / path).resolve() if path else page
        if not target.exists():
            found.append(f"{url}: no such file")
        elif anchor and anchor not in anchors_of(target.read_text(encoding="utf-8")):
            found.append(f"{url}: no such heading")
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_hold_in_the_repository(page: Path) -> None:
    assert broken_links(page) == []


def test_broken_links_are_found(tmp_path: Path) -> None:
    (tmp_path / "other.md").write_text("# Here it is\n")
    page = tmp_path / "page.md"
    page.write_text(
        "[a](other.md#here-it-is) [b](other.md#gone) [c](gone.md) `[d](code.md)` [e](https://example.org)\n"
    )
    assert broken_links(page) == ["other.md#gone: no such heading", "gone.md: no such file"]


def test_links_to_notebooks_and_project_files_are_changed_for_the_site() -> None:
    text = "[a](notebooks/first-audit.ipynb) [b](../privacy.toml) [c](../SECURITY.md) [d](gate.md)"
    assert (
        link_for_site(text)
        == "[a](notebooks/first-audit.md) [b](project/privacy.toml) [c](project/SECURITY.md) [d](gate.md)"
    )


def test_reference_has_every_command_and_option() -> None:
    text = describe_commands()
    context = click.Context(group)
    for name in COMMANDS:
        section = text.split(f"\n## audit {name}\n", 1)[1].split("\n## ", 1)[0]
        command = group.get_command(context, name)
        assert command is not None
        for option in (one for one in command.params if isinstance(one, click.Option) and not one.hidden):
            assert f"`{option.opts[0]}" in section, (name, option.opts)
    assert re.search(r"^\| `--shadows INTEGER` \| \S.* \| `256` \|$", text, re.MULTILINE)
    assert "With `--level` model the adversary sees" in text
    assert "``" not in text.replace("```", "")


def test_reference_has_every_record_with_its_fields() -> None:
    text = describe_records()
    for kind in kinds():
        assert f"### {kind.__name__}\n" in text
        assert f"`{schema_of(kind)}`" in text
    headings = re.findall(r"^### (\w+)$", text, re.MULTILINE)
    assert len(headings) == len(set(headings)), "two parts of the same name would have one anchor"
    assert set(re.findall(r"\]\(#(\w+)\)", text)) <= {heading.lower() for heading in headings}
    assert "| `tpr_at_fpr` | object of number | required |" in text
    assert "| `claimed` | [Claim](#claim) or null | required |" in text
    assert "| `proved` | [Claim](#claim) or null | `null` |" in text
    assert "| `counts` | object of integer | `{}` |" in text


def test_reference_has_every_public_name_of_the_api() -> None:
    text = describe_api()
    for name in audit.__all__:
        if not name.startswith("_"):
            assert re.search(rf"^\.\. auto(function|class):: audit\.{name}$", text, re.MULTILINE), name
    assert re.search(r"^\| `shadows` \| int \| `256` \| `--shadows` \| \S.* \|$", text, re.MULTILINE)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_is_stored_as_it_ran(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    outputs = [output for cell in code for output in cell.outputs]
    assert all(output.output_type != "error" and output.get("name") != "stderr" for output in outputs)
    assert not re.search(r"/(home|root|tmp|work|Users|private|var)/", path.read_text(encoding="utf-8"))


def test_notebook_becomes_a_page_with_code_outputs_and_pictures() -> None:
    text, pictures = describe_notebook(ROOT / "docs" / "notebooks" / "read-a-run.ipynb")
    assert text.startswith("# Read a finished run and plot it again\n")
    assert "```python\nrecord = audit.load(directory)" in text
    assert "```text\nNO CLAIM | epsilon >= " in text
    ((name, data),) = pictures.items()
    assert f"]({name})" in text
    assert data.startswith(b"\x89PNG")


def test_link_checker_finds_broken_links_and_foreign_hosts(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<h1 id="top">A</h1><a href="b.html#there">b</a><a href="b.html#gone">b</a><a href="c.html">c</a>'
        '<script src="https://cdn.example.org/x.js"></script>'
        '<a href="https://example.org">outside</a><a href="#top">up</a>'
    )
    (tmp_path / "b.html").write_text('<p id="there"></p><img src="a.html"><link rel="stylesheet" href="gone.css">')
    assert problems_of(tmp_path) == [
        "a.html: loads https://cdn.example.org/x.js from another host",
        "a.html: b.html#gone leads to no anchor",
        "a.html: c.html leads to no file",
        "b.html: gone.css leads to no file",
    ]


def test_pages_link_the_glossary() -> None:
    for name in ("README.md", "docs/reading-a-report.md", "docs/estimators.md", "docs/start.md", "docs/python.md"):
        assert "glossary.md" in (ROOT / name).read_text(encoding="utf-8"), name


def test_example_of_a_model_of_ones_own_runs(capsys: pytest.CaptureFixture[str]) -> None:
    page = (ROOT / "docs" / "own-models.md").read_text(encoding="utf-8")
    exec(next(code for code in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "bound_epsilon" in code), {})
    found = re.fullmatch(
        r"one-run-dp: epsilon >= ([\d.]+), ceiling ([\d.]+), \d+ coins tested\n", capsys.readouterr().out
    )
    assert found is not None
    assert 1 < float(found[1]) < float(found[2])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_that_the_page_names_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    named = set(re.findall(r"\b((?:audit|attacks|condensers|reports|tests|docs)/[\w./-]*\w)", text))
    assert {name for name in named if not any((ROOT / f"{name}{end}").exists() for end in ("", ".py"))} == set()
