"""Auditing sets that somebody else released, at level set: shadow runs are ours, test runs are theirs.

The auditor drew who was in (coins.py) and asserts it. Shadows by one of our methods, the adversary's guess of how
the sets were made, are all fit runs. The coins of the released sets enter when the guesses are counted and not before,
so the one-run bound (arXiv:2305.08846) holds whatever the shadows are; a wrong guess costs power only. Numbers of
guesses are chosen on cross-fitted shadow runs or, where there are too few, declared beforehand (headline.py).
"""

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from attacks.registry import Observations, get_attack
from attacks.released import Released
from audit.data.load import load_pool, pool_checksum
from audit.engine.store import RunDirectory, read_tensors, write_tensors
from audit.games.membership.coins import read_coins, take_column
from audit.games.membership.config import AuditConfig
from audit.games.membership.resolve import check_fit_runs, enumerate_fit_runs, resolve_config
from audit.games.membership.shard import game_of
from audit.games.membership.signals import labels_given, level_signals
from audit.games.membership.summary import judge
from audit.sets.synthetic import SyntheticSet, check_fit, digest_of, read_synthetic
from audit.specs.membership import ReleasedSets
from audit.specs.pictures import Visual
from audit.statistics.estimators.evidence import check_runs_differ
from audit.statistics.estimators.guesses import ASSUMPTIONS
from audit.statistics.outlook import tradeoff_of_point
from condensers.errors import BadConfig, BadData
from condensers.pool import Pool
from reports.records import schema
from reports.records.gallery import Gallery, show_synthetic

