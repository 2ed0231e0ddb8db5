"""Audits of models that a person trained: from signals to the record and its pages.

The attack is fitted on fit runs and scores test runs, as with condensations; the coins of the test runs enter when
guesses are counted and not before. So the one-run bound (arXiv:2305.08846) holds whatever the fit runs are, if the
coins of the test runs are what the person states.
"""

from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pandas as pd

from attacks.registry import Observations, get_attack
from audit.engine.pages import write_pages
from audit.engine.store import RunDirectory, explain_failure, write_atomically, write_text
from audit.engine.where import Where
from audit.games.membership.crossfit import CrossFitted, cross_fit, score_held
from audit.games.membership.foreign import assume
from audit.games.membership.game import INCLUSION_PROBABILITY, Game
from audit.games.membership.groups import measure_groups, read_grouping
from audit.games.membership.headline import bound_coins, headline_estimator
from audit.games.membership.summary import judge, most_exposed, stated_claim
from audit.games.models.config import SUBJECT, ModelsConfig, resolve_models
from audit.games.models.signals import ModelSignals, write_signals
from audit.games.scope import in_scope
from audit.specs.membership import OwnModels
from audit.statistics.outlook import look_ahead, tradeoff_of_point
from audit.statistics.roc import measure_roc, paper_style_ratio
from reports.documents.membership import build_membership, gather_membership
from reports.records import schema
from reports.records.gallery import Gallery
from reports.records.intervals import RUNS

SIGNALS = "signals.npz"
RANDOMNESS = "none: the auditor trained the models"
ASSERTED = (
    "ASSERTED BY THE AUDITOR (--fair-coins): every record was in each test run by its own fair coin, tossed before the "
    "training and independently of everything else",
    "ASSERTED BY THE AUDITOR: of these records, each test model was trained only on its own members",
)


def run_models(
    spec: OwnModels, found: ModelSignals, where: Where, say: Callable[[str], None], *, kept: bool = False
) -> schema.Report:
    """Score the test runs, bound ε, write the run directory; the record with paths as seen from here.

    With `kept` the command in the record names the copy of the signals in the run directory, for signals that came
    from no file.
    """
    config = resolve_models(spec, found)
    directory = RunDirectory(where.out / config.directory_name)
    directory.create()
    if kept:
        spec = spec.but(scores=f"{config.directory_name}/{SIGNALS}")
    with directory.held():
        write_text(directory.config, config.to_json())
        write_atomically(directory.path / SIGNALS, lambda path: write_signals(path, found))
        say("scoring")
        members, scores, fitted = score_models(config, found)
        report = in_scope(summarise_models(config, spec, found, members, scores, fitted))
        table = _score_table(config, members, scores)
        write_atomically(directory.scores, lambda path: table.to_parquet(path, index=False))
        write_text(directory.report, schema.dump(report))
        say("drawing the report")
        with explain_failure(directory.pdf):
            write_pages(build_membership(gather_membership(report, scores=table, gallery=Gallery())), directory)
    return replace(report, run_directory=str(directory.path), pdf=str(directory.pdf))


def score_models(config: ModelsConfig, found: ModelSignals) -> tuple[np.ndarray, np.ndarray, CrossFitted | None]:
    """Members and scores of the test runs, and the fit runs as scored by attacks that were not fitted on them."""
    attack = get_attack(config.attack)
    settings = attack.config(**config.attack_config)
    game = Game(seed=config.seed, num_records=config.num_records, num_runs=config.num_runs, num_test_runs=1)
    labels = game.decoys(range(config.num_runs)) if config.shuffle_membership else found.members
    fit, test = found.signals[config.fit_runs], found.signals[config.test_runs]
    fit_members = labels[config.fit_runs]
    scores = attack.score(Observations(fit_signals=fit, fit_members=fit_members, test_signals=test), settings)

    def score_fold(others: np.ndarray, held: np.ndarray) -> np.ndarray:
        return score_held(attack, settings, fit[[*others, *held]], fit_members[others], ratios=False)

    fitted = cross_fit(fit_members, score_fold) if attack.needs_fit_runs else None
    return labels[config.test_runs], scores, fitted


