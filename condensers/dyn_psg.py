"""Dyn-PSG: Wu et al., Dynamic differential privacy-based dataset condensation (Neurocomputing 2024), Algorithm 1.

PSG whose clipping norm decays, C_t = C(1 − γt) over the outer iterations, and whose noise is scaled by S_dyn, the
largest clipped norm *in the sample*. **It is not differentially private as claimed.** Proposition 1 accounts for RTK
Gaussian releases of noise multiplier σ as if S_dyn were a constant. It is a function of the records, and the noise
tells who set it: a record of norm C_t among smaller ones makes it grow in every coordinate. The method is here to be
refuted (`audit worst-case --method dyn-psg`): the door marks its releases, the ledger carries the paper's claim.

γ is never given: 0.05 is our choice, which halves the clipping norm over T = 10 outer iterations. J is 10, as for the
colour images that C = 8 is for. B is PSG's, the paper gives none. Of an empty sample, of which it does not speak,
S_dyn is 0 here and nothing is added. "over M layers" in a comment of Algorithm 1 is read as its formula has it: the
norm of the whole gradient.
"""

from dataclasses import dataclass

from condensers.errors import BadConfig
from condensers.ledger import Entries
from condensers.mechanism import Door
from condensers.pool import CondensedBatch
from condensers.psg import PRESETS, PsgConfig, match_private_gradients, plan_psg
from condensers.randomness import PublicRandomness
from condensers.registry import Track, condenser

NOISE_BY = "batch-max"


@dataclass(frozen=True, kw_only=True)
class DynPsgConfig(PsgConfig):
    """Section 4.1.3: R = 1000, K = T = J = 10 on colour images; C = 8 of its Table 5.

    σ is what Proposition 1 takes for ε = 10: audit account --method dyn-psg --dataset cifar10 --epsilon 10 --conversion
    mironov.
    """

    outer: int = 10
    inner: int = 10
    clip: float = 8.0
    noise_multiplier: float = 1.137
    decay: float = 0.05

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.decay * self.num_outer < 1:
            raise BadConfig(
                f"decay={self.decay:g}: must lie in [0, {1 / self.num_outer:.4g}), since the clipping norm "
                f"C(1 − decay·t) must stay positive over {self.num_outer} outer iterations"
            )


def plan_dyn_psg(config: DynPsgConfig, class_sizes: tuple[float, ...]) -> Entries:
    """What Proposition 1 claims: PSG's releases at the noise multiplier σ, whatever the samples' largest norms."""
    return plan_psg(config, class_sizes, NOISE_BY)


@condenser("dyn-psg", config=DynPsgConfig, presets=PRESETS, plan=plan_dyn_psg)
def condense_dyn_psg(door: Door, config: DynPsgConfig, *, randomness: PublicRandomness, track: Track) -> CondensedBatch:
    """PSG with decaying clip and noise scaled by the batch; unsound, to be refuted (Wu et al.)."""
    return match_private_gradients(
        door,
        config,
        randomness=randomness,
        track=track,
        clip_at=lambda outer: config.clip * (1 - config.decay * outer),  # C_t = C(1 − γt), section 3.2
        noise_by=NOISE_BY,
    )
