"""Estimators by name, for each unit of evidence."""

from collections.abc import Callable

from audit.statistics.estimators.bayesian import bound_epsilon_bayesian
from audit.statistics.estimators.clopper_pearson import bound_epsilon_clopper_pearson
from audit.statistics.estimators.evidence import RecordEvidence, RunEvidence, check_runs_differ
from audit.statistics.estimators.gaussian import bound_epsilon_gaussian
from audit.statistics.estimators.one_run import bound_epsilon_one_run_records
from audit.statistics.estimators.one_run_dp import bound_epsilon_one_run_dp
from audit.statistics.estimators.one_run_fdp import bound_epsilon_one_run_fdp
from audit.statistics.estimators.paper_style import estimate_epsilon_paper_style
from audit.statistics.estimators.thresholds import Split, ThresholdChoice
from condensers.errors import BadConfig
from reports.records.schema import EpsilonBound

Estimator = Callable[..., EpsilonBound]
FOR_RUNS: dict[str, Estimator] = {
    "clopper-pearson": bound_epsilon_clopper_pearson,
    "gaussian": bound_epsilon_gaussian,
    "bayesian": bound_epsilon_bayesian,
    "paper-style": estimate_epsilon_paper_style,
}
FOR_RECORDS: dict[str, Estimator] = {
    "one-run": bound_epsilon_one_run_records,
    "one-run-dp": bound_epsilon_one_run_dp,
    "one-run-fdp": bound_epsilon_one_run_fdp,
}


def bound_named(
    evidence: RunEvidence | RecordEvidence,
    name: str | None,
    *,
    delta: float,
    confidence: float,
    num_tries: int = 1,
    choice: ThresholdChoice | None = None,
) -> EpsilonBound:
    """The bound of an estimator; by default `clopper-pearson` of runs and the headline's of membership coins."""
    if isinstance(evidence, RecordEvidence):
        check_runs_differ(evidence.members)
    available = FOR_RUNS if isinstance(evidence, RunEvidence) else FOR_RECORDS
    if name is None:
        name = "clopper-pearson" if isinstance(evidence, RunEvidence) else "one-run-dp" if delta > 0.0 else "one-run"
    if name not in available:
        raise BadConfig(f"estimator {name!r}: not available for this unit; choose from {', '.join(available)}")
    return available[name](
        evidence, delta=delta, confidence=confidence, choice=choice or Split(seed=0), num_tries=num_tries
    )
