"""Runs a visual audit: condense random halves, match, summarise, write and draw."""

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pandas as pd
import torch

from attacks.nearest import Matches, check_sets
from audit.accounting.ledger import claim_from_ledger
from audit.engine.executor import suited
from audit.engine.pages import write_pages
from audit.engine.store import RunDirectory, explain_failure, write_atomically, write_tensors, write_text
from audit.engine.where import Where
from audit.games.membership.runs import complete_runs, load_ledger, load_shards
from audit.games.membership.shard import game_of, num_shards
from audit.games.scope import in_scope
from audit.games.visual.match import summarise_visual
from audit.games.visual.matching import match_all
from audit.games.visual.resolve import Resolved
from audit.games.visual.tables import Compared
from condensers.ledger import Entries
from condensers.pool import CondensedBatch, Pool
from reports.documents.visual import VisualMaterial, build_visual
from reports.records import schema
from reports.records.gallery import Gallery, Pictures, pixels, show_synthetic
from reports.records.visual import Column, VisualReport

SECONDS_PER_STEP = 0.1  # of condensing a shard, about


def run_visual(resolved: Resolved, where: Where, say: Callable[[str], None]) -> VisualReport:
    """Run or resume an audit; the record with paths as seen from here."""
    torch.set_num_threads(1)
    config, pool = resolved.config, resolved.pool
    shadows = config.condensation
    game = game_of(shadows, pool.num_records)
    directory = RunDirectory(where.out / config.directory_name)
    directory.create()
    with directory.held():
        steps = config.method_config.get("iterations", 1) * num_shards(shadows)
        executor = suited(where.executor, range(num_shards(shadows)), seconds=steps * SECONDS_PER_STEP)
        complete_runs(shadows, directory, replace(where, executor=executor), say)
        sets, ledger = _sets(directory, resolved), load_ledger(directory, shadows)
        labels = check_sets(sets.images, sets.labels, pool)
        matches = match_all(resolved, Compared(images=sets.images, labels=labels), directory, where, say)
        told = (game.decoys if config.shuffle_membership else game.members)(game.test_runs)
        say("testing")
        claimed, proved = _claims(resolved, ledger)
        report = in_scope(
            summarise_visual(
                config,
                pool,
                told,
                labels.numpy(),
                matches,
                claimed=claimed,
                proved=proved,
                command=resolved.command,
            )
        )
        write_text(directory.config, config.to_json())
        tensors = {"images": sets.images, "labels": sets.labels, "initial_records": sets.initial_records}
        write_tensors(directory.synthetic, tensors, digest=config.digest)
        write_result(directory, report, match_table(matches, labels.numpy(), told))
        say("drawing the report")
        with explain_failure(directory.pdf):
            pictures = panel_pictures(report, sets, pool if where.show_records else None)
            write_pages(build_visual(VisualMaterial(report=report, pictures=pictures)), directory)
        clear_parts(directory)
    return replace(report, run_directory=str(directory.path), pdf=str(directory.pdf))


def _sets(directory: RunDirectory, resolved: Resolved) -> CondensedBatch:
    """The synthetic sets of all runs."""
    shards = load_shards(directory, resolved.config.condensation, ("images", "labels"))
    images, labels, initial = (torch.from_numpy(shards[name]) for name in ("images", "labels", "initial_records"))
    return CondensedBatch(images=images, labels=labels, initial_records=initial)


def _claims(resolved: Resolved, ledger: Entries | None) -> tuple[schema.Claim | None, schema.Claim | None]:
    """What is claimed, which is what is stated or else what is proved; and what the ledger of what ran proves."""
    config = resolved.config
    proved = None if ledger is None else claim_from_ledger(ledger, config.delta)
    return (proved if config.claim is None else stated_claim(config.claim, config.delta)), proved


def stated_claim(epsilon: float, delta: float) -> schema.Claim:
    """By --claim."""
    return schema.Claim(epsilon_rdp=None, epsilon_pld=epsilon, delta=delta, source="stated with --claim")


def write_result(directory: RunDirectory, report: object, table: pd.DataFrame) -> None:
    """The matches and the record."""
    write_atomically(directory.path / "matches.parquet", lambda path: table.to_parquet(path, index=False))
    write_text(directory.report, schema.dump(report))


def clear_parts(directory: RunDirectory) -> None:
    """Remove what an interrupted run would have gone on from: the result holds all of it that is shown."""
    for path in directory.shards.iterdir():
        path.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        directory.shards.rmdir()


def match_table(matches: Mapping[str, Matches], labels: np.ndarray, members: np.ndarray) -> pd.DataFrame:
    """A row for each synthetic image, distance and rank: the record, whether it is in, whether it is the guess."""
    parts = []
    for name, found in matches.items():
        run, image, rank = np.nonzero(found.records >= 0)
        record = found.records[run, image, rank]
        parts.append(
            pd.DataFrame(
                {
                    "run": run,
                    "image": image,
                    "label": labels[run, image],
                    "by": name,
                    "rank": rank + 1,
                    "record": record,
                    "member": members[run, record],
                    "distance": found.distances[run, image, rank],
                    "guessed": found.guesses[run, image] == record,
                }
            )
        )
    return pd.concat(parts, ignore_index=True)


def panel_pictures(report: VisualReport, sets: CondensedBatch, pool: Pool | None) -> Pictures:
    """Those of the first run of our own sets."""
    gallery = show_synthetic(
        sets.images[0].numpy(),
        sets.labels[0].numpy(),
        from_records=bool((sets.initial_records[0] >= 0).any()),
        show_records=pool is not None,
    )
    return pictures_of_panel(report.panel, gallery, pool)


def pictures_of_panel(panel: tuple[Column, ...], gallery: Gallery, pool: Pool | None) -> Pictures:
    """What the pages may show: of the gallery what the panel has, and records only where the pool is given."""
    synthetic = None if gallery.synthetic is None else gallery.synthetic[[column.image for column in panel]]
    if pool is None or gallery.synthetic is None:
        return Pictures(synthetic=synthetic, note=gallery.note)
    wanted = {match.record for column in panel for found in column.matches.values() for match in found}
    records = {record: pixels(pool.images[record : record + 1].numpy())[0] for record in sorted(wanted)}
    return Pictures(synthetic=synthetic, records=records)
