"""The Python interface: run a specification, load a finished run, bound ε from scores, plan an audit."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from audit.engine.executor import Executor, Local, gpus_of
from audit.engine.progress import discard, listening, on_stderr
from audit.engine.where import Where
from audit.specs.attribute import Attribute
from audit.specs.grids import Adversaries, Sweep
from audit.specs.membership import Compare, Ladder, Membership
from audit.specs.pictures import Visual
from audit.specs.reproduce import Reproduce
from audit.specs.spec import Spec
from audit.specs.worst_case import WorstCase
from condensers.errors import BadConfig

if TYPE_CHECKING:
    import numpy as np

    from audit.games.models.play import Query, Train
    from audit.records import AttributeRecord, MembershipRecord, Record, VisualRecord, WorstCaseRecord
    from audit.statistics.plan import Plan
    from reports.records.schema import EpsilonBound

Progress = bool | Callable[[str], None]


@overload
def run(
    spec: Membership, *, out: str | Path = ..., executor: Executor | None = ..., progress: Progress = ...,
    data_root: str | Path | None = ..., show_records: bool = ...,
) -> "MembershipRecord": ...  # fmt: skip
@overload
def run(
    spec: WorstCase, *, out: str | Path = ..., executor: Executor | None = ..., progress: Progress = ...,
    data_root: str | Path | None = ..., show_records: bool = ...,
) -> "WorstCaseRecord": ...  # fmt: skip
@overload
def run(
    spec: Visual, *, out: str | Path = ..., executor: Executor | None = ..., progress: Progress = ...,
    data_root: str | Path | None = ..., show_records: bool = ...,
) -> "VisualRecord": ...  # fmt: skip
@overload
def run(
    spec: Attribute, *, out: str | Path = ..., executor: Executor | None = ..., progress: Progress = ...,
    data_root: str | Path | None = ..., show_records: bool = ...,
) -> "AttributeRecord": ...  # fmt: skip
@overload
def run(
    spec: Spec, *, out: str | Path = ..., executor: Executor | None = ..., progress: Progress = ...,
    data_root: str | Path | None = ..., show_records: bool = ...,
) -> Any: ...  # fmt: skip


def run(
    spec: Any,
    *,
    out: str | Path = "runs",
    executor: Executor | None = None,
    progress: Progress = True,
    data_root: str | Path | None = None,
    show_records: bool = False,
) -> Any:
    """Run an audit, or resume it if a run directory for the same specification exists under `out`.

    `executor` says who computes (default: one worker process per core of this machine); it does not change a byte of
    the result. `progress` is True (a bar on stderr), False (silent) or a function that is called with each line.
    `data_root` is the folder of data sets. Real images appear in the report only with `show_records`.

    >>> import audit, tempfile
    >>> small = audit.Lira(method="real", records=100, shadows=8, level="set")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     record = audit.run(small, out=folder, executor=audit.InProcess(), progress=False)
    >>> record.verdict
    'NO CLAIM'
    >>> record.epsilon.lower <= record.epsilon.ceiling
    True
    """
    from audit.games.run import run as run_game
    from audit.records import as_record

    tell = {True: on_stderr, False: discard}[progress] if isinstance(progress, bool) else progress
    where = Where(
        out=Path(out),
        executor=Local(gpus=gpus_of(getattr(spec, "device", ""))) if executor is None else executor,
        data_root=None if data_root is None else Path(data_root),
        show_records=show_records,
    )
    with listening(tell):
        match spec:
            case Compare():
                from audit.games.compare import run_comparison

                return as_record(run_comparison(spec, where, tell))
            case Adversaries():
                from audit.games.adversaries import run_adversaries

                return as_record(run_adversaries(spec, where, tell))
            case Sweep():
                from audit.games.sweep import run_sweep

                return as_record(run_sweep(spec, where, tell))
            case Reproduce():
                from audit.reproduce.run import run_reproduction

                return as_record(run_reproduction(spec, where, tell))
            case Ladder():
                from audit.games.ladder import audit_ladder

                return as_record(audit_ladder(spec, where, tell))
        return as_record(run_game(spec, where, tell))


def load(run_directory: str | Path) -> "Record":
    """The record of a finished run, as `run` returned it.

    >>> import audit
    >>> audit.load("runs/none")
    Traceback (most recent call last):
    condensers.errors.BadInput: RUN_DIR runs/none: no such directory; give one that an audit wrote, such as runs/lira-…
    """
    from dataclasses import replace

    from audit.games.redraw import read_run
    from audit.records import as_record

    directory, record = read_run(Path(run_directory))
    return as_record(replace(record, run_directory=str(directory.path), pdf=str(directory.pdf)))


def audit_models(
    *,
    train: "Train",
    query: "Query",
    records: int,
    models: int = 64,
    test_runs: int | None = None,
    attack: str = "lira",
    signal: str = "logit",
    labels: "np.ndarray | Sequence[int] | None" = None,
    name: str = "own-models",
    seed: int = 0,
    out: str | Path = "runs",
    progress: Progress = True,
    **fields: Any,
) -> "MembershipRecord":
    """Audit a training procedure of your own, without any condenser.

    In each of `models` runs a fair coin decides for each of the `records` whether it is a member. `train(members, run)`
    returns a model that was trained on the records where `members` (bool `[records]`) is true, and on none of the
    others. `query(model)` returns a signal for every record, member or not: `[records]`, or `[records, queries]`.
    `signal` says what it is: "logit" (ln(p/(1 − p)) of the true label, or any number that is higher for better fitted
    records), "confidence" (p) or "loss" (−ln p). The attack ("lira", "rmia" or "loss") is fitted on all runs but the
    last `test_runs` (default: a quarter; all runs for "loss", which is not fitted) and tested on those. Draw the
    randomness of a training from the number of its run. Other `fields` are those of `audit.Lira`: delta, confidence,
    claim, tries, groups, settings, shuffle_membership.

    The models are trained in this process, one after the other; an interrupted call starts anew. The signals are kept
    in the run directory, from which `audit lira --scores` gives the same record again.

    >>> import audit, numpy as np, tempfile
    >>> noise = np.random.default_rng(0).normal(size=(16, 300))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     record = audit.audit_models(
    ...         train=lambda members, run: members + 0.1 * noise[run],    # a "model" that remembers who was in
    ...         query=lambda model: model, records=300, models=16, out=folder, progress=False)
    >>> record.roc.auc > 0.99, record.epsilon.lower > 3
    (True, True)
    """
    import numpy as np

    from audit.games.membership.request import KINDS
    from audit.games.models.play import play
    from audit.games.models.run import SIGNALS, run_models
    from audit.records import as_record

    if attack not in ("lira", "rmia", "loss"):
        raise BadConfig(f"attack {attack!r}: must be one of lira, rmia, loss")
    kind: Any = KINDS[attack]
    spec = kind(scores=SIGNALS, fair_coins=True, seed=seed, **fields)
    tested = test_runs or (models if attack == "loss" else max(1, models // 4))
    tell = {True: on_stderr, False: discard}[progress] if isinstance(progress, bool) else progress
    with listening(tell):
        found = play(
            train=train,
            query=query,
            num_records=records,
            num_models=models,
            num_test_runs=tested,
            seed=seed,
            kind=signal,
            name=name,
            labels=None if labels is None else np.asarray(labels),
            attack=attack,
        )
        return as_record(run_models(spec, found, Where(out=Path(out)), tell, kept=True))


def bound_epsilon(
    members: "np.ndarray | Sequence[Any]",
    scores: "np.ndarray | Sequence[Any]",
    *,
    delta: float = 1e-5,
    confidence: float = 0.95,
    unit: str = "record",
    estimator: str | None = None,
    tries: int = 1,
) -> "EpsilonBound":
    """A lower confidence bound on ε from the scores of any attack; higher scores mean "member".

    With `unit="record"` a trial is a fair membership coin: `members` and `scores` are `[records]` of one run or
    `[runs, records]`, and the estimator is `one-run-dp` (`one-run` at delta 0) unless named. With `unit="run"` a trial
    is an independent run, `members` and `scores` are `[runs]`, and the estimator is `clopper-pearson`. The threshold is
    chosen on a part of the trials and tested on the others. `tries` is the number of attacks that were tried in
    total; the bound is corrected for multiple testing.

    >>> import audit, numpy as np
    >>> coins = np.random.default_rng(0).random(2000) < 0.5
    >>> bound = audit.bound_epsilon(coins, coins + 0.0, delta=1e-5)
    >>> 3 < bound.lower < bound.ceiling + 1e-9, bound.estimator
    (True, 'one-run-dp')
    """
    import numpy as np

    from audit.statistics.estimators.evidence import RecordEvidence, RunEvidence
    from audit.statistics.estimators.named import bound_named

    given, values = np.asarray(members), np.asarray(scores, dtype=np.float64)
    if given.shape != values.shape:
        raise BadConfig(
            f"members have shape {list(given.shape)} and scores {list(values.shape)}; the shapes must be equal"
        )
    if given.dtype.kind not in "biuf" or not np.isin(given, (0, 1)).all():
        raise BadConfig("members must be true and false, or 1 and 0")
    known = given.astype(bool)
    if unit == "run":
        if known.ndim != 1:
            raise BadConfig(
                f"members have shape {list(known.shape)}; with unit 'run' give one score per run: records of one run "
                "are not independent"
            )
        evidence: RunEvidence | RecordEvidence = RunEvidence(
            member_scores=values[known], non_member_scores=values[~known]
        )
    elif unit == "record":
        evidence = RecordEvidence(members=np.atleast_2d(known), scores=np.atleast_2d(values))
    else:
        raise BadConfig(f"unit {unit!r}: must be run or record")
    return bound_named(evidence, estimator, delta=delta, confidence=confidence, num_tries=tries)


def account(
    *,
    method: str | None = None,
    dataset: str | None = None,
    sigma: float | None = None,
    rate: float = 1.0,
    steps: int = 1,
    sampling: str = "poisson",
    delta: float = 1e-5,
    **settings: Any,
) -> dict[str, Any]:
    """The analytic ε by RDP and by PLD, of a published method with its settings or of a subsampled Gaussian mechanism.

    The keys are those of `audit account --json`. `settings` are other fields of `audit account`, such as `ipc`,
    `class_sizes` or, to calibrate the noise, `epsilon`.

    >>> import audit
    >>> found = audit.account(sigma=1.1, rate=0.01, steps=1000)
    >>> round(found["epsilon_rdp"], 2), found["epsilon_pld"] < found["epsilon_rdp"]
    (1.71, True)
    """
    from audit.accounting.account import account as account_for
    from audit.specs.account import Account

    if (method is None) == (sigma is None and settings.get("epsilon") is None):
        raise BadConfig("give a published method, or the sigma of a Gaussian mechanism")
    if method is None:
        own: dict[str, Any] = {"gaussian": True, "rate": rate, "steps": steps, "sampling": sampling}
    else:
        own = {"method": method, "dataset": dataset}
    return account_for(Account(noise_multiplier=sigma, delta=delta, **own, **settings))


def plan(
    epsilon: float,
    *,
    delta: float = 1e-5,
    tightness: float = 0.8,
    confidence: float = 0.95,
    records: int | None = None,
    unit: str = "both",
) -> "Plan":
    """How many trials it takes to certify a share of ε, estimator by estimator, before any compute is spent.

    >>> import audit
    >>> [option.estimator for option in audit.plan(1.0, records=1797, unit="run").options if option.reachable]
    ['clopper-pearson', 'gaussian']
    """
    from audit.statistics.plan import make_plan

    return make_plan(
        epsilon=epsilon,
        delta=delta,
        tightness=tightness,
        confidence=confidence,
        unit=unit,
        num_records=records,
        seconds_per_run=None,
        time_source="not measured",
    )