SETS = "released.safetensors"
HIDDEN = (
    "Whether the released images started from real records is not known here; they may show some. They are left out "
    "unless asked for, with --show-records."
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Foreign:
    """Sets as they were released; `members` `[sets, records]` by the auditor's coins, None where there are none.

    `facts` go into the configuration: which files, which sets in them, which coins. `audited` `[records]` have coins;
    None: all have.
    """

    sets: tuple[SyntheticSet, ...]
    members: np.ndarray | None
    facts: dict[str, Any]
    audited: np.ndarray | None = None

    @property
    def may_show_records(self) -> bool:
        """Unless the label of the first says that its images started from noise."""
        label = self.sets[0].label
        return label is None or label.get("starts_from_records") is not False


def read_foreign(spec: ReleasedSets | Visual, pool: Pool) -> Foreign:
    """What --synthetic, --index, --normalisation, --members and --column say, checked against the pool."""
    files = tuple(map(Path, spec.synthetic))
    path = None if spec.members is None else Path(spec.members)
    indices = _one_each("--index", spec.index, len(files), (0,) * len(files))
    sets = []
    for file, index in zip(files, indices, strict=True):
        found = read_synthetic(file, dataset=spec.dataset, index=index, normalisation=spec.normalisation)
        check_fit(found, pool)
        sets.append(found)
    digests = [digest_of(found.images, found.labels) for found in sets]
    if len(set(digests)) < len(digests):
        raise BadConfig("--synthetic: the same set is given twice; each needs members of its own")
    facts: dict[str, Any] = {
        "files": [str(file) for file in files],
        "names": [found.name for found in sets],
        "index": list(indices),
        "normalisation": spec.normalisation,
        "sha256": digests,
        "members_file": None,
        "columns": None,
        "coins": None,
    }
    if path is None:
        if spec.column:
            raise BadConfig("--column: can only be given together with --members FILE")
        return Foreign(sets=tuple(sets), members=None, facts=facts)
    columns = _one_each("--column", spec.column, len(files), tuple(range(len(files))))
    if len(set(columns)) < len(columns):
        raise BadConfig("--column: two sets cannot have the same coins; draw a column for each, `audit coins --sets N`")
    coins = read_coins(path, dataset=spec.dataset, checksum=pool_checksum(pool), num_records=pool.num_records)
    if coins.audited is not None and isinstance(spec, Visual):
        raise BadConfig(
            f"--members {path}: has coins for {int(coins.audited.sum())} of {pool.num_records} records only; `audit "
            "visual` needs coins for all, draw them without --audited"
        )
    members = np.stack([take_column(coins, path, column) for column in columns])
    check_runs_differ(members if coins.audited is None else members[:, coins.audited])
    facts |= {
        "members_file": str(path),
        "columns": list(columns),
        "coins": hashlib.sha256(np.packbits(members, axis=1).tobytes()).hexdigest(),
    }
    return Foreign(sets=tuple(sets), members=members, facts=facts, audited=coins.audited)


def _one_each(flag: str, given: tuple[int, ...], wanted: int, default: tuple[int, ...]) -> tuple[int, ...]:
    """As many numbers as sets; none given means the default."""
    if given and len(given) != wanted:
        raise BadConfig(f"{flag}: given {len(given)} times for {wanted} sets; give it once for each --synthetic")
    return given or default


def resolve_foreign(spec: ReleasedSets, data_root: Path | None) -> tuple[AuditConfig, Pool, Foreign]:
    """The configuration of the shadows and of the sets; by default as many images per class as the first set has."""
    for flag, given in (("--test-runs", spec.test_runs), ("--canaries", spec.canaries), ("--bits", spec.bits)):
        if given is not None:
            raise BadConfig(f"{flag}: has no meaning with --synthetic; all --shadows are fit runs, the sets are tested")
    if spec.public_draws != 1:
        raise BadConfig("--public-draws: has no meaning with --synthetic; the sets were made with a draw of their own")
    if spec.level != "set":
        raise BadConfig("--synthetic: a released set is audited at --level set")
    if spec.members is None:
        raise BadConfig("--synthetic: give the coins that chose its members, --members FILE (`audit coins` draws them)")
    pool = load_pool(spec.dataset, data_root=data_root, records=spec.records)
    foreign = read_foreign(spec, pool)
    audited = None if foreign.audited is None else spec.members
    independent = spec.independent_randomness or not spec.known_randomness
    shadows = spec.but(
        fit_runs=None, synthetic=(), members=None, column=(), index=(), known_randomness=False,
        audited=audited, independent_randomness=independent, fit_design="coins",
    )  # fmt: skip
    if spec.ipc is None and spec.ratio is None:
        smallest = int(torch.bincount(pool.labels, minlength=pool.num_classes).min())
        shadows = shadows.but(ipc=min(smallest, max(1, round(len(foreign.sets[0].images) / pool.num_classes))))
    config, pool = resolve_config(shadows, data_root)
    fit_runs = check_fit_runs(spec.fit_runs, config.shadows)
    as_asked = spec.but(independent_randomness=independent)
    config = replace(
        config,
        test_runs=len(foreign.sets),
        fit_runs=fit_runs,
        foreign=foreign.facts,
        enumerated=enumerate_fit_runs(as_asked, pool, config.audited_records, fit_runs or config.shadows),
    )
    return config, pool, foreign


def as_released(foreign: Foreign, *, soft: bool, num_classes: int) -> list[Released]:
    """The sets with labels of the shadows' kind, hard ones in order of class as the shadows have them."""
    found = []
    for one in foreign.sets:
        images = one.images.flatten(1).numpy()
        if soft:
            labels = one.labels if one.labels.ndim == 2 else torch.eye(num_classes, device="cpu")[one.labels]
            found.append(Released(images=images[None], labels=labels.numpy()[None]))
        else:
            hard = one.hard_labels.numpy()
            order = np.argsort(hard, kind="stable")
            found.append(Released(images=images[None, order], labels=hard[None, order]))
    return found


def score_foreign(
    config: AuditConfig, pool: Pool, shards: dict[str, np.ndarray], foreign: Foreign
) -> tuple[np.ndarray, np.ndarray]:
    """Membership and scores of the released sets, `[sets, records]` each."""
    game = game_of(config, pool.num_records)
    fit_members = labels_given(config, pool.num_records, game.fit_runs)
    others = as_released(foreign, soft=shards["labels"].ndim == 3, num_classes=pool.num_classes)
    signals = level_signals("set", config, pool, shards, fit_members=fit_members, rows=game.fit_runs, others=others)
    members = labels_given(config, pool.num_records, game.test_runs) if config.shuffle_membership else foreign.members
    if members is None:
        raise BadData("the members of the released sets are not known")
    if foreign.audited is not None and not config.shuffle_membership:
        members = members[:, foreign.audited]
    return members, score_signals(config, signals, fit_members)


def score_signals(config: AuditConfig, signals: np.ndarray, fit_members: np.ndarray) -> np.ndarray:
    """Scores of the runs that follow the fit runs in `signals` `[runs, records, 1]`."""
    attack = get_attack(config.attack)
    observations = Observations(
        fit_signals=signals[: len(fit_members)],
        fit_members=fit_members,
        test_signals=signals[len(fit_members) :],
        ratios=True,
    )
    return attack.score(observations, attack.config(**config.attack_config))


def rehearse_foreign(config: AuditConfig, pool: Pool) -> None:
    """Score blank signals: an attack that these shadows cannot feed refuses before they are computed."""
    game = game_of(config, pool.num_records)
    blank = np.zeros((len(game.fit_runs) + len(game.test_runs), pool.num_records, 1), dtype=np.float32)
    score_signals(config, blank, labels_given(config, pool.num_records, game.fit_runs))


def describe_foreign(config: AuditConfig, foreign: Foreign, report: schema.Report) -> schema.Report:
    """The record in the terms of what was audited: sets, coins that are asserted, the claim on the label if any."""
    assumed = asserted(foreign)
    bounds = tuple(assume(bound, assumed) for bound in report.bounds)
    headline = assume(report.epsilon, assumed)
    claimed = report.claimed if config.claim is not None else label_claim(foreign, config.delta)
    verdict, reason = judge(config, headline, claimed)
    level, *rest = report.threat_model if not config.shuffle_membership else report.threat_model[1:]
    told = report.threat_model[:1] if config.shuffle_membership else ()
    guess = (
        f"The sets were made by somebody else. The shadow runs are by {config.method}, the adversary's guess of how: a "
        "wrong guess weakens the attack, not the bound."
    )
    tradeoff = report.tradeoff
    if tradeoff is None and claimed is not None and claimed.epsilon_pld is not None:
        tradeoff = tradeoff_of_point(claimed.epsilon_pld, claimed.delta)
    return replace(
        report,
        method=config.subject,
        verdict=verdict,
        verdict_reason=reason,
        epsilon=headline,
        bounds=bounds,
        groups=tuple(replace(group, epsilon=assume(group.epsilon, assumed)) for group in report.groups),
        claimed=claimed,
        tradeoff=tradeoff,
        game=replace(report.game, num_synthetic=len(foreign.sets[0].images)),
        threat_model=(*told, level, guess, *rest),
        outlook=(),
    )


def asserted(foreign: Foreign) -> tuple[str, ...]:
    """What the bound rests on and nobody but the auditor can know."""
    columns = ", ".join(
        f"{name} of column set_{column}"
        for name, column in zip(foreign.facts["names"], foreign.facts["columns"] or (), strict=False)
    )
    whose = "every record" if foreign.audited is None else "every audited record"
    return (
        f"ASSERTED BY THE AUDITOR: {whose} was in each set by its own fair coin, tossed before the set was made "
        "and independently of everything else",
        f"ASSERTED BY THE AUDITOR: of the records of the pool, each set was made only from its own members ({columns})",
    )


def assume(bound: schema.EpsilonBound, assumed: tuple[str, ...]) -> schema.EpsilonBound:
    if bound.kind != "bound":
        return bound
    kept = tuple(text for text in bound.assumptions if text != ASSUMPTIONS[0])
    return replace(bound, assumptions=(*assumed, *kept))


def label_claim(foreign: Foreign, delta: float) -> schema.Claim | None:
    """The largest ε on the sets' own labels, if all have one that holds at this δ."""
    stated = [None if found.label is None else found.label.get("privacy") for found in foreign.sets]
    try:
        claims = [
            schema.Claim(epsilon_rdp=float(one["epsilon_rdp"]), epsilon_pld=float(one["epsilon_pld"]),
                         delta=delta, source="stated on the label of the set")
            for one in stated
            if one is not None and 0 <= float(one["delta"]) <= delta
        ]  # fmt: skip
    except (KeyError, TypeError, ValueError):
        raise BadData("the label of a set states an ε that cannot be read; the file was altered") from None
    if len(claims) < len(stated):
        return None
    return max(claims, key=lambda claim: claim.epsilon_pld or 0.0)


def keep_sets(directory: RunDirectory, digest: str, foreign: Foreign) -> None:
    """A copy of what was audited, in the run directory."""
    tensors: dict[str, torch.Tensor] = {}
    for place, found in enumerate(foreign.sets):
        tensors |= {f"images_{place}": found.images, f"labels_{place}": found.labels}
    tensors["may_show_records"] = torch.tensor(foreign.may_show_records, device="cpu")
    write_tensors(directory.path / SETS, tensors, digest=digest)


def show_foreign(directory: RunDirectory, digest: str, *, show_records: bool) -> Gallery:
    """The first of the sets that were audited, if it may be shown."""
    kept = read_tensors(directory.path / SETS, digest=digest)
    hidden = bool(kept["may_show_records"])
    gallery = show_synthetic(
        kept["images_0"].numpy(), kept["labels_0"].numpy(), from_records=hidden, show_records=show_records
    )
    left_out = hidden and not show_records and kept["images_0"].ndim == 4
    return replace(gallery, note=HIDDEN) if left_out else gallery
