"""ZCA as KIP uses it (Nguyen et al., arXiv:2107.13034): images are centred and brought to unit norm one by one, then
whitened by (Cov + regularisation·tr(Cov)/d · I)^(−1/2).

The matrix, and the mean brightness and norm that undo it, are fitted on a run's members: they are private data, and a
set that was brought back by them has been in touch with every member.
"""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class Whitening:
    """What was fitted on the members of one run."""

    matrix: Tensor
    brightness: Tensor
    norm: Tensor

    def undo(self, whitened: Tensor) -> Tensor:
        """Back to the pool's scale: un-whiten `[m, d]`, then give every image the members' mean norm and brightness.

        The norm and brightness of a single image are lost in the centring, so the means stand in for them.
        """
        return torch.linalg.solve(self.matrix, whitened, left=False) * self.norm + self.brightness


def fit_whitening(records: Tensor, *, regularisation: float) -> Whitening:
    """Fit on the members `[n, d]` of one run; the identity without members, or where each has one brightness."""
    size = records.shape[1]
    eye = torch.eye(size, dtype=records.dtype, device=records.device)
    if not len(records):
        return Whitening(matrix=eye, brightness=records.new_zeros(()), norm=records.new_ones(()))
    unit, brightness, norms = centre_and_scale(records)
    covariance = unit.mT @ unit / len(unit)
    if not bool(covariance.any()):
        return Whitening(matrix=eye, brightness=brightness.mean(), norm=norms.mean())
    covariance.diagonal().add_(regularisation * covariance.trace() / size)
    values, vectors = torch.linalg.eigh(covariance)
    return Whitening(matrix=(vectors * values.rsqrt()) @ vectors.mT, brightness=brightness.mean(), norm=norms.mean())


def centre_and_scale(images: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Images `[n, d]` of mean 0 and norm 1, their means and their norms; one of constant brightness becomes 0."""
    brightness = images.mean(1, keepdim=True)
    centred = images - brightness
    norms = centred.norm(dim=1, keepdim=True)
    return centred / norms.clamp_min(torch.finfo(images.dtype).tiny), brightness, norms
