"""From shards to the record of an audit: scores, ROC, bounds, verdict."""

from typing import Any, Protocol

import numpy as np
import pandas as pd

from attacks.registry import Observations, get_attack
from audit.accounting.ledger import claim_from_ledger
from audit.games.membership.audited import audited_pool, other_records, record_numbers
from audit.games.membership.config import AuditConfig
from audit.games.membership.crossfit import CrossFitted
from audit.games.membership.draws import describe_public_randomness, num_public_draws, scores_by_draw
from audit.games.membership.game import INCLUSION_PROBABILITY
from audit.games.membership.groups import group_records
from audit.games.membership.headline import bound_coins, headline_estimator, hold_ledger
from audit.games.membership.intervals import interval_of_runs, measure_test_runs
from audit.games.membership.protocols import loss_protocols
from audit.games.membership.request import resolved_spec
from audit.games.membership.shard import game_of
from audit.games.membership.signals import labels_given
from audit.games.membership.threat import threat_model
from audit.statistics.outlook import look_ahead, tradeoff_of_ledger, tradeoff_of_point
from audit.statistics.roc import paper_style_ratio, record_auc, with_finite_ends
from condensers.ledger import Entries
from condensers.pool import Pool
from reports.records import schema
from reports.records.coin_test import CoinTest
from reports.words.coin_test import describe_coin_test
from reports.words.rounding import decimals_apart, down, percent, say_delta, up

NUM_EXPOSED = 12


