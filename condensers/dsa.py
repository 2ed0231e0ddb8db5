"""Differentiable siamese augmentation (Zhao & Bilen, Dataset Condensation with Differentiable Siamese Augmentation,
arXiv:2102.08259): gradient matching as in condensers/dc.py, real and synthetic images of a class under one operation
with one draw of its numbers, and networks trained on augmented images.

Differs from the official command, which starts from real images: here they start from noise unless `--init real` is
given, as for every method.
"""

from dataclasses import dataclass

from torch import Tensor

from condensers.augment import parse_strategy
from condensers.dc import QUICK, DcConfig, match_gradients
from condensers.pool import CondensedBatch, Pool
from condensers.randomness import Randomness
from condensers.registry import Track, condenser


@dataclass(frozen=True, kw_only=True)
class DsaConfig(DcConfig):
    """As for DC, with the operations to draw from."""

    augmentation: str = "color_crop_cutout_scale_rotate"

    def __post_init__(self) -> None:
        super().__post_init__()
        parse_strategy(self.augmentation)


@condenser("dsa", config=DsaConfig, presets={"quick": QUICK})
def condense_dsa(
    pool: Pool, included: Tensor, config: DsaConfig, *, randomness: Randomness, track: Track
) -> CondensedBatch:
    """Gradient matching with siamese augmentation (Zhao & Bilen)."""
    operations = parse_strategy(config.augmentation) if pool.images.ndim == 4 else ()
    return match_gradients(pool, included, config, operations, randomness=randomness, track=track)
