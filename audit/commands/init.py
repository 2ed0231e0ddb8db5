"""`audit init`: a privacy.toml to start from, and a workflow that runs it."""

from pathlib import Path

import click

from condensers.errors import BadInput


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), default=Path("."))
@click.option("--force", is_flag=True, help="Replace existing files.")
def init(folder: Path, force: bool) -> int:
    """Write privacy.toml and a GitHub Actions workflow into FOLDER."""
    from audit.engine.store import explain_failure, write_text
    from audit.gate.starter import GATE, WORKFLOW

    files = {folder / "privacy.toml": GATE, folder / ".github" / "workflows" / "privacy.yml": WORKFLOW}
    for path in files:
        if path.exists() and not force:
            raise BadInput(f"{path} already exists; give --force to replace it")
    for path, text in files.items():
        with explain_failure(path):
            path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, text)
        click.echo(str(path))
    click.echo("Next: `audit check --update` records the figures, `audit check` tests them.")
    return 0
