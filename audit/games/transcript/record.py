"""One audit of the worst case from its experiment to its record and its pages."""

from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import torch

from audit.accounting.claims import parse_claim
from audit.accounting.curve import TradeoffCurve, stated_curve, tradeoff_curve
from audit.accounting.ledger import claim_from_ledger, ledger_event
from audit.engine.pages import write_pages
from audit.engine.store import RunDirectory, explain_failure, write_text
from audit.engine.where import Where
from audit.games import contracts as rules
from audit.games.neighbours import headline_design
from audit.games.scope import in_scope
from audit.games.settings import versions
from audit.games.transcript.experiment import Experiment
from audit.games.transcript.noise import examine_noise
from audit.games.transcript.reach import rehearse
from audit.games.transcript.runs import choose_length
from audit.games.transcript.transcripts import Transcript
from audit.games.transcript.verdict import WAYS, Pair, bound_all, judge, num_declared, pairs_of, try_all
from audit.games.transcript.work import compute_runs
from audit.statistics.estimators.clopper_pearson import NAME as CLOPPER_PEARSON
from audit.statistics.outlook import curve_on_grid, look_ahead_runs
from audit.statistics.run_roc import measure_run_roc
from condensers.errors import BadConfig, BrokenContract, Incomplete
from condensers.plugins import directory_part
from reports.documents.worst_case import WorstCaseMaterial, build_worst_case
from reports.records.schema import Claim, EpsilonBound, dump
from reports.records.worst_case import ATTACK, ContractCheck, WorstCaseReport

SEEN = {
    "transcript": "Level transcript: the adversary sees every noisy sum that the method computed from the records, "
    "and what it released.",
    "set": "Level set: the adversary sees the released set.",
    "model": "Level model: the adversary sees a network that was trained on the released set, or the released network.",
}
KNOWN = (
    "It chose the neighbouring pools and knows all public randomness (networks, augmentations, first images).",
    "It does not know the sampling and the noise, which are drawn anew in every run.",
)
INDEPENDENT = (
    "It chose the neighbouring pools. Every run draws all of its randomness anew, and the adversary knows none of it.",
)
Say = Callable[[str], None]


def run_worst_case(experiment: Experiment, command: str, where: Where, say: Say) -> WorstCaseReport:
    """Run or resume an audit and keep the record under `where.out`; returned with paths as seen from here."""
    torch.set_num_threads(1)
    name = f"{ATTACK}-{directory_part(experiment.method.name)}-{experiment.level}-{experiment.digest}"
    directory = RunDirectory(where.out / name)
    checks = _check(experiment)
    broken = rules.broken(checks)
    plan = None if broken else _prepare(experiment, checks)
    directory.create()
    try:
        with directory.held():
            write_text(directory.config, experiment.to_json())
            if broken:
                report = _broken(experiment, checks, broken, command)
            elif plan is None or not plan.designs:
                report = _nothing(experiment, checks, plan, command)
            else:
                report = _measure(experiment, checks, plan, command, directory, where, say)
            report = replace(
                in_scope(report), versions=versions(experiment.method), digest=experiment.digest, run_directory=name
            )
            write_text(directory.report, dump(report))
    except KeyboardInterrupt:
        raise Incomplete(
            f"interrupted: finished groups of runs are kept in {directory.path}; run the same command again to resume"
        ) from None
    return replace(report, run_directory=str(directory.path), pdf=str(directory.pdf))


def draw_worst_case(report: WorstCaseReport, directory: RunDirectory) -> None:
    """The PDF with its figure, and the page; from the record alone."""
    kept = replace(report, run_directory=directory.path.name, pdf=directory.pdf.name)
    with explain_failure(directory.pdf), directory.held():
        write_pages(build_worst_case(WorstCaseMaterial(report=kept)), directory)


def _check(experiment: Experiment) -> tuple[ContractCheck, ...]:
    if not experiment.method.private:
        return ()
    return rules.check_contracts(
        rules.Bench(
            method=experiment.method,
            config=experiment.config,
            class_sizes=experiment.class_sizes,
            input_shape=experiment.input_shape,
            seed=experiment.seed,
        )
    )