def score_runs(config: AuditConfig, signals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Membership and scores of the test runs, `[test runs, records]` each."""
    game = game_of(config, signals.shape[1])
    attack = get_attack(config.attack)

    def score(draw: int) -> np.ndarray:
        observations = Observations(
            fit_signals=signals[list(game.fit_runs_of(draw))],
            fit_members=labels_given(config, signals.shape[1], game.fit_runs_of(draw)),
            test_signals=signals[list(game.test_runs_of(draw))],
            ratios=config.level == "set",
        )
        return attack.score(observations, attack.config(**config.attack_config))

    return labels_given(config, signals.shape[1], game.test_runs), scores_by_draw(config, score)


def score_table(config: AuditConfig, members: np.ndarray, scores: np.ndarray) -> pd.DataFrame:
    """`scores.parquet`: one row per test run and record."""
    runs, records = scores.shape
    first = game_of(config, records).test_runs.start
    return pd.DataFrame(
        {
            "run": np.repeat(np.arange(first, first + runs, dtype=np.int32), records),
            "record": np.tile(record_numbers(config, records).astype(np.int32), runs),
            "member": members.ravel(),
            "score": scores.ravel().astype(np.float32),
        }
    )


def summarise(
    config: AuditConfig,
    pool: Pool,
    members: np.ndarray,
    scores: np.ndarray,
    shards: dict[str, np.ndarray],
    ledger: Entries | None = None,
    fitted: CrossFitted | None = None,
) -> schema.Report:
    """The whole record. `shards` holds accuracy and initial records of all runs, `ledger` what touched the records,
    `fitted` the fit runs as scored by attacks that were not fitted on them.

    The headline is the bound over all records, canaries among them: decided here, before any score is seen. Where the
    claim is the ledger's own, the bound and the test of the ledger's curve are two tries at it and share the error.
    """
    tests_curve = ledger is not None and config.claim is None
    num_tries = config.tries * (2 if tests_curve else 1)
    settings: dict[str, Any] = {"confidence": config.confidence, "fitted": fitted, "num_tries": num_tries}
    roc = measure_test_runs(config, members, scores)
    headline = bound_coins(members, scores, delta=config.delta, **settings)
    others = [
        bound_coins(members, scores, delta=delta, estimator="one-run", **settings)
        for delta in dict.fromkeys((config.delta, 0.0))
        if ("one-run", delta) != (headline_estimator(config.delta), config.delta)
    ]
    test = hold_ledger(ledger, members, scores, **settings) if ledger is not None and tests_curve else None
    ratio = paper_style_ratio(roc)
    proved = None if ledger is None else claim_from_ledger(ledger, config.delta)
    claimed = proved if config.claim is None else stated_claim(config.claim, config.delta)
    verdict, reason = judge(config, headline, claimed, test)
    audited = audited_pool(config, pool)
    game = game_of(config, audited.num_records)
    return schema.Report(
        command=resolved_spec(config).command(),
        method=config.method,
        attack=config.attack,
        dataset=config.dataset,
        level=config.level,
        verdict=verdict,
        verdict_reason=reason,
        epsilon=headline,
        bounds=(headline, *others, *([ratio] if ratio else [])),
        curve_test=test,
        claimed=claimed,
        proved=proved,
        roc=roc,
        paper_style_epsilon=ratio.lower if ratio else None,
        utility=_utility(config, shards["accuracy"], pool) if config.level == "model" else None,
        game=schema.Game(
            num_records=pool.num_records,
            num_classes=pool.num_classes,
            num_synthetic=int(shards["initial_records"].shape[1]),
            num_fit_runs=len(game.fit_runs),
            num_test_runs=len(game.test_runs),
            inclusion_probability=INCLUSION_PROBABILITY,
            public_randomness=describe_public_randomness(config),
            public_draws=num_public_draws(config),
            membership_shuffled=config.shuffle_membership,
            seed=config.seed,
            num_audited=None if config.audited_records is None else audited.num_records,
        ),
        exposed=most_exposed(audited.labels.numpy(), members, scores, record_numbers(config, audited.num_records)),
        protocols=loss_protocols(config, members, scores, shards["initial_records"]),
        threat_model=threat_model(config),
        config=config.facts(),
        versions=config.versions,
        digest=config.digest,
        run_directory=config.directory_name,
        pdf="report.pdf",
        tradeoff=_tradeoff(config, ledger),
        outlook=look_ahead(headline, num_runs=config.shadows, num_test_runs=config.test_runs),
        groups=group_records(config, pool, members, scores, fitted),
    )


class Claimed(Protocol):
    """What a verdict is about."""

    @property
    def subject(self) -> str: ...

    @property
    def claim(self) -> float | None: ...


def judge(
    config: Claimed, bound: schema.EpsilonBound, claimed: schema.Claim | None, test: CoinTest | None = None
) -> tuple[str, str]:
    """The verdict, and why, in a sentence. The claim falls to the bound or to the test of its curve."""
    claim = None if claimed is None else claimed.epsilon_pld
    lower = down(bound.lower, decimals_apart(bound.lower, claim))
    found = f"ε is at least {lower} with {percent(bound.confidence)} confidence at {say_delta(bound.delta)}"
    if claim is None:
        return "NO CLAIM", f"Nothing is claimed for {config.subject}, so nothing can be refuted; measured: {found}."
    stated = f"{claim:g}" if config.claim is not None else up(claim, decimals_apart(bound.lower, claim))
    if bound.lower > claim:
        return "REFUTED", f"The claim is ε ≤ {stated}, but {found}."
    if test is not None and test.refuted:
        return "REFUTED", (
            f"The claim is ε ≤ {stated}. The bound certifies only that {found}, but the claim's whole trade-off curve "
            f"is refuted by {describe_coin_test(test)}. The error probability is divided between bound and test."
        )
    return (
        "NOT REFUTED",
        f"The claim is ε ≤ {stated}; this attack certifies that {found}, which does not contradict the claim. "
        "A stronger attack might.",
    )


def most_exposed(
    labels: np.ndarray | None, members: np.ndarray, scores: np.ndarray, numbers: np.ndarray | None = None
) -> tuple[schema.ExposedRecord, ...]:
    """Records whose scores separate best over the test runs. Descriptive: chosen on the scores shown.

    `labels` are those of the audited records, None where they are not known, and `numbers` theirs in the whole pool.
    """
    if len(members) < 2:
        return ()
    auc = record_auc(members, scores)
    num_in = np.maximum(members.sum(0), 1)
    num_out = np.maximum((~members).sum(0), 1)
    seen = with_finite_ends(scores)
    mean_in, mean_out = (seen * members).sum(0) / num_in, (seen * ~members).sum(0) / num_out
    gap = np.where(np.isnan(auc), -np.inf, mean_in - mean_out)
    order = np.lexsort((-gap, -np.nan_to_num(auc, nan=-1.0)))[:NUM_EXPOSED]
    return tuple(
        schema.ExposedRecord(
            record=int(i if numbers is None else numbers[i]),
            label=None if labels is None else int(labels[i]),
            auc=float(auc[i]),
            mean_score_in=float(mean_in[i]),
            mean_score_out=float(mean_out[i]),
        )
        for i in order
        if np.isfinite(auc[i])
    )


def stated_claim(epsilon: float, delta: float) -> schema.Claim:
    """By --claim."""
    return schema.Claim(epsilon_rdp=None, epsilon_pld=epsilon, delta=delta, source="stated with --claim")


def _tradeoff(config: AuditConfig, ledger: Entries | None) -> schema.Tradeoff | None:
    """The curve of the claim that the verdict is about."""
    if config.claim is None:
        return None if ledger is None else tradeoff_of_ledger(ledger)
    return tradeoff_of_point(config.claim, config.delta)


def _utility(config: AuditConfig, accuracy: np.ndarray, pool: Pool) -> schema.Utility | None:
    """Mean accuracy over runs with Student's interval over runs or public draws.

    A run that left no ordinary record out has none to be tested on and no accuracy; None if that is true of all.
    """
    runs = np.flatnonzero(np.isfinite(accuracy))
    if not len(runs):
        return None
    others = other_records(config, pool)
    num_records = pool.num_records // 2 if others is None else others.num_records
    interval, unit = interval_of_runs(config, runs, accuracy[runs], num_records)
    return schema.Utility(
        accuracy=float(accuracy[runs].mean()),
        accuracy_interval=interval,
        measured_on="records that the run left out"
        if others is None
        else f"a fixed sample of {others.num_records} records that are in every run",
        interval_unit=unit,
    )