def summarise_models(
    config: ModelsConfig,
    spec: OwnModels,
    found: ModelSignals,
    members: np.ndarray,
    scores: np.ndarray,
    fitted: CrossFitted | None,
) -> schema.Report:
    """The whole record."""
    settings: dict[str, Any] = {"confidence": config.confidence, "fitted": fitted, "num_tries": config.tries}
    roc = _measure(config, members, scores)
    headline = assume(bound_coins(members, scores, delta=config.delta, **settings), ASSERTED)
    others = [
        assume(bound_coins(members, scores, delta=delta, estimator="one-run", **settings), ASSERTED)
        for delta in dict.fromkeys((config.delta, 0.0))
        if ("one-run", delta) != (headline_estimator(config.delta), config.delta)
    ]
    ratio = paper_style_ratio(roc)
    claimed = None if config.claim is None else stated_claim(config.claim, config.delta)
    verdict, reason = judge(config, headline, claimed)
    return schema.Report(
        command=spec.command(),
        method=SUBJECT,
        attack=config.attack,
        dataset=config.scores,
        level="model",
        verdict=verdict,
        verdict_reason=reason,
        epsilon=headline,
        bounds=(headline, *others, *([ratio] if ratio else [])),
        claimed=claimed,
        roc=roc,
        paper_style_epsilon=ratio.lower if ratio else None,
        utility=None,
        game=schema.Game(
            num_records=config.num_records,
            num_classes=0 if found.labels is None else len(np.unique(found.labels)),
            num_synthetic=0,
            num_fit_runs=len(config.fit_runs),
            num_test_runs=len(config.test_runs),
            inclusion_probability=INCLUSION_PROBABILITY,
            public_randomness=RANDOMNESS,
            public_draws=0,
            membership_shuffled=config.shuffle_membership,
            seed=config.seed,
        ),
        exposed=most_exposed(found.labels, members, scores),
        protocols=(),
        threat_model=threat_model(config),
        config=asdict(config),
        versions=config.versions,
        digest=config.digest,
        run_directory=config.directory_name,
        pdf="report.pdf",
        tradeoff=None if config.claim is None else tradeoff_of_point(config.claim, config.delta),
        outlook=look_ahead(
            headline, num_runs=len(config.fit_runs) + len(config.test_runs), num_test_runs=len(config.test_runs)
        ),
        groups=_groups(config, spec, found, members, scores, fitted),
    )


def threat_model(config: ModelsConfig) -> tuple[str, ...]:
    """Who the adversary is, in plain words."""
    control = (
        "CONTROL: membership was shuffled. The attack was given labels independent of membership; it must find "
        "nothing.",
    )
    learns = (
        "The adversary knows all records with their labels, and the members and signals of "
        f"{len(config.fit_runs)} other models (fit runs); it does not know which records the tested models were "
        "trained on."
        if config.fit_runs
        else "The adversary knows the records that it asks about and their labels; it has no model of its own."
    )
    return (
        *(control if config.shuffle_membership else ()),
        "Level model: the adversary sees the trained model's confidence in the label of each record, and nothing else.",
        "The adversary does not know the randomness of the training of the tested models.",
        learns,
    )


def _groups(
    config: ModelsConfig,
    spec: OwnModels,
    found: ModelSignals,
    members: np.ndarray,
    scores: np.ndarray,
    fitted: CrossFitted | None,
) -> tuple[schema.RecordGroup, ...]:
    if spec.groups is None:
        return ()
    groups = measure_groups(
        read_grouping(spec.groups, found.labels, config.num_records),
        members,
        scores,
        fitted,
        measure=lambda own, seen: _measure(config, own, seen),
        delta=config.delta,
        confidence=config.confidence,
        tries=config.tries,
    )
    return tuple(replace(group, epsilon=assume(group.epsilon, ASSERTED)) for group in groups)


def _measure(config: ModelsConfig, members: np.ndarray, scores: np.ndarray) -> schema.Roc:
    return measure_roc(members, scores, confidence=config.confidence, seed=config.seed, unit=RUNS)


def _score_table(config: ModelsConfig, members: np.ndarray, scores: np.ndarray) -> pd.DataFrame:
    """`scores.parquet`: one row per test run and record."""
    return pd.DataFrame(
        {
            "run": np.repeat(np.array(config.test_runs, dtype=np.int32), config.num_records),
            "record": np.tile(np.arange(config.num_records, dtype=np.int32), len(members)),
            "member": members.ravel(),
            "score": scores.ravel().astype(np.float32),
        }
    )
