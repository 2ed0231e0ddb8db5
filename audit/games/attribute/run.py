"""Runs an audit of attributes: condense random halves, guess, measure, write and draw."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from threadpoolctl import threadpool_limits

from audit.accounting.ledger import claim_from_ledger
from audit.engine.pages import write_pages
from audit.engine.store import RunDirectory, explain_failure, write_atomically, write_text
from audit.engine.where import Where
from audit.games.attribute.config import AttributeConfig, mask_records, resolve_attribute, resolved_command
from audit.games.attribute.measure import Guessed, guess_all, measure, who_started
from audit.games.membership.draws import describe_public_randomness, interval_unit, num_public_draws
from audit.games.membership.game import INCLUSION_PROBABILITY
from audit.games.membership.headline import bound_coins
from audit.games.membership.intervals import measure_test_runs
from audit.games.membership.runs import complete_runs, load_ledger, load_shards
from audit.games.membership.shard import game_of
from audit.games.membership.signals import labels_given
from audit.games.membership.summary import judge, score_table, stated_claim
from audit.games.membership.threat import threat_model
from audit.games.scope import in_scope
from audit.specs.attribute import Attribute
from condensers.ledger import Entries
from condensers.pool import Pool
from reports.documents.attribute import AttributeMaterial, build_attribute
from reports.records import schema
from reports.records.attribute import EASIER, NO_DIFFERENCE, AttributeReport


def run_attribute(spec: Attribute, where: Where, say: Callable[[str], None]) -> AttributeReport:
    """Run or resume an audit; the record with paths as seen from here."""
    config, pool = resolve_attribute(spec, where.data_root)
    shadows = config.condensation
    directory = RunDirectory(where.out / config.directory_name)
    directory.create()
    with directory.held():
        write_text(directory.config, config.to_json())
        complete_runs(shadows, directory, where, say)
        say("guessing")
        shards = load_shards(directory, shadows, ("images", "labels"))
        with threadpool_limits(limits=shadows.threads):
            guessed = guess_all(config, mask_records(config, pool), shards, pool.num_classes)
        test_runs = game_of(shadows, pool.num_records).test_runs
        members = labels_given(shadows, pool.num_records, test_runs)
        started = who_started(shards["initial_records"][list(test_runs)], pool.num_records)
        num_synthetic = shards["images"].shape[1]
        ledger = load_ledger(directory, shadows)
        report = in_scope(summarise(config, pool, guessed, members, started, num_synthetic, ledger))
        table = score_table(shadows, members, guessed.scores).assign(
            error=guessed.test.ravel().astype(np.float32),
            error_without=np.tile(guessed.without.astype(np.float32), len(members)),
        )
        write_atomically(directory.scores, lambda path: table.to_parquet(path, index=False))
        write_text(directory.report, schema.dump(report))
        say("drawing the report")
        with explain_failure(directory.pdf):
            write_pages(build_attribute(AttributeMaterial(report=report)), directory)
    return replace(report, run_directory=str(directory.path), pdf=str(directory.pdf))


def summarise(
    config: AttributeConfig,
    pool: Pool,
    guessed: Guessed,
    members: np.ndarray,
    started: np.ndarray,
    num_synthetic: int,
    ledger: Entries | None,
) -> AttributeReport:
    """The whole record."""
    shadows = config.condensation
    guessing = measure(config, guessed, members, started)
    scores = guessed.scores.astype(np.float32)
    bound = bound_coins(members, scores, delta=shadows.delta, confidence=shadows.confidence, num_tries=config.tries)
    proved = None if ledger is None else claim_from_ledger(ledger, shadows.delta)
    claimed = proved if config.claim is None else stated_claim(config.claim, shadows.delta)
    verdict, reason = judge(config, bound, claimed)
    game = game_of(shadows, pool.num_records)
    return AttributeReport(
        command=resolved_command(config),
        method=shadows.method,
        dataset=shadows.dataset,
        verdict=verdict,
        verdict_reason=reason,
        finding=EASIER if guessing.member_gain.interval[0] > 0 else NO_DIFFERENCE,
        masked=config.asked,
        num_masked=int(config.mask.sum()),
        num_visible=int((~config.mask).sum()),
        guessing=guessing,
        epsilon=bound,
        bounds=(bound,),
        claimed=claimed,
        proved=proved,
        roc=measure_test_runs(shadows, members, scores),
        interval_unit=interval_unit(shadows, len(members)),
        game=schema.Game(
            num_records=pool.num_records,
            num_classes=pool.num_classes,
            num_synthetic=num_synthetic,
            num_fit_runs=len(game.fit_runs),
            num_test_runs=len(members),
            inclusion_probability=INCLUSION_PROBABILITY,
            public_randomness=describe_public_randomness(shadows),
            public_draws=num_public_draws(shadows),
            membership_shuffled=shadows.shuffle_membership,
            seed=shadows.seed,
        ),
        threat_model=describe_adversary(config),
        config=config.facts(),
        versions=shadows.versions,
        digest=config.digest,
        run_directory=config.directory_name,
        pdf="report.pdf",
    )


def describe_adversary(config: AttributeConfig) -> tuple[str, ...]:
    """Who guesses: the sentences on level and randomness are those of an audit of membership at level set."""
    kept = [
        text
        for text in threat_model(config.condensation)
        if text.startswith(("CONTROL", "Level", "The adversary knows the public", "The adversary does not"))
    ]
    return (
        *kept,
        "The adversary knows three quarters of the records of the pool completely, and the labels and unmasked "
        f"features of the others (masked: {config.asked}); it does not know which records were in the test runs. Each "
        "quarter is guessed in turn.",
        "The adversary was fitted on the known records in the fit runs, and tested on the others in the test runs.",
        "The bound and the ROC are for an adversary who can also check the guess: the gain of a record is used as a "
        "membership score.",
    )
