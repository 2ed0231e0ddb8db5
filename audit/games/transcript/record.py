"""One audit of the worst case from its experiment to its record and its pages."""

from collections.abc import Callable
from dataclasses import asdict, replace

import torch

from audit.accounting.curve import tradeoff_curve
from audit.accounting.ledger import claim_from_ledger, ledger_event
from audit.engine.pages import write_pages
from audit.engine.store import RunDirectory, explain_failure, write_text
from audit.engine.where import Where
from audit.games.scope import in_scope
from audit.games.settings import versions
from audit.games.transcript.adversary import headline_design
from audit.games.transcript.experiment import Experiment
from audit.games.transcript.runs import Transcript, choose_length, compute_runs
from audit.games.transcript.verdict import bound_all, judge, try_all
from audit.statistics.estimators.clopper_pearson import NAME as CLOPPER_PEARSON
from audit.statistics.outlook import curve_on_grid, look_ahead_runs
from audit.statistics.run_roc import measure_run_roc
from condensers.errors import Incomplete
from condensers.plugins import directory_part
from reports.documents.worst_case import WorstCaseMaterial, build_worst_case
from reports.records.schema import dump
from reports.records.worst_case import ATTACK, WorstCaseReport


def run_worst_case(experiment: Experiment, command: str, where: Where, say: Callable[[str], None]) -> WorstCaseReport:
    """Run or resume an audit and keep the record under `where.out`; returned with paths as seen from here."""
    torch.set_num_threads(1)
    name = f"{ATTACK}-{directory_part(experiment.method.name)}-{experiment.digest}"
    directory = RunDirectory(where.out / name)
    length = choose_length(experiment)
    directory.create()
    try:
        with directory.held():
            write_text(directory.config, experiment.to_json())
            heard = compute_runs(experiment, length, directory, where, say)
            report = in_scope(_summarise(experiment, heard, command, say))
            report = replace(report, versions=versions(experiment.method), digest=experiment.digest, run_directory=name)
            write_text(directory.report, dump(report))
    except KeyboardInterrupt:
        raise Incomplete(
            f"interrupted: finished groups of runs are kept in {directory.path}; run the same command again to go on"
        ) from None
    return replace(report, run_directory=str(directory.path), pdf=str(directory.pdf))


def draw_worst_case(report: WorstCaseReport, directory: RunDirectory) -> None:
    """The PDF with its figure, and the page; from the record alone."""
    kept = replace(report, run_directory=directory.path.name, pdf=directory.pdf.name)
    with explain_failure(directory.pdf), directory.held():
        write_pages(build_worst_case(WorstCaseMaterial(report=kept)), directory)


def _summarise(
    experiment: Experiment, heard: dict[str, Transcript], command: str, say: Callable[[str], None]
) -> WorstCaseReport:
    headline = heard[headline_design(experiment.designs)]
    say("what the ledger claims")
    claimed = claim_from_ledger(headline.ledger, experiment.delta)
    say("testing")
    curve = tradeoff_curve(ledger_event(headline.ledger), directed=True)
    attempts = try_all(experiment, heard, curve)
    bounds, reason = bound_all(headline, experiment)
    assert claimed.epsilon_pld is not None
    verdict, verdict_reason = judge(attempts, claimed)
    return WorstCaseReport(
        command=command,
        method=experiment.method.name,
        verdict=verdict,
        verdict_reason=verdict_reason,
        epsilon=bounds[0],
        bounds=bounds,
        claimed=claimed,
        tightness=None if reason else bounds[0].lower / claimed.epsilon_pld,
        tightness_reason=reason,
        attempts=attempts,
        canary_length=headline.shortest,
        canary_typical_length=headline.typical,
        ledger=tuple({**asdict(entry), "count": count} for entry, count in headline.ledger),
        config=asdict(experiment.config),
        class_sizes=experiment.class_sizes,
        num_trials=experiment.trials,
        seed=experiment.seed,
        threat_model=(
            "Level transcript: the adversary sees every noisy sum that the method drew from the records.",
            "It chose the neighbouring pools and knows all public randomness (networks, augmentations, first images).",
            "It does not know the sampling and the noise, which belong to a run.",
        ),
        versions={},
        digest="",
        run_directory="",
        roc=measure_run_roc(headline.evidence("likelihood"), confidence=experiment.confidence),
        tradeoff=curve_on_grid(curve, "trade-off curve of what ran, by its privacy loss distribution"),
        outlook=look_ahead_runs(
            next(bound for bound in bounds if bound.estimator == CLOPPER_PEARSON), num_runs=experiment.trials
        ),
    )
