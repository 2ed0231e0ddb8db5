"""`audit condense`: make a synthetic set of all records, to be released."""

import json
from pathlib import Path
from typing import Any

import click

from audit.commands.attack import say
from audit.specs.condense import Condense
from audit.specs.options import build, with_fields


@click.command()
@with_fields(Condense)
@click.option(
    "--out", type=click.Path(path_type=Path), required=True, help="Folder for the release; must not contain one yet."
)
@click.option("--data-root", type=click.Path(path_type=Path), help="Folder that holds data sets.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def condense(out: Path, data_root: Path | None, as_json: bool, **flags: Any) -> int:
    """Condense all records once and write the set with its label: safetensors, .npz, .pt and a picture.

    With --members, only the records that fair coins chose are condensed, so that the set can be audited as if somebody
    else had made it. A private method's noise comes from the operating system, and the label states the ε that was
    spent. To resume after an interruption, run the same command again.
    """
    spec = build(Condense, flags)
    from audit.engine.where import Where
    from audit.games.run import run

    release = run(spec, Where(out=out, data_root=data_root), say)
    paths = {kind: str(path) for kind, path in release.files.items()}
    if as_json:
        click.echo(json.dumps({**release.label, "files": paths}, sort_keys=True, indent=2, ensure_ascii=False))
    else:
        click.echo(_for_people(release.label, paths))
    return 0


def _for_people(label: dict[str, Any], files: dict[str, str]) -> str:
    lines = [
        f"{label['num_images']} images of {label['num_classes']} classes of {label['dataset']}, by {label['method']}"
    ]
    if label.get("members_by_coins"):
        lines.append("condensed from the members that a file of coins chose, about half of the records: a set to audit")
    lines.append(_privacy_line(label))
    if label["starts_from_records"]:
        lines.append(
            "REAL RECORDS ARE IN THIS RELEASE: its images are, or started from, records of the data set and may still "
            "show them."
        )
    return "\n".join([*lines, "", *files.values()])


def _privacy_line(label: dict[str, Any]) -> str:
    from reports.words.rounding import say_delta, up

    privacy = label["privacy"]
    if privacy is None:
        return f"ε: none; {label['method']} adds no noise and guarantees nothing (`audit lira` measures what it leaks)"
    return (
        f"ε ≤ {up(privacy['epsilon_pld'], 4)} spent (PLD; {up(privacy['epsilon_rdp'], 4)} by RDP) at "
        f"{say_delta(privacy['delta'])}, {privacy['neighbouring']}, from the {privacy['source']}"
    )
