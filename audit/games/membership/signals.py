"""What the adversary observes of every record in every run, at the level of the audit."""

from collections.abc import Sequence

import numpy as np
import torch
from threadpoolctl import threadpool_limits

from attacks.released import Released, View, public_features, released_views, set_signals
from audit.games.membership.config import AuditConfig
from audit.games.membership.shard import game_of
from condensers.errors import BadData
from condensers.networks import KINDS, Network
from condensers.pool import Pool
from condensers.randomness import shared_randomness, stream

MOST_NETWORKS = 4
# Networks under which released sets are looked at where few records are in doubt.
VIEW_NETWORKS = 16
# First activations, over all records and networks, that scoring may spend on embeddings: some twenty seconds of a core.
ACTIVATIONS = 2e9


def labels_given(config: AuditConfig, num_records: int, runs: range) -> np.ndarray:
    """The membership labels that attacks are given: the coins of the game or, in a control, independent ones."""
    game = game_of(config, num_records)
    return (game.decoys if config.shuffle_membership else game.members)(runs)


def level_signals(
    level: str,
    config: AuditConfig,
    pool: Pool,
    shards: dict[str, np.ndarray],
    *,
    fit_members: np.ndarray,
    rows: Sequence[int] | None = None,
    others: Sequence[Released] = (),
    draw: int = 0,
    features: np.ndarray | None = None,
    views: Sequence[View] | None = None,
) -> np.ndarray:
    """Signals `[runs, records, queries]`: the victims' confidences, or what the released sets or generators say.

    Of the runs in `rows` (default: all), of which the first `len(fit_members)` are fit runs, and of sets of `others`.
    `draw` is the public draw of these runs, `features` the records' embeddings under its networks and `views` those of
    the sets in `rows`, where the caller has them already. Computed with a fixed number of threads, so that the same
    shards give the same bytes.
    """
    chosen = slice(None) if rows is None else list(rows)
    if level != "set":
        return shards["signals"][chosen]
    images = shards["images"][chosen]
    released = Released(images=images.reshape(*images.shape[:2], -1), labels=shards["labels"][chosen])
    enumerated = config.enumerated is not None
    if features is None and not enumerated:
        features = embed_publicly(config, pool, draw)
    if views is None and not enumerated:
        views = view_publicly(config, pool, (released, *others), draw)
    with threadpool_limits(limits=config.threads):
        signals = set_signals(pool, released, fit_members, features, others, views, enumerated=enumerated)
    if not np.isfinite(signals).all():
        raise BadData("the released sets give signals that are not finite: their images are too large to square")
    return signals[:, :, None].astype(np.float32)


def embed_publicly(config: AuditConfig, pool: Pool, draw: int = 0) -> np.ndarray:
    """Embeddings under the networks of the condensation's last steps where they are public, else under others."""
    torch.set_num_threads(config.threads)
    network = _network(config, pool)
    pixels = pool.images[0, 0].numel() if pool.images.ndim == 4 else 1
    affordable = ACTIVATIONS / max(1, pool.num_records * pixels * network.width)
    generators = _generators(config, range(max(1, min(MOST_NETWORKS, int(affordable)))), draw)
    with threadpool_limits(limits=config.threads):
        return public_features(pool, network, generators)


def view_publicly(config: AuditConfig, pool: Pool, groups: Sequence[Released], draw: int = 0) -> Sequence[View] | None:
    """What the sets look like under the same networks and more of them; None where all records are in doubt."""
    if config.audited_records is None:
        return None
    torch.set_num_threads(config.threads)
    generators = _generators(config, range(VIEW_NETWORKS), draw)
    with threadpool_limits(limits=config.threads):
        return released_views(groups, tuple(pool.images.shape[1:]), _network(config, pool), generators)


def _generators(config: AuditConfig, numbers: range, draw: int) -> list[np.random.Generator]:
    """Of the condensation's last networks where they are public, else of others."""
    steps = config.method_config.get("iterations")
    if steps is None or config.independent_randomness:
        return [stream(config.seed, "network of the adversary", number) for number in numbers]
    public = shared_randomness(config.seed, draw)
    return [public.public("network", max(0, steps - 1 - number)) for number in numbers]


def _network(config: AuditConfig, pool: Pool) -> Network:
    """The method's own extractor; a small one where it has none."""
    settings = config.method_config
    shape, classes = tuple(pool.images.shape[1:]), pool.num_classes
    if settings.get("extractor") in KINDS and {"width", "depth"} <= set(settings):
        return Network(
            kind=settings["extractor"], input_shape=shape, num_classes=classes, width=settings["width"],
            depth=settings["depth"],
        )  # fmt: skip
    if len(shape) == 1:
        return Network(kind="linear-relu", input_shape=shape, num_classes=classes, width=64, depth=1)
    return Network(kind="convnet", input_shape=shape, num_classes=classes, width=32, depth=min(2, _deepest(shape)))


def _deepest(shape: tuple[int, ...]) -> int:
    return max(1, min(shape[1:]).bit_length() - 1)
