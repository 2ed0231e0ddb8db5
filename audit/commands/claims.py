"""`audit claims`: published claims, tested."""

from pathlib import Path
from typing import Any

import click

from audit.commands.workers import executor_of, with_workers
from condensers.errors import BadConfig
from condensers.spelling import did_you_mean

MOST_SEED = 1 << 62  # each test counts on from it


@click.command()
@click.option("--run", "name", metavar="NAME", help="Test this claim (`all`: every one that can be tested here).")
@click.option(
    "--scale",
    type=click.Choice(["quick", "full"]),
    default="quick",
    show_default=True,
    help="quick: minutes; full: the published numbers of shadows.",
)
@click.option(
    "--seed",
    type=int,
    default=3,
    show_default=True,
    help="Seed of all random numbers. Seed 0 was used to design the attack on sets.",
)
@with_workers
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("runs"),
    show_default=True,
    help="Folder that holds run directories.",
)
@click.option("--details", is_flag=True, help="Print all details of each claim instead of the summary table.")
@click.option("--json", "as_json", is_flag=True, help="Print findings as JSON.")  # fmt: skip
def claims(name: str | None, scale: str, seed: int, out: Path, details: bool, as_json: bool, **workers: Any) -> int:
    """List published claims about the privacy of condensation, with the result of testing each.

    Without --run it prints the findings in --out, or else those recorded with this package. Exits 0 whatever the
    verdicts: a contradicted claim is a result, not a failure.
    """
    import json
    from dataclasses import asdict

    from audit.claims.run import CLAIMS, read_findings, run_claim
    from audit.engine.progress import on_stderr

    if not 0 <= seed <= MOST_SEED:
        raise BadConfig(f"--seed {seed}: must lie in 0…{MOST_SEED}")
    if name is not None and name != "all" and name not in CLAIMS:
        raise BadConfig(f"--run {name}: no such claim; there are {', '.join(CLAIMS)}{did_you_mean(name, CLAIMS)}")
    if name is None:
        shown = read_findings(out)
    else:
        chosen = [CLAIMS[name]] if name != "all" else [claim for claim in CLAIMS.values() if claim.tests]
        shown = {
            claim.name: run_claim(
                claim,
                scale=scale,
                out=out,
                executor=executor_of(workers),
                seed=seed,
                say=on_stderr,
            )
            for claim in chosen
        }
    if as_json:
        click.echo(json.dumps([asdict(one) for findings in shown.values() for one in findings], indent=2))
        return 0
    if name is None and not details:
        click.echo(_summary(CLAIMS.values(), shown))
        return 0
    for claim in CLAIMS.values():
        if name is None or claim.name in shown:
            click.echo(_for_people(claim, shown.get(claim.name, ())))
    return 0


def _summary(claims, shown) -> str:  # type: ignore[no-untyped-def]
    """A table: claim, verdict of each test, and what it was tested in."""
    rows = [("claim", "verdict", "tested in")]
    for claim in claims:
        findings = shown.get(claim.name, ())
        if not findings:
            rows.append((claim.name, "not tested yet" if claim.tests else "NOT TESTABLE HERE", ""))
        rows += [(claim.name if one is findings[0] else "", one.headline, one.tested_in) for one in findings]
    first, second = (2 + max(len(row[column]) for row in rows) for column in (0, 1))
    lines = [f"{name:<{first}}{verdict:<{second}}{scope}".rstrip() for name, verdict, scope in rows]
    return "\n".join(
        [*lines, "", "`audit claims --details` also prints who makes each claim, the figures and the commands."]
    )


def _for_people(claim, findings) -> str:  # type: ignore[no-untyped-def]
    from audit.claims.accusations import accusations_of
    from reports.words.rounding import percent

    lines = [claim.name, f"  {claim.statement}", f"  {claim.who}; {claim.where}"]
    for accusation in accusations_of(claim.name):
        first, *rest = accusation.lines
        lines += [f"  released code, {first}", *(f"    {line}" for line in rest)]
    if not claim.tests:
        lines.append(f"  NOT TESTABLE HERE  it would take {claim.needs}")
    elif not findings:
        lines.append(f"  not tested yet: audit claims --run {claim.name}")
    for one in findings:
        certainty = "arithmetic" if one.confidence is None else f"{percent(one.confidence)} confidence"
        lines += [
            f"  {one.headline}  {one.test} ({one.scale}, {certainty})",
            f"    threat model: {one.threat_model}",
            f"    claimed for: {one.claimed_for}",
            f"    tested in: {one.tested_in}",
            *([f"    MISMATCH: {'; '.join(one.mismatches)}"] if one.mismatches else []),
            f"    {one.figures}",
            *(f"    {command}" for command in one.commands),
        ]
    return "\n".join([*lines, ""])
