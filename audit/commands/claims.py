"""`audit claims`: published claims, tested."""

import sys
from pathlib import Path

import click

from condensers.errors import BadConfig


@click.command()
@click.option("--run", "name", metavar="NAME", help="Test this claim (`all`: every one that can be tested here).")
@click.option(
    "--scale",
    type=click.Choice(["quick", "full"]),
    default="quick",
    show_default=True,
    help="Minutes, or the published numbers of shadows.",
)
@click.option(
    "--seed",
    type=int,
    default=3,
    show_default=True,
    help="Seed of everything; the attack on sets was designed while looking at seed 0.",
)
@click.option("--jobs", type=int, help="Worker processes; default: one per core.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("runs"),
    show_default=True,
    help="Folder that holds run directories.",
)
@click.option("--json", "as_json", is_flag=True, help="Print findings as JSON.")  # fmt: skip
def claims(name: str | None, scale: str, seed: int, jobs: int | None, out: Path, as_json: bool) -> int:
    """The ledger of published claims: who says what, and what a test of it found.

    Without --run it prints what was found in --out, or else what the authors found. Exit 0 whatever the verdicts: a
    contradicted claim of a paper is a result, not a failure.
    """
    import json
    from dataclasses import asdict

    from audit.claims.run import CLAIMS, read_findings, run_claim

    if name is not None and name != "all" and name not in CLAIMS:
        raise BadConfig(f"--run {name}: no such claim; there are {', '.join(CLAIMS)}")
    if name is None:
        shown = read_findings(out)
    else:
        chosen = [CLAIMS[name]] if name != "all" else [claim for claim in CLAIMS.values() if claim.tests]
        shown = {
            claim.name: run_claim(
                claim,
                scale=scale,
                out=out,
                jobs=jobs,
                seed=seed,
                say=lambda line: print(f"audit: {line}", file=sys.stderr, flush=True),
            )
            for claim in chosen
        }
    if as_json:
        click.echo(json.dumps([asdict(one) for findings in shown.values() for one in findings], indent=2))
        return 0
    for claim in CLAIMS.values():
        if name is None or claim.name in shown:
            click.echo(_for_people(claim, shown.get(claim.name, ())))
    return 0


def _for_people(claim, findings) -> str:  # type: ignore[no-untyped-def]
    from audit.claims.accusations import accusations_of

    lines = [claim.name, f"  {claim.statement}", f"  {claim.who}; {claim.where}"]
    for accusation in accusations_of(claim.name):
        first, *rest = accusation.lines
        lines += [f"  released code, {first}", *(f"    {line}" for line in rest)]
    if not claim.tests:
        lines.append(f"  NOT TESTABLE HERE  it would take {claim.needs}")
    elif not findings:
        lines.append(f"  not tested yet: audit claims --run {claim.name}")
    for one in findings:
        lines += [
            f"  {one.headline}  {one.test} ({one.scale}, {one.confidence:.1%} confidence)",
            f"    threat model: {one.threat_model}",
            f"    claimed for: {one.claimed_for}",
            f"    tested in: {one.tested_in}",
            *([f"    MISMATCH: {'; '.join(one.mismatches)}"] if one.mismatches else []),
            f"    {one.figures}",
            *(f"    {command}" for command in one.commands),
        ]
    return "\n".join([*lines, ""])
