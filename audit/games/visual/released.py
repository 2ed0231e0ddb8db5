"""The visual audit of sets that somebody else released: the same test with their members by the auditor's coins.

Without coins there is nothing to test: then the nearest records and their distances are shown, and no more is said.
"""

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace

import numpy as np
import pandas as pd
import torch

from attacks.nearest import Matches
from attacks.perceptual import Perceptual
from audit.engine.pages import write_pages
from audit.engine.store import RunDirectory, explain_failure, write_atomically, write_text
from audit.games.membership.foreign import Foreign, asserted, assume, keep_sets, label_claim, show_foreign
from audit.games.membership.game import Game
from audit.games.scope import in_scope
from audit.games.visual.match import DISTANCES, VisualConfig, directory_name, make_panel, summarise_visual
from audit.games.visual.run import VisualSettings, match_all, match_table, pictures_of_panel
from condensers.errors import BadData
from condensers.pool import CondensedBatch, Pool
from reports.documents.visual import NearestMaterial, VisualMaterial, build_nearest, build_visual
from reports.records import schema
from reports.records.gallery import Pictures
from reports.records.visual import NearestReport, Nearness, NotComputed, VisualReport

# Nearer by L2 than one grey level of 256 in one pixel: the record itself, rounded by a layout.
SAME = 1e-3


def run_released(
    config: VisualConfig,
    pool: Pool,
    foreign: Foreign,
    metrics: Mapping[str, Perceptual],
    settings: VisualSettings,
    say: Callable[[str], None],
) -> VisualReport | NearestReport:
    """Compare, test if there are coins, write and draw; the record, with paths as seen from here."""
    torch.set_num_threads(1)
    directory = RunDirectory(settings.out / directory_name(config))
    directory.create()
    report: VisualReport | NearestReport
    with directory.held():
        matches, labels = match_sets(config.distances, metrics, foreign, pool, jobs=settings.jobs)
        if foreign.members is None:
            report = summarise_nearest(config, foreign, matches, labels, command=settings.command)
            table = match_table(matches, labels, np.zeros((len(labels), pool.num_records), dtype=bool))
            table = table.drop(columns=["member", "guessed"])
        else:
            say("testing")
            told = _told(config, pool, foreign.members)
            report = summarise_released(config, pool, foreign, told, matches, labels, command=settings.command)
            table = match_table(matches, labels, told)
        _write(config, directory, report, foreign, table)
        say("drawing the report")
        with explain_failure(directory.pdf):
            pictures = released_pictures(directory, report, pool if settings.show_records else None)
            if isinstance(report, NearestReport):
                document = build_nearest(NearestMaterial(report=report, pictures=pictures))
            else:
                document = build_visual(VisualMaterial(report=report, pictures=pictures))
            write_pages(document, directory)
    return replace(report, run_directory=str(directory.path), pdf=str(directory.pdf))


def released_pictures(directory: RunDirectory, report: VisualReport | NearestReport, pool: Pool | None) -> Pictures:
    """Those of the first of the sets that the directory keeps."""
    gallery = show_foreign(directory, report.digest, show_records=pool is not None)
    return pictures_of_panel(report.panel, gallery, pool)


def match_sets(
    names: tuple[str, ...], metrics: Mapping[str, Perceptual], foreign: Foreign, pool: Pool, *, jobs: int
) -> tuple[dict[str, Matches], np.ndarray]:
    """The matches of all sets and their hard labels `[sets, images]`, −1 beyond the end of a smaller set."""
    most = max(len(one.images) for one in foreign.sets)
    labels = np.full((len(foreign.sets), most), -1, dtype=np.int64)
    found: dict[str, list[Matches]] = {name: [] for name in names}
    for place, one in enumerate(foreign.sets):
        hard = one.hard_labels
        labels[place, : len(hard)] = hard.numpy()
        started = torch.full((1, len(hard)), -1, dtype=torch.int64, device="cpu")
        alone = CondensedBatch(images=one.images[None], labels=hard[None], initial_records=started)
        for name, matches in match_all(names, metrics, alone, pool, jobs=jobs).items():
            found[name].append(matches)
    return {name: _join(parts, most) for name, parts in found.items()}, labels


