"""One shard: a fixed group of runs, condensed, trained on and queried together.

The shard is the unit of computation and of storage. It is computed with a fixed number of threads, so that no byte
depends on how many workers there are, on their order or on a restart.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import torch
from torch import Tensor

from attacks.canaries import canary_kinds, parse_canaries, plant_canaries
from attacks.victims import VictimConfig, numbers_of, query_victims, train_victims, victim_network
from audit.data.auxiliary import attach_auxiliary
from audit.data.load import load_pool, pool_checksum
from audit.engine.checkpoints import Tracker, part_of
from audit.engine.store import DamagedShard, RunDirectory, read_tensors, write_tensors
from audit.games.membership.audited import audited_pool, include_others, other_records
from audit.games.membership.config import AuditConfig
from audit.games.membership.game import Game, nominal_class_sizes
from condensers.errors import BadConfig, BadData, Incomplete
from condensers.generator import named
from condensers.initial import has_members
from condensers.ledger import Ledger
from condensers.networks import Stack
from condensers.normalisation import SYMMETRIC, Normalisation
from condensers.plugins import source_files
from condensers.pool import CondensedBatch, Pool
from condensers.randomness import Randomness
from condensers.registry import Track, condense_runs, get_method

GENERATORS = "generators"  # of a shard: the weights of released generators, by name
# Share of a shard's time, for the progress bar only.
STAGES = {"condense": 0.6, "train": 0.35, "query": 0.05}


def shard_runs(config: AuditConfig, index: int) -> range:
    """The runs of a shard, all of one public draw. Run r is of draw r modulo the number of draws (game.py)."""
    draws = config.public_draws
    first = shard_draw(config, index) + index // draws * config.shard_runs * draws
    return range(first, min(first + config.shard_runs * draws, config.shadows), draws)


def shard_draw(config: AuditConfig, index: int) -> int:
    """The public draw of a shard: shards take turns."""
    return index % config.public_draws


def num_shards(config: AuditConfig) -> int:
    return config.public_draws * -(-(config.shadows // config.public_draws) // config.shard_runs)


def game_of(config: AuditConfig, num_records: int) -> Game:
    """The game; sets of another maker are test runs behind all shadows, and their members are not for it to say."""
    return Game(
        seed=config.seed,
        num_records=num_records,
        num_runs=config.shadows + (0 if config.foreign is None else config.test_runs),
        num_test_runs=config.test_runs,
        num_fit_runs=config.fit_runs,
        num_public_draws=config.public_draws,
        enumerated=None if config.enumerated is None else tuple(config.enumerated),
    )


def members_of_pool(config: AuditConfig, pool: Pool, runs: range) -> Tensor:
    """Who is in which run, bool `[runs, records of the whole pool]`."""
    game = game_of(config, pool.num_records if config.audited_records is None else len(config.audited_records))
    return include_others(config, game.members(runs), pool.num_records)


def load_checked_pool(config: AuditConfig, data_root: Path | None) -> Pool:
    """The pool that the config speaks of, and no other, with its canaries."""
    pool = load_pool(config.dataset, data_root=data_root, records=config.records)
    if pool_checksum(pool) != config.data_checksum:
        raise BadData(f"{config.dataset} has changed since this run was started; start a new one")
    method_config = get_method(config.method).config(**config.method_config)
    pool, found = attach_auxiliary(pool, method_config, config.dataset, data_root)
    if found != method_config:
        raise BadData(f"{found.auxiliary} has changed since this run was started; start a new one")
    return plant_canaries(pool, parse_canaries(config.canaries), config.seed)


@dataclass(frozen=True, kw_only=True)
class ShardWork:
    """The shards of one audit as units of work."""

    config: AuditConfig
    data_root: Path | None

    @property
    def device(self) -> str:
        """That of the configuration."""
        return self.config.device

    @property
    def sources(self) -> tuple[Path, ...]:
        """The file of an own method, which must travel to workers on other machines."""
        return source_files(self.config.method)

    def load(self) -> Pool:
        """The pool of records, checked, where it is computed with."""
        torch.set_num_threads(self.config.threads)
        return load_checked_pool(self.config, self.data_root).to(torch.device(self.config.device))

    def compute(self, pool: Pool, unit: int, folder: Path, report: Callable[[float], None]) -> None:
        """Compute one shard; Incomplete if it does not fit in memory."""
        try:
            compute_shard(self.config, pool, RunDirectory(folder), unit, report)
        except (MemoryError, RuntimeError) as error:
            # torch has a class of its own for a full GPU only.
            if isinstance(error, MemoryError | torch.OutOfMemoryError) or "allocate memory" in str(error):
                raise Incomplete(
                    f"not enough memory for {self.config.shard_runs} runs at once; finished runs are kept: choose a "
                    "smaller --jobs, --shard-runs or network"
                ) from None
            raise

    def file(self, unit: int) -> str:
        """Where the run directory keeps a shard."""
        return RunDirectory(Path()).shard(unit).as_posix()


def read_shard(directory: RunDirectory, config: AuditConfig, index: int) -> dict[str, Tensor]:
    """A finished shard; DamagedShard if it is not what this audit would compute. At level set victims do no harm."""
    path = directory.shard(index)
    same = None if config.level == "model" else config.condensation_digest
    tensors = read_tensors(path, digest=config.work_digest, condensation=same)
    found, expected = tensors["images"].shape[0], len(shard_runs(config, index))
    if found != expected:
        raise DamagedShard(f"{path} holds {found} runs, not {expected}")
    return tensors


def compute_shard(
    config: AuditConfig, pool: Pool, directory: RunDirectory, index: int, report: Callable[[float], None]
) -> None:
    """Condense, train and query the runs of one shard and write them down."""
    place = partial(directory.checkpoint, index)
    tracker = Tracker(digest=config.work_digest, place=place, report=report, stages=STAGES)
    tensors = shard_tensors(config, pool, index, tracker.track)
    write_tensors(directory.shard(index), tensors, digest=config.work_digest, condensation=config.condensation_digest)
    tracker.clear()
    report(1.0)


def shard_tensors(config: AuditConfig, pool: Pool, index: int, track: Track) -> dict[str, Tensor]:
    """What a shard holds. Where its runs do not fit on an accelerator together, fewer are computed at a time.

    That changes results by rounding at most, as any grouping of runs does (tests/contracts).
    """
    torch.set_num_threads(config.threads)
    runs = shard_runs(config, index)
    size, done, parts = len(runs), 0, list[dict[str, Tensor]]()
    while done < len(runs):
        part = runs[done : done + size]
        own = track if len(part) == len(runs) else part_of(track, done, len(runs))
        try:
            found = _compute_runs(config, pool, part, shard_draw(config, index), own)
        except torch.OutOfMemoryError:
            if size == 1:
                raise
            size = -(-size // 2)
            _free_memory(pool.images.device)
            continue
        parts.append(found)
        done += len(part)
    if len(parts) == 1:
        return parts[0]
    ledger = {name: tensor for name, tensor in parts[0].items() if name == "ledger"}
    return {name: torch.cat([part[name] for part in parts]) for name in parts[0] if name not in ledger} | ledger


def _free_memory(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.empty_cache()


def _compute_runs(config: AuditConfig, pool: Pool, runs: range, draw: int, track: Track) -> dict[str, Tensor]:
    """Condense, train and query some runs together; victims are for level model only."""
    included = members_of_pool(config, pool, runs).to(pool.images.device)
    randomness = Randomness(seed=config.seed, runs=tuple(runs), draw=draw)
    synthetic, ledger = condense(config, pool, included, randomness, track)
    _check_empty_classes(config.method, pool, included, synthetic, runs)
    _check_finite(synthetic.images, f"{config.method} diverged: its images", runs)
    shown = replace(synthetic, images=as_released(synthetic.images, config.bits))
    observed = {} if synthetic.generators is None else named(GENERATORS, synthetic.generators.parameters)
    if config.level == "model":
        observed |= _observe(config, pool, included, shown, randomness, track)
    return {
        "images": synthetic.images,
        "labels": synthetic.labels,
        "initial_records": synthetic.initial_records,
        **observed,
        **({} if ledger is None else {"ledger": ledger.to_tensor()}),
    }


def as_released(images: Tensor, bits: int | None) -> Tensor:
    """Pixels in [−1, 1] as so many bits hold them, or as they were computed."""
    if bits is None:
        return images
    steps = ((1 << bits) - 1) / 2
    return ((images.clamp(-1, 1) + 1) * steps).round() / steps - 1


def _observe(
    config: AuditConfig,
    pool: Pool,
    included: Tensor,
    synthetic: CondensedBatch,
    randomness: Randomness,
    track: Track,
) -> dict[str, Tensor]:
    """The confidences of the networks on audited records, and their accuracy.

    The networks are what was released or, where that is a set, victims that are trained on it. Accuracy is that on
    ordinary records that their run left out or, where some are not audited, on a fixed sample of those.
    """
    networks, whose, prefix, numbers = synthetic.networks, config.method, "", SYMMETRIC
    if networks is None:
        victim = VictimConfig(**config.victim_config)
        numbers, whose, prefix = numbers_of(victim, pool.name), "the victim's training", "victim."
        networks = _train(victim, pool, synthetic, randomness, track, numbers)
    audited, others = audited_pool(config, pool), other_records(config, pool)
    signals, correct = query_victims(networks.network, networks.parameters, audited, config.queries, numbers, track)
    _check_finite(signals, f"{whose} diverged: its confidences", randomness.runs, prefix=prefix)
    if others is not None:
        _, correct = query_victims(networks.network, networks.parameters, others, 1, numbers)
        return {"signals": signals, "accuracy": correct.float().mean(1)}
    kinds = canary_kinds(pool.labels.cpu().numpy(), pool.num_classes, parse_canaries(config.canaries))
    left_out = ~included & torch.from_numpy(kinds == 0).to(included.device)
    return {"signals": signals, "accuracy": (correct & left_out).sum(1) / left_out.sum(1)}


def _train(
    victim: VictimConfig,
    pool: Pool,
    synthetic: CondensedBatch,
    randomness: Randomness,
    track: Track,
    numbers: Normalisation,
) -> Stack:
    network = victim_network(pool, victim)
    parameters = train_victims(network, synthetic, victim, randomness=randomness, track=track, numbers=numbers)
    return Stack(network=network, parameters=parameters)


def _check_empty_classes(
    name: str, pool: Pool, included: Tensor, synthetic: CondensedBatch, runs: Sequence[int]
) -> None:
    """Refuse a method (of one's own) that cannot bear a class without members."""
    broken = ~synthetic.images.flatten(1).isfinite().all(1) & ~has_members(pool, included).all(1)
    if bool(broken.any()):
        raise BadConfig(
            f"{name} returned images that are not finite in run {runs[int(broken.int().argmax())]}, where some "
            "class has no member; a method must handle empty classes (docs/adding-a-method.md), because choosing "
            "another --seed would condition the coins"
        )


def _check_finite(values: Tensor, what: str, runs: Sequence[int], prefix: str = "") -> None:
    """Refuse settings under which a run ends in numbers that mean nothing."""
    finite = values.flatten(1).isfinite().all(1)
    if not bool(finite.all()):
        raise BadConfig(
            f"{what} are not finite in run {runs[int(finite.int().argmin())]}; choose a smaller --set "
            f"{prefix}learning_rate"
        )


def condense(
    config: AuditConfig, pool: Pool, included: Tensor, randomness: Randomness, track: Track
) -> tuple[CondensedBatch, Ledger | None]:
    """Condense a group of runs, together or, with independent randomness, one by one.

    A private method's ledger is that of every run: it must not depend on who is in.
    """
    method = get_method(config.method)
    if method.plugin != config.versions.get("method plugin", ""):
        raise BadData(f"{config.method} has changed since this run was started; start a new one")
    settings = method.config(**config.method_config)
    sizes = nominal_class_sizes(pool, config.audited_records)
    if not config.independent_randomness:
        return condense_runs(method, pool, included, settings, class_sizes=sizes, randomness=randomness, track=track)
    batches, ledgers = [], []
    for position, run in enumerate(randomness.runs):
        alone = Randomness(seed=randomness.seed, runs=(run,), independent=True)

        def track_run(name: str, total: int, state: dict[str, Tensor], position: int = position) -> Iterator[int]:
            return track(f"{name}-{position}of{len(randomness.runs)}", total, state)

        one = included[position : position + 1]
        batch, ledger = condense_runs(method, pool, one, settings, class_sizes=sizes, randomness=alone, track=track_run)
        batches.append(batch)
        ledgers.append(ledger)
    if len({None if ledger is None else ledger.entries for ledger in ledgers}) != 1:
        raise RuntimeError(f"runs of {method.name} wrote different ledgers: its accounting depends on the records")
    return CondensedBatch.joined(batches), ledgers[0]
