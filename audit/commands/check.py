"""`audit check privacy.toml`: the gate of a build."""

import os
from pathlib import Path
from typing import Any

import click

from audit.commands.workers import executor_of, with_workers
from condensers.errors import BadConfig


@click.command()
@click.argument("file", type=click.Path(path_type=Path), default=Path("privacy.toml"))
@click.option("--update", is_flag=True, help="Record the present figures and print what changed.")
@click.option("--seed", type=int, help="Use this seed instead of the one in the file.")
@with_workers
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("privacy-check"),
    show_default=True,
    help="Folder for junit.xml, summary.md, check.json and the runs.",
)
@click.option("--json", "as_json", is_flag=True, help="Print check.json.")  # fmt: skip
def check(file: Path, **flags: Any) -> int:
    """Test the guarantees in FILE, and that no recorded figure has become worse.

    The false-alarm rate holds for the whole file. Exit 4: a guarantee is refuted or a figure is worse; 3: unfinished;
    1: a crash, which is not a finding. `audit init` writes an example file.
    """
    from dataclasses import replace

    from audit.engine.progress import on_stderr
    from audit.engine.store import explain_failure, write_text
    from audit.gate import outputs
    from audit.gate.file import read_gate
    from audit.gate.run import exit_code, run_gate

    executor = executor_of(flags)
    gate, out = read_gate(file), flags["out"]
    if flags["seed"] is not None:
        if not 0 <= flags["seed"] < 1 << 63:
            raise BadConfig(f"--seed {flags['seed']}: must lie in 0…2^63 − 1")
        gate = replace(gate, seed=flags["seed"])
    with explain_failure(out):
        out.mkdir(parents=True, exist_ok=True)
    outcomes = run_gate(
        gate,
        out=out / "runs",
        update=flags["update"],
        executor=executor,
        say=on_stderr,
    )
    summary = outputs.as_markdown(gate, outcomes)
    write_text(out / "check.json", outputs.as_json(gate, outcomes))
    write_text(out / "junit.xml", outputs.as_junit(gate, outcomes))
    write_text(out / "summary.md", summary)
    if page := os.environ.get("GITHUB_STEP_SUMMARY"):
        try:
            with open(page, "a", encoding="utf-8") as stream:
                stream.write(summary)
        except OSError as error:  # what was found decides the exit code
            on_stderr(f"GITHUB_STEP_SUMMARY {page}: cannot be written: {error.strerror}")
    click.echo(
        outputs.as_json(gate, outcomes) if flags["as_json"] else outputs.as_table(outcomes), nl=not flags["as_json"]
    )
    return exit_code(outcomes)
