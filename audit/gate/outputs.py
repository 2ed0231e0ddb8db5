"""What a gate leaves behind: a table for people, JUnit for CI, Markdown for a pull request, JSON for machines."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from xml.etree import ElementTree

from audit.gate.file import Gate
from audit.gate.run import Outcome, exit_code

SCHEMA = "condensation-audit/check/1"
# Control characters that XML 1.0 has no way to write.
_NOT_XML = dict.fromkeys([*range(9), 11, 12, *range(14, 32)], "�")


def as_table(outcomes: Sequence[Outcome]) -> str:
    """One line for each test, then why."""
    width = max(len(outcome.status) for outcome in outcomes)
    return "\n".join(
        f"{outcome.status:<{width}}  {outcome.name}\n{'':<{width}}  {outcome.reason}" for outcome in outcomes
    )


def as_json(gate: Gate, outcomes: tuple[Outcome, ...]) -> str:
    record = {
        "schema": SCHEMA,
        "file": gate.path.name,
        "false_alarm": gate.false_alarm,
        "significance_of_each_test": gate.significance,
        "exit_code": exit_code(outcomes),
        "outcomes": [asdict(outcome) for outcome in outcomes],
    }
    return json.dumps(record, indent=2, sort_keys=True) + "\n"


def as_markdown(gate: Gate, outcomes: tuple[Outcome, ...]) -> str:
    def cell(text: str) -> str:
        return text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")

    verdict = {
        0: "nothing refuted, nothing worse",
        4: "refuted or worse",
        3: "unfinished",
        2: "bad input",
        1: "crashed",
    }
    lines = [
        f"## Privacy: {verdict[exit_code(outcomes)]}",
        "",
        f"`{gate.path.name}`, a false alarm in fewer than {gate.false_alarm:g} of all builds "
        f"(each test at {gate.significance:.2g}). Not refuted does not mean private: a stronger attack might succeed.",
        "",
        "| outcome | what | why |",
        "|---|---|---|",
        *(f"| {outcome.status} | {cell(outcome.name)} | {cell(outcome.reason)} |" for outcome in outcomes),
    ]
    return "\n".join(lines) + "\n"


def as_junit(gate: Gate, outcomes: tuple[Outcome, ...]) -> str:
    """Refuted and worse are failures; crashes, bad input and unfinished work are errors."""
    failures = sum(outcome.exit_code == 4 for outcome in outcomes)
    errors = sum(outcome.exit_code in (1, 2, 3) for outcome in outcomes)
    suite = ElementTree.Element(
        "testsuite",
        name=gate.path.name.translate(_NOT_XML),
        tests=str(len(outcomes)),
        failures=str(failures),
        errors=str(errors),
    )
    for outcome in outcomes:
        case = ElementTree.SubElement(suite, "testcase", classname="privacy", name=outcome.name.translate(_NOT_XML))
        if outcome.exit_code:
            kind = "failure" if outcome.exit_code == 4 else "error"
            ElementTree.SubElement(
                case, kind, type=outcome.status, message=outcome.reason.translate(_NOT_XML)
            ).text = outcome.command.translate(_NOT_XML)
        # What was examined, and what was not, stands beside a pass as well.
        said = f"{outcome.status}: {outcome.reason}"
        ElementTree.SubElement(case, "system-out").text = said.translate(_NOT_XML)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"
