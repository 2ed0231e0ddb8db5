"""`audit data`: which sets there are, which are here; what an audit would load; fetching one."""

import json
from pathlib import Path
from typing import Any

import click

from audit.data.catalog import BY_NAME, DATASETS, DEFAULT_ROOT, ROOT_VARIABLE, resolve_root, search
from condensers.errors import BadConfig


@click.command(short_help="List, check or download data sets.")
@click.argument("dataset", required=False)
@click.option(
    "--data-root",
    type=click.Path(path_type=Path),
    help=f"Folder that holds data sets. [default: ${ROOT_VARIABLE}, else {DEFAULT_ROOT}]",
)
@click.option("--records", type=int, help="With DATASET: load a class-balanced pool of this many records.")
@click.option("--get", "wanted", metavar="NAME", help="Download a data set into the data root and verify its checksum.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def data(dataset: str | None, data_root: Path | None, records: int | None, wanted: str | None, as_json: bool) -> None:
    """List the data sets, whether they are installed and how to get them.

    With DATASET (a name, an .npz file or a folder of class folders), load and check it as an audit would, and describe
    its contents.
    """
    if wanted is not None and dataset is not None:
        raise BadConfig(f"--get {wanted}: give either --get or DATASET, not both")
    if records is not None and dataset is None:
        raise BadConfig(f"--records {records}: can only be given together with DATASET")
    if wanted is not None:
        result = _get(wanted, data_root)
        text = f"{wanted}: {result['path']}"
    elif dataset is not None:
        result = _describe(dataset, data_root, records)
        text = _format_description(result)
    else:
        result = _list(resolve_root(data_root))
        text = _format_list(result)
    click.echo(json.dumps(result, indent=2, ensure_ascii=False) if as_json else text)


def _get(name: str, data_root: Path | None) -> dict[str, Any]:
    from audit.data.download import download

    root = data_root.expanduser() if data_root is not None else resolve_root(None)
    if name in BY_NAME:
        path = search(BY_NAME[name], root).path
        if path is not None:
            return {"name": name, "path": str(path) if BY_NAME[name].places else BY_NAME[name].layout}
    return {"name": name, "path": str(download(name, root, lambda line: click.echo(line, err=True)))}


def _describe(dataset: str, data_root: Path | None, records: int | None) -> dict[str, Any]:
    from audit.data.load import count_duplicates, load_pool, load_test, pool_checksum

    pool = load_pool(dataset, data_root=data_root, records=records)
    test = load_test(dataset, data_root=data_root)
    checksum = pool_checksum(pool)
    published = BY_NAME[dataset].checksum if dataset in BY_NAME and records is None else None
    return {
        "name": pool.name,
        "shape": list(pool.images.shape[1:]),
        "classes": pool.num_classes,
        "records": pool.num_records,
        "records_per_class": pool.labels.bincount(minlength=pool.num_classes).tolist(),
        "test_records": 0 if test is None else test.num_records,
        "duplicates": count_duplicates(pool),
        "checksum": checksum,
        "content": "not known"
        if published is None
        else "as published"
        if published == checksum
        else "not as published",
    }


def _format_description(result: dict[str, Any]) -> str:
    counts = result["records_per_class"]
    lines = {
        "data set": result["name"],
        "record": _format_shape(result["shape"]),
        "classes": str(result["classes"]),
        "records": f"{result['records']} ({min(counts)} to {max(counts)} per class)",
        "test records": str(result["test_records"] or "none"),
        "duplicates": f"{result['duplicates']} records equal an earlier one",
        "content": result["content"],
        "sha256": result["checksum"],
    }
    return "\n".join(f"{name:<14}{value}" for name, value in lines.items())


def _list(root: Path) -> dict[str, Any]:
    rows = []
    for dataset in DATASETS:
        found = search(dataset, root)
        rows.append(
            {
                "name": dataset.name,
                "shape": list(dataset.shape),
                "classes": dataset.num_classes,
                "records": dataset.num_records,
                "test_records": dataset.num_test,
                "here": found.path is not None,
                "path": None if found.path is None or not dataset.places else str(found.path),
                "looked_in": [str(folder) for folder in found.looked_in],
                "objections": list(found.objections),
                "layout": dataset.layout,
                "get": dataset.get,
            }
        )
    return {"data_root": str(root), "datasets": rows}


def _format_list(result: dict[str, Any]) -> str:
    lines = [f"{'name':<15}{'record':<10}{'classes':>7}{'records':>9}{'test':>7}  {'here':<6}where, or how to get it"]
    for row in result["datasets"]:
        lines.append(
            f"{row['name']:<15}{_format_shape(row['shape']):<10}{row['classes']:>7}{row['records']:>9}"
            f"{row['test_records'] or '-':>7}  {'yes' if row['here'] else 'no':<6}"
            f"{(row['path'] or row['layout']) if row['here'] else row['get']}"
        )
    lines += [f"note: {objection}" for row in result["datasets"] for objection in row["objections"]]
    lines += [
        "",
        "Sizes are those of the published sets; `audit data NAME` loads the installed data and describes them.",
        f"Data sets are searched for below {result['data_root']} (--data-root, or ${ROOT_VARIABLE}).",
        "For your own data, give --dataset FILE.npz, or --dataset FOLDER with one folder of pictures per class.",
    ]
    return "\n".join(lines)


def _format_shape(shape: list[int]) -> str:
    return "×".join(map(str, shape))
