"""The visual audit of sets that somebody else released: the same test with their members by the auditor's coins.

Without coins there is nothing to test: then the nearest records and their distances are shown, and no more is said.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace

import numpy as np
import torch

from attacks.nearest import Matches, check_sets
from audit.engine.pages import write_pages
from audit.engine.store import RunDirectory, explain_failure, write_text
from audit.engine.where import Where
from audit.games.membership.foreign import Foreign, asserted, assume, keep_sets, label_claim, show_foreign
from audit.games.membership.game import Game
from audit.games.scope import in_scope
from audit.games.visual.config import DISTANCES, VisualConfig
from audit.games.visual.match import make_panel, summarise_visual
from audit.games.visual.matching import match_all
from audit.games.visual.resolve import Resolved
from audit.games.visual.run import clear_parts, match_table, pictures_of_panel, stated_claim, write_result
from audit.games.visual.tables import Compared
from condensers.errors import BadData
from condensers.pool import Pool
from reports.documents.visual import NearestMaterial, VisualMaterial, build_nearest, build_visual
from reports.records.gallery import Pictures
from reports.records.visual import NearestReport, Nearness, NotComputed, VisualReport

# Nearer by L2 than one grey level of 256 in one pixel: the record itself, rounded by a layout.
SAME = 1e-3


def run_released(resolved: Resolved, where: Where, say: Callable[[str], None]) -> VisualReport | NearestReport:
    """Compare, test if there are coins, write and draw; the record, with paths as seen from here."""
    torch.set_num_threads(1)
    config, pool, foreign = resolved.config, resolved.pool, resolved.foreign
    assert foreign is not None
    directory = RunDirectory(where.out / config.directory_name)
    directory.create()
    report: VisualReport | NearestReport
    with directory.held():
        compared = join_sets(foreign, pool)
        matches, labels = match_all(resolved, compared, directory, where, say), compared.labels.numpy()
        if not any(np.isfinite(found.nearness).all(0).any() for found in matches.values()):
            raise BadData("the released sets have no class in common; give them to `audit visual` one by one")
        if foreign.members is None:
            report = summarise_nearest(config, foreign, matches, labels, command=resolved.command)
            table = match_table(matches, labels, np.zeros((len(labels), pool.num_records), dtype=bool))
            table = table.drop(columns=["member", "guessed"])
        else:
            say("testing")
            told = _told(config, pool, foreign.members)
            report = summarise_released(config, pool, foreign, told, matches, labels, command=resolved.command)
            table = match_table(matches, labels, told)
        write_text(directory.config, config.to_json())
        keep_sets(directory, config.digest, foreign)
        write_result(directory, report, table)
        say("drawing the report")
        with explain_failure(directory.pdf):
            pictures = released_pictures(directory, report, pool if where.show_records else None)
            if isinstance(report, NearestReport):
                document = build_nearest(NearestMaterial(report=report, pictures=pictures))
            else:
                document = build_visual(VisualMaterial(report=report, pictures=pictures))
            write_pages(document, directory)
        clear_parts(directory)
    return replace(report, run_directory=str(directory.path), pdf=str(directory.pdf))


def released_pictures(directory: RunDirectory, report: VisualReport | NearestReport, pool: Pool | None) -> Pictures:
    """Those of the first of the sets that the directory keeps."""
    gallery = show_foreign(directory, report.digest, show_records=pool is not None)
    return pictures_of_panel(report.panel, gallery, pool)


def join_sets(foreign: Foreign, pool: Pool) -> Compared:
    """All sets, each of them checked, with places of label −1 behind the images of a smaller one."""
    most = max(len(one.images) for one in foreign.sets)
    shape = (len(foreign.sets), most)
    images = torch.zeros((*shape, *pool.images.shape[1:]), dtype=torch.float32, device="cpu")
    labels = torch.full(shape, -1, dtype=torch.int64, device="cpu")
    for place, one in enumerate(foreign.sets):
        labels[place, : len(one.images)] = check_sets(one.images[None], one.hard_labels[None], pool)[0]
        images[place, : len(one.images)] = one.images
    return Compared(images=images, labels=labels)


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
        claimed = stated_claim(config.claim, config.delta)
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
            public_randomness="unknown: the sets were made by somebody else",
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
        run_directory=config.directory_name,
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
