"""Executes the notebooks of docs/notebooks, each in an empty folder, and stores their outputs: `make notebooks`."""

import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

NOTEBOOKS = Path(__file__).resolve().parents[1] / "notebooks"
TIMEOUT = 600  # seconds for one cell


def execute(path: Path) -> nbformat.NotebookNode:
    """The notebook with its outputs; raises CellExecutionError where a cell fails."""
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(notebook, timeout=TIMEOUT, resources={"metadata": {"path": folder}}).execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # times, which differ from execution to execution
    return notebook


if __name__ == "__main__":
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        print(path.name)
        nbformat.write(execute(path), path)