def _join(parts: list[Matches], most: int) -> Matches:
    """Matches of sets one after another; no record is matched by an image that is not there."""

    def widened(values: np.ndarray, blank: float) -> np.ndarray:
        rest = [(0, 0)] * (values.ndim - 2)
        return np.pad(values, [(0, 0), (0, most - values.shape[1]), *rest], constant_values=blank)

    joined = Matches(
        records=np.concatenate([widened(part.records, -1) for part in parts]),
        distances=np.concatenate([widened(part.distances, np.inf) for part in parts]),
        guesses=np.concatenate([widened(part.guesses, -1) for part in parts]),
        nearness=np.concatenate([part.nearness for part in parts]),
    )
    if not np.isfinite(joined.nearness).all(0).any():
        raise BadData("the released sets have no class in common: give them to `audit visual` one by one")
    return joined


def summarise_released(
    config: VisualConfig,
    pool: Pool,
    foreign: Foreign,
    members: np.ndarray,
    matches: Mapping[str, Matches],
    labels: np.ndarray,
    *,
    command: str,
) -> VisualReport:
    """The record of the test, in the terms of what was audited."""
    claimed = label_claim(foreign, config.delta)
    if config.claim is not None:
        claimed = schema.Claim(
            epsilon_rdp=None, epsilon_pld=config.claim, delta=config.delta, source="stated with --claim"
        )
    report = summarise_visual(config, pool, members, labels, matches, claimed=claimed, command=command)
    assumed = asserted(foreign)
    first, *rest = report.threat_model
    audited = replace(
        report,
        method=config.audited,
        epsilon=assume(report.epsilon, assumed),
        bounds=tuple(assume(bound, assumed) for bound in report.bounds),
        distances=tuple(replace(finding, bound=assume(finding.bound, assumed)) for finding in report.distances),
        panel=make_panel(members[0], labels[0][labels[0] >= 0], matches),
        game=replace(
            report.game,
            num_synthetic=len(foreign.sets[0].images),
            public_randomness="that of whoever made the sets",
        ),
        threat_model=(first, "The sets were made by somebody else.", *rest),
    )
    return in_scope(audited)


def summarise_nearest(
    config: VisualConfig, foreign: Foreign, matches: Mapping[str, Matches], labels: np.ndarray, *, command: str
) -> NearestReport:
    """Distances only: who was in is not known."""
    return NearestReport(
        command=command,
        method=config.audited,
        dataset=config.dataset,
        distances=tuple(_nearness(name, found) for name, found in matches.items()),
        not_computed=tuple(NotComputed(name=name, why=why) for name, why in config.left_out.items()),
        panel=make_panel(None, labels[0][labels[0] >= 0], matches),
        num_sets=len(foreign.sets),
        weights=config.weights,
        config=asdict(config),
        versions=config.versions,
        digest=config.digest,
        run_directory=directory_name(config),
        pdf="report.pdf",
    )


def _nearness(name: str, matches: Matches) -> Nearness:
    nearest = matches.distances[..., 0]
    nearest = nearest[np.isfinite(nearest)]
    return Nearness(
        name=name,
        description=DISTANCES[name],
        num_images=nearest.size,
        num_copies=int((nearest < SAME).sum()) if name == "l2" else None,
        smallest=float(nearest.min()),
        median=float(np.median(nearest)),
        largest=float(nearest.max()),
    )


def _told(config: VisualConfig, pool: Pool, members: np.ndarray) -> np.ndarray:
    if not config.shuffle_membership:
        return members
    game = Game(seed=config.seed, num_records=pool.num_records, num_runs=config.runs, num_test_runs=config.runs)
    return game.decoys(game.test_runs)


def _write(
    config: VisualConfig,
    directory: RunDirectory,
    report: VisualReport | NearestReport,
    foreign: Foreign,
    table: pd.DataFrame,
) -> None:
    with contextlib.suppress(OSError):
        directory.shards.rmdir()
    write_text(directory.config, config.to_json())
    keep_sets(directory, config.digest, foreign)
    write_atomically(directory.path / "matches.parquet", lambda path: table.to_parquet(path, index=False))
    write_text(directory.report, schema.dump(report))
