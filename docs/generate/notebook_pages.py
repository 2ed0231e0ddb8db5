"""Notebooks as pages: text as it is, code in fences, outputs as they were stored when the notebook was executed."""

import base64
import html
import re
from pathlib import Path
from typing import Any

import nbformat


def describe_notebook(path: Path) -> tuple[str, dict[str, bytes]]:
    """Markdown of a notebook, and the pictures it shows under their file names."""
    notebook = nbformat.read(path, as_version=4)
    pictures: dict[str, bytes] = {}
    blocks: list[str] = []
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type == "markdown":
            blocks.append(cell.source)
        elif cell.cell_type == "code":
            blocks.append(f"```python\n{cell.source}\n```")
            for place, output in enumerate(cell.outputs):
                blocks += _output(output, f"{path.stem}-{number}-{place}.png", pictures)
    blocks.insert(1, f"This page is the notebook [{path.name}]({path.name}), which you can download and run.")
    return "\n\n".join(blocks) + "\n", pictures


def _output(output: Any, name: str, pictures: dict[str, bytes]) -> list[str]:
    if output.output_type == "stream":
        return [f"```text\n{output.text.rstrip()}\n```"]
    data = output.get("data", {})
    if "image/png" in data:
        pictures[name] = base64.b64decode(data["image/png"])
        words = html.escape(output.get("metadata", {}).get("alt", "Figure drawn by the cell above"))
        return [f"![{words}]({name})"]
    if "text/html" in data:
        return [re.sub(r"\n\s*\n", "\n", data["text/html"])]
    return [f"```text\n{data['text/plain']}\n```"] if "text/plain" in data else []
