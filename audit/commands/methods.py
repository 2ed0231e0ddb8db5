"""`audit methods`: the condensers and attacks there are, with their settings, straight from the registries."""

import dataclasses
import json
import textwrap
from typing import Any

import click

OURS = "chosen here, in the method's file in condensers/"
WIDTH = 118


@click.command(short_help="List the condensers and attacks with their settings.")
@click.option(
    "--method", "name", metavar="NAME", help="Describe one condenser, with the source of every setting of its presets."
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def methods(name: str | None, as_json: bool) -> None:
    """List the condensers and attacks with their settings, defaults and presets.

    --method NAME describes one condenser: for every preset, where each setting comes from (paper and table, or
    repository, commit and file), what the papers leave open, what was chosen here, and how to change it.
    """
    if name is not None:
        described = describe(name)
        click.echo(json.dumps(described, indent=2, ensure_ascii=False) if as_json else _format_one(described))
        return
    found = list_all()
    click.echo(json.dumps(found, indent=2, ensure_ascii=False) if as_json else _format(found))


def describe(name: str) -> dict[str, Any]:
    """A condenser's presets with the source of every setting, and what the papers leave open."""
    from condensers.published import open_questions, published_presets
    from condensers.registry import get_method

    method = get_method(name)
    published = published_presets(method.name)
    return {
        "name": method.name,
        "summary": method.summary,
        "settings": _settings(method.config, ""),
        "presets": {
            preset: [
                *(
                    {"setting": row.setting, "value": row.value, "for": row.condition, "source": row.source}
                    for row in published.get(preset, ())
                ),
                *({"setting": key, "value": value, "for": "", "source": OURS} for key, value in own.items()),
            ]
            for preset, own in method.presets.items()
        },
        "open": [dataclasses.asdict(entry) for entry in open_questions(method.name)],
    }


def _format_one(found: dict[str, Any]) -> str:
    lines = [f"{found['name']}  {found['summary']}"]
    defaults = {setting["name"]: setting["default"] for setting in found["settings"]}
    for preset, rows in found["presets"].items():
        lines += ["", f"--preset {preset}"]
        for row in rows:
            condition = f" ({row['for']})" if row["for"] else ""
            lines += _wrapped(f"  {row['setting']} = {row['value']}{condition}", row["source"])
        rest = [name for name in defaults if name not in {row["setting"] for row in rows}]
        if rest and preset != "worst-case":
            text = "  no source is recorded for these defaults: " + ", ".join(_default(n, defaults[n]) for n in rest)
            lines += textwrap.wrap(text, WIDTH, subsequent_indent="    ")
    if found["open"]:
        lines += ["", "LEFT OPEN BY THE PAPERS"]
    for entry in found["open"]:
        for label, text in (("", entry["question"]), ("here: ", entry["choice"]), ("switch: ", entry["switch"])):
            indent = "    " if label else "  "
            lines += textwrap.wrap(indent + label + text, WIDTH, subsequent_indent=indent + "  ")
    return "\n".join(lines)


def _default(name: str, value: Any) -> str:
    by_data = name == "augmentation" and value != "none"
    return f"{name} = {value}{' (with flip where data bear mirror images)' if by_data else ''}"


def _wrapped(setting: str, source: str) -> list[str]:
    return textwrap.wrap(f"{setting:<36}  {source}", WIDTH, subsequent_indent=" " * 38, drop_whitespace=True)


def list_all() -> dict[str, Any]:
    """Everything that `--method`, `--set` and the attacks' commands can name."""
    from attacks.registry import all_attacks
    from attacks.victims import PRESETS, VictimConfig
    from condensers.plugins import entry_points
    from condensers.registry import all_methods

    return {
        "condensers": [
            {
                "name": method.name,
                "summary": method.summary,
                "settings": _settings(method.config, ""),
                "presets": method.presets,
                "releases": method.releases,
            }
            for method in all_methods().values()
        ],
        "victims": {"settings": _settings(VictimConfig, "victim."), "presets": PRESETS},
        "attacks": [
            {
                "name": attack.name,
                "summary": attack.summary,
                "needs_fit_runs": attack.needs_fit_runs,
                "levels": list(attack.levels),
                "settings": _settings(attack.config, "attack."),
            }
            for attack in all_attacks().values()
        ],
        "installed": [
            {"name": point.name, "group": group, "place": point.value}
            for group in ("condensers", "attacks")
            for point in entry_points(group).values()
        ],
    }


def _settings(config: type, prefix: str) -> list[dict[str, Any]]:
    """The fields of a config: how a person sets them, their type and their default."""
    from audit.games.settings import FLAGS

    return [
        {
            "name": field.name,
            "flag": FLAGS.get(field.name, f"--set {prefix}{field.name}="),
            "type": getattr(field.type, "__name__", str(field.type)),
            "default": None if field.default is dataclasses.MISSING else field.default,
        }
        for field in dataclasses.fields(config)
    ]


def _format(found: dict[str, Any]) -> str:
    lines = ["CONDENSERS (--method NAME)"]
    for method in found["condensers"]:
        lines += ["", f"{method['name']}  {method['summary']}", *_table(method["settings"], method["presets"])]
    lines += ["", "", "VICTIMS: the networks trained on a synthetic set", ""]
    lines += _table(found["victims"]["settings"], found["victims"]["presets"])
    lines += ["", "", "ATTACKS (audit NAME)"]
    for attack in found["attacks"]:
        learns = "learns from shadow runs" if attack["needs_fit_runs"] else "needs no shadow runs"
        learns += f"; --level {' or '.join(attack['levels'])}"
        lines += ["", f"{attack['name']}  {attack['summary']}", f"  {learns}", *_table(attack["settings"], {})]
    if found["installed"]:
        lines += ["", "", "INSTALLED BY OTHER PACKAGES, imported when named", ""]
        lines += [f"  {point['name']}  {point['place']} ({point['group']})" for point in found["installed"]]
    return "\n".join(lines)


def _table(settings: list[dict[str, Any]], presets: dict[str, dict[str, Any]]) -> list[str]:
    """One line for each setting: its default, and what presets make of it."""
    lines = []
    for setting in settings:
        name = setting["name"]
        changes = ", ".join(f"{preset}: {values[name]}" for preset, values in presets.items() if name in values)
        told = f"  ({changes})" if changes else ""
        lines.append(f"  {setting['flag']:<28}{setting['type']:<7}{setting['default']}{told}")
    return lines
