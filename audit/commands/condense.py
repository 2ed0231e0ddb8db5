"""`audit condense`: make a synthetic set of all records, to be released."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

# What every command needs that condenses all records.
POOL_OPTIONS: list[Callable[[Callable[..., Any]], Callable[..., Any]]] = [
    click.option("--dataset", default="digits", show_default=True, help="Name (`audit data`), .npz file or folder."),
    click.option("--records", type=int, help="Class-balanced pool of this many records; default: all."),
    click.option("--init", type=click.Choice(["random", "real"]), help="Where images start; default: random."),
    click.option("--preset", type=click.Choice(["quick", "paper"]), default="quick", show_default=True,
                 help="Small networks and 300 steps, or the published settings."),
    click.option("--delta", type=float, default=1e-5, show_default=True, help="δ of ε."),
    click.option("--seed", type=int, default=0, show_default=True, help="Seed of everything but a release's noise."),
    click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda, cuda:N or mps."),
    click.option("--data-root", type=click.Path(path_type=Path), help="Folder of data sets."),
    click.option("--json", "as_json", is_flag=True, help="Print the result as JSON."),
]  # fmt: skip


def with_pool_options(function: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(POOL_OPTIONS):
        function = option(function)
    return function


@click.command()
@click.option("--method", default="dm", show_default=True, help="Condenser; `audit methods` lists them.")
@click.option("--ipc", type=int, help="Synthetic images per class; default 1.")
@click.option("--epsilon", type=float, help="Calibrate a private method's noise to this ε at --delta.")
@click.option("--set", "changes", multiple=True, metavar="KEY=VALUE", help="Any setting of the method; repeatable.")
@click.option(
    "--members",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Condense the members by this file of `audit coins` only, to audit the result.",
)
@click.option("--column", type=int, default=0, show_default=True, help="Of --members: whose set, N for set_N.")
@click.option("--hold-out", is_flag=True, help="Leave out the quarter of the records that `audit utility` tests on.")
@click.option(
    "--format", "formats", default="all", show_default=True, help="Of safetensors, npz, pt: which, by commas."
)
@click.option("--compile", "compiled", type=click.Choice(["auto", "on", "off"]), default="auto", show_default=True,
              help="Compiled kernels; auto: where they pay and a compiler is here.")  # fmt: skip
@click.option(
    "--out", type=click.Path(path_type=Path), required=True, help="Folder of the release; must hold none yet."
)
@with_pool_options
def condense(**flags: Any) -> int:
    """Condense all records once and write the set with its label: safetensors, .npz, .pt and a picture.

    With --members, the half of them that fair coins chose: a set to audit, as if somebody else had made it.
    A private method's noise comes from the operating system, and the ε that was spent stands on the label. The same
    command goes on after an interruption.
    """
    from dataclasses import replace

    import torch

    from audit.data.auxiliary import attach_auxiliary
    from audit.data.load import load_pool
    from audit.data.split import hold_out
    from audit.games import settings
    from audit.games.condensation import check_seed, condense_for_release, resolve_condensation
    from audit.games.membership.coins import choose_members
    from audit.games.membership.resolve import own_settings
    from audit.games.release import check_vacant, make_label, parse_formats, write_release
    from audit.specs.options import split_settings
    from condensers.registry import get_method

    formats, out = parse_formats(flags["formats"]), flags["out"]
    check_seed(flags["seed"])
    method, changes = get_method(flags["method"]), own_settings(split_settings(flags["changes"]))
    settings.check_changes(changes, {"": method.config})
    check_vacant(out)
    device = settings.resolve_device(flags["device"])
    pool = load_pool(flags["dataset"], data_root=flags["data_root"], records=flags["records"])
    chosen = choose_members(flags, pool)
    if flags["hold_out"]:
        pool, _ = hold_out(pool)
    pool = pool.to(torch.device(device))
    condensation = resolve_condensation(
        method,
        pool,
        preset=flags["preset"],
        ipc=flags["ipc"],
        init=flags["init"],
        epsilon=flags["epsilon"],
        delta=flags["delta"],
        changes=changes,
        compiled=flags["compiled"],
        by_coins=chosen is not None,
        audited=None if chosen is None or chosen.audited is None else chosen.audited.nonzero()[0].tolist(),
    )
    attached, config = attach_auxiliary(pool, condensation.config, flags["dataset"], flags["data_root"])
    pool, condensation = attached.to(pool.images.device), replace(condensation, config=config)

    def publish(batch: Any, ledger: Any) -> tuple[dict[str, Any], dict[str, Path]]:
        label = make_label(
            condensation,
            pool,
            batch,
            ledger,
            preset=flags["preset"],
            seed=flags["seed"],
            delta=flags["delta"],
            held_out=flags["hold_out"],
            by_coins=chosen is not None,
        )
        return label, write_release(out, batch.images[0].detach(), batch.labels[0], label, formats)

    label, files = condense_for_release(
        condensation,
        pool,
        publish,
        seed=flags["seed"],
        out=out,
        say=lambda line: print(f"audit: {line}", file=sys.stderr, flush=True),
        chosen=chosen,
    )
    paths = {kind: str(path) for kind, path in files.items()}
    if flags["as_json"]:
        click.echo(json.dumps({**label, "files": paths}, sort_keys=True, indent=2, ensure_ascii=False))
    else:
        click.echo(_for_people(label, paths))
    return 0


def _for_people(label: dict[str, Any], files: dict[str, str]) -> str:
    lines = [
        f"{label['num_images']} images of {label['num_classes']} classes of {label['dataset']}, by {label['method']}"
    ]
    if label.get("members_by_coins"):
        lines.append("made of the members by a file of coins, about half of the records: a set to audit")
    lines.append(_privacy_line(label))
    if label["starts_from_records"]:
        lines.append(
            "REAL RECORDS ARE IN THIS RELEASE: its images are, or started from, records of the data set and may still "
            "show them."
        )
    return "\n".join([*lines, "", *files.values()])


def _privacy_line(label: dict[str, Any]) -> str:
    from reports.words.rounding import up

    privacy = label["privacy"]
    if privacy is None:
        return f"ε: none; {label['method']} adds no noise and guarantees nothing (`audit lira` measures what it shows)"
    return (
        f"ε ≤ {up(privacy['epsilon_pld'], 4)} spent (PLD; {up(privacy['epsilon_rdp'], 4)} by RDP) at δ = "
        f"{privacy['delta']:g}, {privacy['neighbouring']}, from the {privacy['source']}"
    )
