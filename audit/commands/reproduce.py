"""`audit reproduce`: tables and figures of papers, run again."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from audit.commands.workers import executor_of, with_workers
from audit.specs.options import build, with_fields
from audit.specs.reproduce import Reproduce
from condensers.errors import BadConfig, BadData, Incomplete

NOT_HERE = "not here"
OF_THE_LIST = ("data_root", "as_json")


def _fields() -> Any:
    """The options of the specification; the item stands by itself."""

    def decorate(function: Any) -> Any:
        decorated: Any = with_fields(Reproduce)(function)
        decorated.__click_params__ = [param for param in decorated.__click_params__ if param.name != "item"]
        return decorated

    return decorate


@click.command()
@click.argument("item", metavar="[ITEM]", required=False)
@_fields()
@with_workers
@click.option("--all", "everything", is_flag=True, help="Every item.")
@click.option("--plan", "planned", is_flag=True,
              help="Only print how long it would take here, by a probe of some seconds per value.")  # fmt: skip
@click.option("--data-root", type=click.Path(path_type=Path), help="Folder that holds data sets.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("runs"), show_default=True,
              help="Folder that holds run directories.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print the records as JSON.")
def reproduce(item: str | None, everything: bool, planned: bool, **flags: Any) -> int:
    """Reproduce a table or a figure of a paper and compare our values with the published ones.

    Without ITEM it lists the items and the data they need. Results are a PDF, an HTML page, table.csv and table.md in a
    run directory. To resume after an interruption, run the same command again. Exits 0 whether or not the values agree:
    a disagreement is a result. Exits 3 if the data of every value are missing.
    """
    from audit.reproduce.tables import published_item, published_items

    if everything and item is not None:
        raise BadConfig(f"--all and ITEM {item}: give only one of them")
    if item is None and not everything:
        _refuse_without_item()
        click.echo(_list(as_json=flags["as_json"], data_root=flags["data_root"]), nl=not flags["as_json"])
        return 0
    names = list(published_items()) if everything else [published_item(str(item)).name]
    specs = [build(Reproduce, {**flags, "item": name}) for name in names]
    if everything and specs[0].settings:
        from audit.reproduce.plan import share_settings

        specs = list(share_settings(specs))
    from audit.commands.attack import say
    from audit.engine.where import Where

    where = Where(out=flags["out"], executor=_executor(flags), data_root=flags["data_root"])
    if planned:
        click.echo(_costs(specs, where, as_json=flags["as_json"]), nl=not flags["as_json"])
        return 0
    from audit.reproduce.run import run_reproduction
    from reports.records import schema
    from reports.records.reproduction import NOT_RUN
    from reports.words.reproduction import summary

    reports, finished = [], {}  # type: ignore[var-annotated]
    for spec in specs:
        say(spec.command())
        reports.append(run_reproduction(spec, where, say, finished))
        if not flags["as_json"]:
            click.echo(f"{spec.item:<20}{summary(reports[-1])}\n  {reports[-1].pdf}")
    if flags["as_json"]:
        records = [json.loads(schema.dump(report)) for report in reports]
        click.echo(json.dumps(records if everything else records[0], indent=2, ensure_ascii=False))
    if all(row.agreement == NOT_RUN for report in reports for row in report.rows):
        raise Incomplete(
            "nothing could be tested: the data of every value are missing; `audit data` says how to get them"
        )
    return 0


def _executor(flags: dict[str, Any]) -> Any:
    """What the options ask for; at scale smoke, unless they say something, this process: starting workers takes longer
    than the work.
    """
    if flags["scale"] == "smoke" and flags["executor"] == "local" and flags["jobs"] is None:
        from audit.engine.executor import InProcess

        return InProcess()
    return executor_of(flags)


def _costs(specs: list[Reproduce], where: Any, *, as_json: bool) -> str:
    """What --plan prints: every specification with its time, and the sum."""
    from audit.commands.attack import say
    from audit.commands.plan import duration
    from audit.reproduce.cost import expect_item

    expected = {spec.item: expect_item(spec, where, say) for spec in specs}
    if as_json:
        kept = {item: [asdict(one) for one in costs] for item, costs in expected.items()}
        return json.dumps(kept, indent=2, ensure_ascii=False) + "\n"
    lines = []
    for item, costs in expected.items():
        told = [one for one in costs if one.seconds is not None]
        lines.append(f"{item}: {duration(sum(one.seconds or 0.0 for one in told))} for what was probed")
        lines += [
            f"  {duration(one.seconds) if one.seconds is not None else one.why_not}  {one.command}" for one in costs
        ]
    return "\n".join(lines)


def _refuse_without_item() -> None:
    """The list takes no options but those of its own."""
    context = click.get_current_context()
    for param in context.command.params:
        given = context.get_parameter_source(str(param.name)) is ParameterSource.COMMANDLINE
        if given and param.name not in OF_THE_LIST:
            raise BadConfig(f"{param.opts[-1]}: give an item or --all; `audit reproduce` lists the items")


def _list(*, as_json: bool, data_root: Path | None) -> str:
    from audit.reproduce.tables import published_items

    items = published_items().values()
    here = _missing_data(tuple(dict.fromkeys(name for item in items for name in item.datasets)), data_root)
    entries: list[dict[str, Any]] = [
        {
            "item": item.name,
            "title": item.title,
            "paper": item.paper,
            "where": item.where,
            "values": len(item.cells),
            "data": {name: here[name] != NOT_HERE for name in item.datasets},
            "not_run": [f"{what}: {why}" for what, why in item.quoted],
        }
        for item in items
    ]
    if as_json:
        return json.dumps(entries, indent=2, ensure_ascii=False) + "\n"
    lines, paper = [], ""
    for entry in entries:
        if entry["paper"] != paper:
            paper = entry["paper"]
            lines += ["", paper]
        data = ", ".join(f"{name} ({here[name]})" if here[name] else name for name in entry["data"])
        lines.append(f"  {entry['item']:<20}{entry['title']}")
        lines.append(f"  {'':<20}{entry['values']} value{'' if entry['values'] == 1 else 's'}; needs {data}")
        lines += [f"  {'':<20}not run: {one}" for one in entry["not_run"]]
    how = "audit reproduce ITEM --scale smoke|reduced|full; scale smoke needs only digits; docs/reproduction.md"
    return "\n".join([*lines[1:], "", how])


def _missing_data(names: tuple[str, ...], data_root: Path | None) -> dict[str, str]:
    """What is missing of each data set, in words; empty if nothing is, as far as the files tell.

    Only archives are counted: a copy in the files that the authors publish is whole.
    """
    from audit.data.catalog import BY_NAME, resolve_root, search
    from reports.records.scope import grouped

    root = resolve_root(data_root)
    missing = {}
    for name in names:
        whole = BY_NAME[name].num_records
        path = search(BY_NAME[name], root).path
        missing[name] = NOT_HERE if path is None else ""
        if path is not None and path.suffix == ".npz":
            try:
                found = BY_NAME[name].read(path, "train")
            except BadData:
                missing[name] = "cannot be read"
                continue
            size = 0 if found is None else len(found.labels)
            missing[name] = f"{grouped(size)} of {grouped(whole)} training records here" if size < whole else ""
    return missing
