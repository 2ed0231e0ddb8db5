"""Runs a visual audit in one process: condense random halves, match, summarise, write and draw."""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from attacks.nearest import Matches, Pairwise, pairwise_euclidean, visual_matches
from attacks.perceptual import Perceptual, pairwise_lpips
from audit.accounting.ledger import claim_from_ledger, claims_anything
from audit.engine.pages import write_pages
from audit.engine.progress import ProgressBar
from audit.engine.store import RunDirectory, explain_failure, write_atomically, write_tensors, write_text
from audit.games.membership.game import Game, nominal_class_sizes
from audit.games.scope import in_scope
from audit.games.visual.match import VisualConfig, directory_name, summarise_visual
from condensers.errors import BadConfig
from condensers.ledger import Ledger
from condensers.pool import CondensedBatch, Pool
from condensers.randomness import Randomness
from condensers.registry import condense_runs, get_method
from reports.documents.visual import VisualMaterial, build_visual
from reports.records import schema
from reports.records.gallery import Gallery, Pictures, pixels, show_synthetic
from reports.records.visual import Column, VisualReport


@dataclass(frozen=True, kw_only=True)
class VisualSettings:
    """What does not determine the result."""

    out: Path
    jobs: int
    show_records: bool
    command: str


def run_visual(
    config: VisualConfig,
    pool: Pool,
    metrics: Mapping[str, Perceptual],
    settings: VisualSettings,
    say: Callable[[str], None],
) -> VisualReport:
    """Audit; `metrics` are the perceptual distances by name. Returns the record with paths as seen from here."""
    torch.set_num_threads(1)
    game = Game(seed=config.seed, num_records=pool.num_records, num_runs=config.runs, num_test_runs=config.runs)
    included = torch.from_numpy(game.members(game.test_runs))
    directory = RunDirectory(settings.out / directory_name(config))
    directory.create()
    with directory.held():
        sets, ledger = _condense(config, pool, included)
        matches = match_all(config.distances, metrics, sets, pool, jobs=settings.jobs)
        labels = (sets.labels.argmax(-1) if sets.labels.ndim == 3 else sets.labels).numpy()
        told = game.decoys(game.test_runs) if config.shuffle_membership else included.numpy()
        say("testing")
        report = in_scope(
            summarise_visual(
                config,
                pool,
                told,
                labels,
                matches,
                claimed=_claim(config, ledger),
                command=settings.command,
            )
        )
        _write(config, directory, report, sets, match_table(matches, labels, told))
        say("drawing the report")
        with explain_failure(directory.pdf):
            pictures = panel_pictures(report, sets, pool if settings.show_records else None)
            write_pages(build_visual(VisualMaterial(report=report, pictures=pictures)), directory)
    return replace(report, run_directory=str(directory.path), pdf=str(directory.pdf))


def match_all(
    names: tuple[str, ...], metrics: Mapping[str, Perceptual], sets: CondensedBatch, pool: Pool, *, jobs: int
) -> dict[str, Matches]:
    """The matches of every set by every distance."""
    found = {}
    for name in names:
        if name not in metrics:
            found[name] = visual_matches(sets.images, sets.labels, pool, pairwise_euclidean)
            continue
        with ProgressBar(f"comparing with {pool.num_records} records by {name}", {0: pool.num_records}) as bar:
            pairwise = _perceptual(metrics[name], jobs, bar, pool.num_records)
            found[name] = visual_matches(sets.images, sets.labels, pool, pairwise)
    return found


def _perceptual(metric: Perceptual, jobs: int, bar: ProgressBar, total: int) -> Pairwise:
    done = 0

    def tick(count: int) -> None:
        nonlocal done
        done += count
        bar.update(0, min(1.0, done / total))

    return partial(pairwise_lpips, metric, jobs=jobs, tick=tick)


def _condense(config: VisualConfig, pool: Pool, included: Tensor) -> tuple[CondensedBatch, Ledger | None]:
    method = get_method(config.method)
    device = torch.device(config.device)
    with ProgressBar(f"condensing {config.runs} random halves", {0: config.runs}) as bar:

        def track(name: str, total: int, state: dict[str, Tensor]) -> Iterator[int]:  # noqa: ARG001
            for step in range(total):
                yield step
                bar.update(0, (step + 1) / total)

        batch, ledger = condense_runs(
            method,
            pool.to(device),
            included.to(device),
            method.config(**config.method_config),
            class_sizes=nominal_class_sizes(pool),
            randomness=Randomness(seed=config.seed, runs=tuple(range(config.runs))),
            track=track,
        )
    if not bool(batch.images.isfinite().all()):
        raise BadConfig(f"{config.method} diverged: its images are not finite; choose a smaller --set learning_rate")
    host = torch.device("cpu")
    batch = CondensedBatch(
        images=batch.images.detach().to(host),
        labels=batch.labels.to(host),
        initial_records=batch.initial_records.to(host),
    )
    return batch, ledger


def _claim(config: VisualConfig, ledger: Ledger | None) -> schema.Claim | None:
    """What is stated, or else what the accountants prove for what ran."""
    if config.claim is None:
        if ledger is None or not claims_anything(ledger.entries):
            return None
        return claim_from_ledger(ledger.entries, config.delta)
    return schema.Claim(epsilon_rdp=None, epsilon_pld=config.claim, delta=config.delta, source="stated with --claim")


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


def _write(
    config: VisualConfig, directory: RunDirectory, report: VisualReport, sets: CondensedBatch, table: pd.DataFrame
) -> None:
    with contextlib.suppress(OSError):
        directory.shards.rmdir()
    write_text(directory.config, config.to_json())
    tensors = {"images": sets.images, "labels": sets.labels, "initial_records": sets.initial_records}
    write_tensors(directory.synthetic, tensors, digest=config.digest)
    write_atomically(directory.path / "matches.parquet", lambda path: table.to_parquet(path, index=False))
    write_text(directory.report, schema.dump(report))


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
