"""From a specification to a complete configuration of a visual audit: of condensations, or of released sets."""

from dataclasses import dataclass
from typing import Any

from attacks.perceptual import Perceptual, fits_images
from audit.data.load import load_pool, pool_checksum
from audit.data.weights import Weights, describe_absence, find_weights, read_file
from audit.engine.where import Where
from audit.games import settings
from audit.games.membership.foreign import Foreign, read_foreign
from audit.games.membership.resolve import resolve_method
from audit.games.visual.config import NETWORKS, VisualConfig
from audit.games.visual.tables import metric_of
from audit.specs.pictures import DISTANCES, Visual
from condensers.errors import BadConfig
from condensers.pool import Pool
from condensers.registry import get_method, require_set

RUNS_PER_SHARD = 8  # two of the default 16 runs' shards keep two cores busy; part of the digest


@dataclass(frozen=True, kw_only=True, eq=False)
class Resolved:
    """A configuration, its pool, its perceptual distances by name, and the command that asks for it again."""

    config: VisualConfig
    pool: Pool
    metrics: dict[str, Perceptual]
    command: str
    foreign: Foreign | None = None


def resolve_visual(spec: Visual, where: Where) -> Resolved:
    """Check the specification, load pool and weights, and fix everything that determines the result."""
    return _released(spec, where) if spec.synthetic else _condensed(spec, where)


def _condensed(spec: Visual, where: Where) -> Resolved:
    method = get_method(spec.method)
    require_set(method, "there are no images to compare")
    changes = settings.own_settings(spec.settings)
    settings.check_changes(changes, {"": method.config})
    device = settings.resolve_device(spec.device)
    pool = load_pool(spec.dataset, data_root=where.data_root, records=spec.records)
    ipc = settings.resolve_ipc(pool, spec.ipc, spec.ratio, method=method, preset=spec.preset)
    pool, method_config = resolve_method(method, pool, ipc, spec, where.data_root)
    config, metrics = _config(
        spec,
        where,
        pool,
        device,
        method=method.name,
        method_config=dict(vars(method_config)),
        preset=spec.preset,
        changes=changes,
        runs=spec.runs,
        epsilon=spec.epsilon,
        versions=settings.versions(method),
        shard_runs=min(RUNS_PER_SHARD, spec.runs),
    )
    init = config.method_config.get("init", spec.init)
    command = spec.but(ipc=ipc, ratio=None, init=init, device=device).command()
    return Resolved(config=config, pool=pool, metrics=metrics, command=command)


def _released(spec: Visual, where: Where) -> Resolved:
    device = settings.resolve_device(spec.device)
    pool = load_pool(spec.dataset, data_root=where.data_root, records=spec.records)
    foreign = read_foreign(spec, pool)
    config, metrics = _config(
        spec,
        where,
        pool,
        device,
        method="released",
        method_config={},
        preset="",
        changes={},
        runs=len(foreign.sets),
        epsilon=None,
        versions=settings.versions(None),
        foreign=foreign.facts,
    )
    chosen = {"index": tuple(foreign.facts["index"]), "column": tuple(foreign.facts["columns"] or ())}
    command = spec.but(device=device, **chosen).command()
    return Resolved(config=config, pool=pool, metrics=metrics, command=command, foreign=foreign)


def _config(
    spec: Visual, where: Where, pool: Pool, device: str, **own: Any
) -> tuple[VisualConfig, dict[str, Perceptual]]:
    """The configuration of any sets, `own` saying whose they are; the perceptual distances by name."""
    weights, left_out = _choose_weights(spec.distances, pool, where)
    names = tuple(name for name in spec.distances or DISTANCES if name == "l2" or name in weights)
    config = VisualConfig(
        dataset=spec.dataset,
        records=spec.records,
        asked=tuple(dict.fromkeys(spec.distances)),
        distances=tuple(dict.fromkeys(names)),
        left_out=left_out,
        weights={NETWORKS[name]: found.checksum for name, found in weights.items()},
        seed=spec.seed,
        delta=spec.delta,
        confidence=spec.confidence,
        claim=spec.claim,
        shuffle_membership=spec.shuffle_membership,
        device=device,
        data_checksum=pool_checksum(pool),
        **own,
    )
    return config, {name: metric_of(found, device) for name, found in weights.items()}


def _choose_weights(distances: tuple[str, ...], pool: Pool, where: Where) -> tuple[dict[str, Weights], dict[str, str]]:
    """Backbones by name of distance. What was asked for by name must be there; what was not is left out, with why."""
    given = {read_file(path).network: path for path in where.weights}
    asked = [name for name in distances if name in NETWORKS]
    tried = asked or ([] if distances else [name for name in NETWORKS if name == "lpips" or NETWORKS[name] in given])
    for network, path in given.items():
        if network not in {NETWORKS[name] for name in tried}:
            raise BadConfig(
                f"--lpips-weights {path}: holds {network}, which none of the chosen --distance options uses"
            )
    found, left_out = {}, {}
    for name in tried:
        shape = tuple(pool.images.shape[1:])
        weights = None
        why = f"LPIPS compares pictures of one or three channels; records of {pool.name} have shape {list(shape)}"
        if fits_images(shape):
            why = describe_absence(NETWORKS[name])
            weights = find_weights(NETWORKS[name], where.weights, download=where.download)
        if weights is not None:
            found[name] = weights
        elif asked:
            raise BadConfig(f"--distance {name}: {why}")
        else:
            left_out[name] = why
    return found, left_out
