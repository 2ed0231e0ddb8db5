"""Level generator: what released generators say about the records."""

import numpy as np
import torch

from attacks.gan_leak import BACKBONES, GanLeakConfig, reconstruct
from attacks.perceptual import Perceptual, fits_images, load_perceptual
from audit.data.weights import find_weights
from audit.games.membership.config import AuditConfig
from audit.games.membership.shard import GENERATORS
from condensers.errors import BadConfig
from condensers.generation import GeneratorConfig
from condensers.generator import Generators, under
from condensers.pool import Pool
from condensers.randomness import stream
from condensers.registry import get_method


def generator_signals(config: AuditConfig, pool: Pool, shards: dict[str, np.ndarray]) -> np.ndarray:
    """Signals `[runs, records, 1]`: how well the generator of each run reconstructs each record.

    Computed once for all runs with a fixed number of threads; memberships are no part of it.
    """
    torch.set_num_threads(config.threads)
    settings = get_method(config.method).config(**config.method_config)
    if not isinstance(settings, GeneratorConfig):
        raise BadConfig(f"--level generator: the config of {config.method} must be a GeneratorConfig to be run again")
    weights = {name: torch.from_numpy(value) for name, value in shards.items() if name.startswith(f"{GENERATORS}.")}
    generators = Generators(
        generator=settings.shape(tuple(pool.images.shape[1:]), pool.num_classes),
        parameters=under(GENERATORS, weights),
    )
    attack = _attack(config)
    found = reconstruct(
        generators,
        pool.images.cpu(),
        pool.labels.cpu(),
        attack,
        stream(config.seed, "codes sought"),
        find_metric(config, pool),
    )
    return found.unsqueeze(2).numpy().astype(np.float32)


def find_metric(config: AuditConfig, pool: Pool) -> Perceptual | None:
    """What the attack's distance is computed with; None for pixels. Refuses LPIPS where it cannot be had."""
    distance = _attack(config).distance
    if distance not in BACKBONES:
        return None
    if not fits_images(tuple(pool.images.shape[1:])):
        raise BadConfig(f"--set attack.distance={distance}: LPIPS compares images, which these records are not; use l2")
    weights = find_weights(BACKBONES[distance])
    if weights is None:
        raise BadConfig(
            f"--set attack.distance={distance}: the weights of {BACKBONES[distance]} are not on this machine; "
            f"audit weights --get {BACKBONES[distance]} fetches them"
        )
    return load_perceptual(weights.network, weights.tensors, torch.device("cpu"))


def _attack(config: AuditConfig) -> GanLeakConfig:
    return GanLeakConfig(**config.attack_config) if config.attack == "gan-leak" else GanLeakConfig()
