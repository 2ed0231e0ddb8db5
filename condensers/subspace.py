"""SER, subspace discovery for error reduction: section 3.3 of Zheng et al., Improving Noise Efficiency in
Privacy-preserving Dataset Distillation.

Principal components of auxiliary images under a random network say where the features of images vary; what a method
releases is projected there before it is clipped and hidden by noise. The projection is centred at the auxiliary mean,
as in the official code: what all images have in common would else use up the clipping norm.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

ROUNDS = 2
LEAST_VARIANCE = 1e-9  # of the largest: less is rounding, and no direction


@dataclass(frozen=True, kw_only=True)
class Subspace:
    """`mean` `[runs, 1, features]` and orthonormal columns `basis` `[runs, features, dim]`; one run if all share it.

    Without a basis nothing is left out.
    """

    mean: Tensor | None
    basis: Tensor | None

    @property
    def per_run(self) -> bool:
        return self.basis is not None and len(self.basis) > 1

    @property
    def num_bytes(self) -> int:
        """What it takes to keep it."""
        return 0 if self.basis is None else self.basis.numel() * self.basis.element_size()

    def of_runs(self, runs: Tensor) -> "Subspace":
        """One for each entry of `runs`."""
        if self.mean is None or self.basis is None or not self.per_run:
            return self
        return Subspace(mean=self.mean[runs], basis=self.basis[runs])

    def project(self, features: Tensor) -> Tensor:
        """Pᵀ(v − mean) `[runs, records, dim]` of features `[runs, records, features]`."""
        return features if self.mean is None or self.basis is None else (features - self.mean) @ self.basis


EVERYTHING = Subspace(mean=None, basis=None)


def subspace_dim(wanted: int, num_images: int, num_features: int) -> int:
    """Centred images span one dimension less than there are of them."""
    return max(1, min(wanted, num_images - 1, num_features))


def find_subspace(features: Tensor, dim: int) -> Subspace:
    """The first `dim` principal components of `[runs, images, features]`, largest first.

    Their signs are fixed (the largest entry is positive), so that they come out the same in whatever company.
    Directions without variance are zero.
    """
    centred, mean = _centred(features)
    if centred.shape[1] < centred.shape[2]:
        variances, coordinates = _largest(centred @ centred.mT, dim)
        basis = centred.mT @ coordinates / variances.clamp(min=1e-300).sqrt().unsqueeze(1)
    else:
        variances, basis = _largest(centred.mT @ centred, dim)
    return _subspace(basis, variances, mean, features)


def find_subspace_roughly(features: Tensor, start: Tensor) -> Subspace:
    """As `find_subspace`, by two rounds of randomised subspace iteration from `start` `[features, dim]`.

    Halko, Martinsson, Tropp, arXiv:0909.4061, Algorithm 4.4: what `torch.pca_lowrank` does, with directions that are
    given. It finds fewer of the small components than there are.
    """
    centred, mean = _centred(features)
    basis, _ = torch.linalg.qr(centred @ start.to(centred))
    for _ in range(ROUNDS):
        basis, _ = torch.linalg.qr(centred.mT @ basis)
        basis, _ = torch.linalg.qr(centred @ basis)
    _, scales, components = torch.linalg.svd(basis.mT @ centred, full_matrices=False)
    return _subspace(components.mT, scales.square(), mean, features)


def _centred(features: Tensor) -> tuple[Tensor, Tensor]:
    """In double precision, on a device that has it."""
    exact = features.cpu().double() if features.device.type == "mps" else features.double()
    mean = exact.mean(1, keepdim=True)
    return exact - mean, mean


def _subspace(basis: Tensor, variances: Tensor, mean: Tensor, like: Tensor) -> Subspace:
    basis = basis * (variances > LEAST_VARIANCE * variances[:, :1]).unsqueeze(1)
    leading = basis.gather(1, basis.abs().argmax(1, keepdim=True))
    basis = torch.where(leading < 0, -basis, basis)
    return Subspace(mean=mean.to(like.device, like.dtype), basis=basis.to(like.device, like.dtype))


def _largest(symmetric: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    values, vectors = torch.linalg.eigh(symmetric)
    return values.flip(1)[:, :dim], vectors.flip(2)[:, :, :dim]