class Prepared:
    """The canary, the designs that apply, and whether runs are made one by one."""

    def __init__(self, experiment: Experiment, *, one_by_one: bool) -> None:
        self.one_by_one, self.left_out = one_by_one, dict[str, str]()
        self.length = choose_length(experiment)
        errors: list[BadConfig] = []
        for design in experiment.designs:
            try:
                reason = rehearse(experiment, design, self.length, one_by_one=one_by_one)
            except BadConfig as error:
                errors.append(error)
                reason = f"the method fails on it: {error}"
            if reason:
                self.left_out[design] = reason
        if errors and len(errors) == len(experiment.designs):
            raise errors[0]
        self.designs = tuple(design for design in experiment.designs if design not in self.left_out)


def _prepare(experiment: Experiment, checks: tuple[ContractCheck, ...]) -> Prepared:
    alone = any(check.name == rules.GROUPS and check.held is False for check in checks)
    return Prepared(experiment, one_by_one=alone or not experiment.method.private)


def claim_of(experiment: Experiment, transcripts: dict[str, Transcript]) -> tuple[Claim | None, TradeoffCurve | None]:
    """What is claimed: by a person, or by the ledger of what ran; None where nobody claims anything."""
    if experiment.claim:
        return _stated(experiment)
    ledger = next(iter(transcripts.values())).ledger
    if ledger is None:
        return None, None
    return claim_from_ledger(ledger, experiment.delta), tradeoff_curve(ledger_event(ledger), directed=True)


def _stated(experiment: Experiment) -> tuple[Claim, TradeoffCurve]:
    curve, claimed = stated_curve(parse_claim(experiment.claim), experiment.delta)
    return claimed, curve


def _measure(
    experiment: Experiment,
    checks: tuple[ContractCheck, ...],
    plan: Prepared,
    command: str,
    directory: RunDirectory,
    where: Where,
    say: Say,
) -> WorstCaseReport:
    try:
        transcripts = compute_runs(
            experiment, plan.designs, plan.length, directory, where, say, one_by_one=plan.one_by_one
        )
        ledgers = {transcript.ledger for transcript in transcripts.values()}
        if len(ledgers) > 1:
            raise BrokenContract(
                "designs wrote different ledgers: the accounting depends on the records (equal ledgers)"
            )
    except BrokenContract as error:
        check = ContractCheck(name=rules.LEDGERS, held=False, sentence=f"{error}."[:1].upper() + f"{error}."[1:])
        return _broken(experiment, (*checks, check), check, command)
    pairs = pairs_of(transcripts)
    if not pairs:
        plan.left_out |= dict.fromkeys(plan.designs, "every score has the same value in all runs")
        return _nothing(experiment, checks, plan, command)
    say("testing")
    claimed, curve = claim_of(experiment, transcripts)
    first = headline_design(plan.designs)
    kept = transcripts["alone"].noise if "alone" in transcripts and _examines_noise(checks) else None
    attempts = () if curve is None else try_all(experiment, transcripts, curve, more_tries=kept is not None)
    noise = None if kept is None else examine_noise(kept, WAYS * (num_declared(transcripts) + 1))
    headline = _headline(pairs, first)
    bounds, reason = bound_all(transcripts, experiment, headline, is_claimed=claimed is not None)
    verdict, why = judge(attempts, claimed, noise, bounds[0], experiment.confidence)
    family = None if reason else next(bound for bound in bounds if bound.estimator == "family")
    tightness = (
        None if family is None or claimed is None or not claimed.epsilon_pld else family.lower / claimed.epsilon_pld
    )
    ledger = transcripts[first].ledger
    examined = _examined(experiment, plan, kept is not None)
    return _report(
        experiment,
        command,
        verdict=verdict,
        verdict_reason=f"{why} {examined}",
        epsilon=bounds[0],
        bounds=bounds,
        claimed=claimed,
        tightness=tightness,
        tightness_reason=reason if tightness is None else "",
        attempts=attempts,
        canary_length=transcripts[first].shortest if ledger else 1.0,
        canary_typical_length=transcripts[first].typical if ledger else 1.0,
        ledger=() if ledger is None else tuple({**asdict(entry), "count": count} for entry, count in ledger),
        contracts=checks,
        noise=noise,
        designs=plan.designs,
        not_examined=_not_examined(experiment, plan, kept is not None),
        roc=measure_run_roc(transcripts[headline[0]].evidence(headline[1]), confidence=experiment.confidence),
        tradeoff=None if curve is None else curve_on_grid(curve, _curve_words(experiment)),
        outlook=look_ahead_runs(
            next(bound for bound in bounds if bound.estimator == CLOPPER_PEARSON), num_runs=experiment.trials
        ),
    )


def _curve_words(experiment: Experiment) -> str:
    if experiment.claim:
        return f"trade-off curve of the claim {experiment.claim}"
    return "trade-off curve of what ran, by its privacy loss distribution"


def _headline(pairs: tuple[Pair, ...], design: str) -> Pair:
    """Whose bounds are reported at the transcript, and whose curve is drawn: declared, not chosen by what was found."""
    kinds = ("transcript", "set", "model")
    wanted = [
        (design, "likelihood"),
        *((design, f"{score} ({kind})") for score in ("projection", "linear discriminant") for kind in kinds),
    ]
    return next((pair for pair in wanted if pair in pairs), pairs[0])


def _examines_noise(checks: tuple[ContractCheck, ...]) -> bool:
    """Not where a built-in variant says itself that its noise is another."""
    return all(check.held is not None for check in checks if check.name == rules.LEDGER)


def _examined(experiment: Experiment, plan: Prepared, noise: bool) -> str:
    left = "; ".join(_not_examined(experiment, plan, noise))
    return f"Examined: level {experiment.level}, canary {', '.join(plan.designs)}. Not examined: {left}."


def _not_examined(experiment: Experiment, plan: Prepared | None, noise: bool) -> tuple[str, ...]:
    left = [f"canary {design} ({reason})" for design, reason in (plan.left_out if plan else {}).items()]
    if experiment.level == "set" and experiment.method.private:
        left.append("level transcript")
    if experiment.level != "model":
        left.append("level model")
    else:
        left.append("levels set and transcript" if experiment.method.private else "level set")
    if experiment.method.private and not noise:
        left.append("the distribution of the noise")
    return (*left, "other data, sizes and settings")


def _broken(
    experiment: Experiment, checks: tuple[ContractCheck, ...], broken: ContractCheck, command: str
) -> WorstCaseReport:
    reason = f"{broken.sentence} Examined: contract “{broken.name}”. Not examined: everything else, which rests on it."
    return _report(experiment, command, verdict="CONTRACT BROKEN", verdict_reason=reason, contracts=checks)


def _nothing(
    experiment: Experiment, checks: tuple[ContractCheck, ...], plan: Prepared | None, command: str
) -> WorstCaseReport:
    left = {} if plan is None else plan.left_out
    why = " ".join(f"Canary {design}: {reason}." for design, reason in left.items()) or "No design applies."
    return _report(
        experiment,
        command,
        verdict="NOTHING TESTED",
        verdict_reason=f"No canary could have been detected at level {experiment.level}. {why}",
        contracts=checks,
        not_examined=_not_examined(experiment, plan, noise=False),
    )


def _report(experiment: Experiment, command: str, **found: Any) -> WorstCaseReport:
    """A record; where nothing was measured its bound is the empty one, ε ≥ 0 of no trials; a claim is a stated one."""
    none = EpsilonBound(
        lower=0.0,
        delta=experiment.delta,
        confidence=experiment.confidence,
        estimator="none",
        unit="run",
        num_trials=0,
        ceiling=0.0,
        assumptions=("nothing was measured",),
    )
    unmeasured: dict[str, Any] = {
        "epsilon": none,
        "bounds": (none,),
        "claimed": _stated(experiment)[0] if experiment.claim else None,
        "tightness": None,
        "tightness_reason": "nothing was measured",
        "attempts": (),
        "canary_length": 0.0,
        "canary_typical_length": 0.0,
        "ledger": (),
    }
    return WorstCaseReport(
        command=command,
        method=experiment.method.name,
        level=experiment.level,
        config=asdict(experiment.config),
        class_sizes=experiment.class_sizes,
        num_trials=experiment.trials,
        seed=experiment.seed,
        threat_model=(SEEN[experiment.level], *(KNOWN if experiment.method.private else INDEPENDENT)),
        versions={},
        digest="",
        run_directory="",
        **unmeasured | found,
    )
