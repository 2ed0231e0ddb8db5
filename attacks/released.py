"""Level set: what the released sets themselves say about a record, as one signal per run and record.

The adversary holds S of every run. For a record x of class c, with s̄_c = Σ_j p_jc s_j / m (p_jc one-hot or soft
labels):

- response: log likelihood ratio of s̄_c under the linear model of `attacks/response.py`; where every run has the same
  labels, also of all images of class c one by one;
- alignment: (x − x̄_c)ᵀ (C_c + ridge)⁻¹ (s̄_c − E s̄_c) with C_c the covariance of the class's records: Fisher's
  direction if a run's class mean moved as its members' mean does; it needs few fit runs;
- where a class has several images in every set, the density and nearest ratios of `attacks/density.py`, which need no
  fit runs;
- nearest: −ln of the squared distance of x to the nearest image (of its class where labels are hard), relative to its
  mean over fit runs.

- views, where few records are in doubt (`--audited`): the response of the class's mean embedding under public networks,
  several networks to a view. A condenser matches embeddings, not pixels, so they follow the members more evenly than
  pixels, whose answer is far from linear; several views err independently (docs/attacks.md has the comparison);
- vote of the nearest fit runs, there too: `attacks/nearest_runs.py`.

Everything is fitted on fit runs: statistics of a fit run come from models that did not see it (cross-fitting), so that
the weights of the combination (`attacks/combine.py`) are honest. The membership of test runs is not an argument.
The signal is a log likelihood ratio, fit for use as a score and as input of any attack on signals.

Sets of another maker come as test runs of their own sizes. There s̄_c is brought to the share of the class in the fit
runs' sets, so that more images, or classes of unequal size, do not look like a leak; a class without an image says
nothing. Images count one by one only where such a set has as many of each class as the fit runs'.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from attacks.combine import cross_fit_odds, fit_weights
from attacks.density import density_ratios, nearest_ratios
from attacks.nearest_runs import match_runs, vote_of_nearest
from attacks.response import fit_response
from condensers.errors import BadData
from condensers.networks import Network, Parameters, chunk_size, draw_parameters, embed
from condensers.pool import Pool

NUM_FOLDS = 8
FEWEST_FIT_RUNS = 16
FEWEST_FOR_DENSITY = 5  # images per class
NUM_RAW = 3  # statistics that are no log likelihood ratios yet: density, nearest ratio, nearest
RIDGE = 0.1
SMALLEST_DISTANCE = 1e-9
WIDEST_EMBEDDING = 256


@dataclass(frozen=True, kw_only=True)
class Released:
    """The sets of all runs, fit runs first: `images` float32 `[runs, m, pixels]`, `labels` `[runs, m(, classes)]`."""

    images: np.ndarray
    labels: np.ndarray

    def __post_init__(self) -> None:
        if self.images.ndim != 3 or self.labels.shape[:2] != self.images.shape[:2]:
            raise BadData(f"released images {self.images.shape} and labels {self.labels.shape} do not fit")

    @property
    def soft(self) -> bool:
        return self.labels.ndim == 3

    @property
    def same_labels(self) -> bool:
        """Whether image j means the same class in every run."""
        return not self.soft and bool((self.labels == self.labels[:1]).all())

    def class_mean(self, label: int) -> np.ndarray:
        """s̄_c `[runs, pixels]`: not divided by the labels' own sum, which noise may bring to 0."""
        weights = self.labels[:, :, label] if self.soft else self.labels == label
        return np.einsum("rm,rmp->rp", weights.astype(np.float32), self.images) / self.images.shape[1]

    def class_mean_like(self, label: int, fit: "Released", usual: np.ndarray) -> np.ndarray:
        """s̄_c of sets of other sizes, as if the class had the share of the images that it has in `fit`.

        `usual` `[pixels]` stands where the class has no image. Soft labels are left as they are: noise is in them.
        """
        mean = self.class_mean(label)
        if self.soft:
            return mean
        shares, wanted = (self.labels == label).mean(1), (fit.labels == label).mean()
        return np.where(shares[:, None] > 0, mean * (wanted / np.maximum(shares, 1e-12))[:, None], usual)


def set_signals(
    pool: Pool,
    released: Released,
    fit_members: np.ndarray,
    features: np.ndarray | None,
    others: Sequence[Released] = (),
    views: "Sequence[View] | None" = None,
    *,
    enumerated: bool = False,
) -> np.ndarray:
    """Signals `[runs, records]` of all runs, those of `others` last; the first `len(fit_members)` are fit runs.

    `features` `[records, …]` are embeddings of public networks, which the kernel of the response uses beside pixels.
    `others` are sets of another maker, of any sizes, with labels of the same kind. `views` `[runs, classes, features]`
    of all runs, those of `others` last, are given where few records are in doubt. With `enumerated` fit runs, which
    have all combinations of the records in doubt, the nearest of them tells the members.
    """
    if any(other.soft != released.soft for other in others):
        raise BadData("released sets with soft labels and sets with hard ones cannot be compared")
    num_fit, groups = len(fit_members), (released, *others)
    if enumerated:
        return np.concatenate([_match(pool, groups, fit_members, label) for label in range(pool.num_classes)], 1)
    columns = [
        _class_statistics(pool, groups, fit_members, features, label, views) for label in range(pool.num_classes)
    ]
    statistics = np.concatenate([column for column in columns if column.shape[2]], 2)
    for place in range(-NUM_RAW if _dense(groups, pool.num_classes) else -1, 0):
        raw = statistics[place].copy()
        statistics[place, :num_fit], statistics[place, num_fit:] = cross_fit_odds(
            raw[:num_fit], fit_members, raw[num_fit:]
        )
    weights = fit_weights(statistics[:, :num_fit].reshape(len(statistics), -1).T, fit_members.ravel())
    return np.einsum("k,krn->rn", weights[:-1], statistics) + weights[-1]


def _class_statistics(
    pool: Pool,
    groups: tuple[Released, ...],
    fit_members: np.ndarray,
    features: np.ndarray | None,
    label: int,
    views: "Sequence[View] | None",
) -> np.ndarray:
    """Statistics `[statistics, runs, records of the class]`, the nearest last; fit runs are of the first group."""
    released, others = groups[0], groups[1:]
    records, num_fit = pool.class_slices[label], len(fit_members)
    own = pool.images[records].flatten(1).numpy().astype(np.float64)
    members = fit_members[:, records]
    if not len(own):
        return np.empty((0, sum(len(group.images) for group in groups), 0))
    mean = released.class_mean(label)
    usual = mean[:num_fit].mean(0)
    mean = np.concatenate([mean, *(other.class_mean_like(label, released, usual) for other in others)])
    mean = mean.astype(np.float64)
    centred = own - own.mean(0)
    found = [_align(centred, mean - mean[:num_fit].mean(0), num_fit)]
    if num_fit >= FEWEST_FIT_RUNS:
        parts = [centred] if features is None else [centred, _centre(features[records].astype(np.float64))]
        kernel_features = np.concatenate([part / max(np.sqrt((part**2).sum(1).mean()), 1e-12) for part in parts], 1)
        few = views is not None
        found.append(_respond(mean, members, kernel_features, few=few))
        found += [
            _respond(view[:, label].astype(np.float64), members, kernel_features, few=few) for view in views or ()
        ]
        images = mean
        if _same_labels(groups) and int((released.labels[0] == label).sum()) > 1:
            images = np.concatenate([group.images[:, released.labels[0] == label] for group in groups])
            images = images.reshape(len(images), -1).astype(np.float64)
            found.append(_respond(images, members, kernel_features, few=few))
        if few:
            found.append(vote_of_nearest(images, members))
    if _dense(groups, pool.num_classes):
        sets = [
            images[labels == label]
            for group in groups
            for images, labels in zip(group.images, group.labels, strict=True)
        ]
        sets = [images.astype(np.float64) for images in sets]
        found += [density_ratios(own, sets), nearest_ratios(own, sets)]
    return np.stack([*found, _approach(own, groups, label, num_fit)])


def _match(pool: Pool, groups: tuple[Released, ...], fit_members: np.ndarray, label: int) -> np.ndarray:
    """Log odds `[runs, records of the class]` by the fit run whose images of the class are nearest."""
    first, members = groups[0], fit_members[:, pool.class_slices[label]]
    if _same_labels(groups):
        images = np.concatenate([group.images[:, first.labels[0] == label] for group in groups])
        return match_runs(images.reshape(len(images), -1).astype(np.float64), members)
    mean = first.class_mean(label)
    usual = mean[: len(fit_members)].mean(0)
    rest = (other.class_mean_like(label, first, usual) for other in groups[1:])
    return match_runs(np.concatenate([mean, *rest]).astype(np.float64), members)


def _dense(groups: tuple[Released, ...], num_classes: int) -> bool:
    """Whether every class has enough images in every set for a density."""
    return all(
        not group.soft and bool(((group.labels == label).sum(1) >= FEWEST_FOR_DENSITY).all())
        for group in groups
        for label in range(num_classes)
    )


def _same_labels(groups: tuple[Released, ...]) -> bool:
    """Whether image j means the same class in every run of every group."""
    first = groups[0].labels
    return all(group.same_labels and np.array_equal(group.labels[:1], first[:1]) for group in groups)


def _respond(mean: np.ndarray, members: np.ndarray, features: np.ndarray, *, few: bool) -> np.ndarray:
    """Log likelihood ratios of test runs by the model of all fit runs, of fit runs by models of the other folds."""
    num_fit = len(members)
    ratios = np.empty((len(mean), members.shape[1]))
    ratios[num_fit:] = fit_response(mean[:num_fit], members, features, few=few).ratios(mean[num_fit:])
    for fold in range(NUM_FOLDS):
        held = np.arange(num_fit) % NUM_FOLDS == fold
        others = fit_response(mean[:num_fit][~held], members[~held], features, few=few)
        ratios[:num_fit][held] = others.ratios(mean[:num_fit][held])
    return ratios


def _align(centred: np.ndarray, moved: np.ndarray, num_fit: int) -> np.ndarray:
    """(x − x̄)ᵀ (C + ridge)⁻¹ (s̄ − E s̄) `[runs, records]`, in units of its deviation over fit runs and records."""
    num_records, num_pixels = centred.shape
    if num_records < num_pixels:
        gram = centred @ centred.T / num_records
        ridge = RIDGE * max(np.trace(gram) / num_pixels, 1e-12)
        # (C + ρ)⁻¹ xᵀ = xᵀ (G + ρ)⁻¹, both sides of the same product.
        aligned = np.linalg.solve(gram + ridge * np.eye(num_records), centred @ moved.T).T
    else:
        covariance = centred.T @ centred / num_records
        ridge = RIDGE * max(np.trace(covariance) / num_pixels, 1e-12)
        aligned = np.linalg.solve(covariance + ridge * np.eye(num_pixels), moved.T).T @ centred.T
    return aligned / max(float(np.sqrt((aligned[:num_fit] ** 2).mean())), 1e-300)


def _approach(own: np.ndarray, groups: tuple[Released, ...], label: int, num_fit: int) -> np.ndarray:
    """−ln of the squared distance to the nearest image relative to its mean over fit runs, `[runs, records]`."""
    squares = (own**2).sum(1)
    sets = [pair for group in groups for pair in zip(group.images, group.labels, strict=True)]
    distances = np.empty((len(sets), len(own)))
    for run, (images, labels) in enumerate(sets):
        chosen = images if groups[0].soft else images[labels == label]
        if not len(chosen):
            chosen = images
        chosen = chosen.astype(np.float64)
        distances[run] = np.min(squares - 2 * chosen @ own.T + (chosen**2).sum(1)[:, None], axis=0)
    usual = np.maximum(distances[:num_fit].mean(0), 1e-12)
    return -np.log(np.maximum(distances / usual, SMALLEST_DISTANCE))


# Of one view, class means of embeddings, float32 [runs, classes, features].
View = np.ndarray
NETWORKS_PER_VIEW = 4


def released_views(
    groups: Sequence[Released],
    input_shape: tuple[int, ...],
    network: Network,
    generators: Sequence[np.random.Generator],
) -> list[View]:
    """Class-mean embeddings of the sets of all runs under random networks, `NETWORKS_PER_VIEW` to a view.

    A class without an image in a set has the mean over the sets of the first group, so that it says nothing.
    """
    parts: list[np.ndarray] = []
    for generator in generators:
        parameters = draw_parameters(network, [generator], torch.device("cpu"))
        directions = None
        if network.num_features > WIDEST_EMBEDDING:
            directions = generator.standard_normal((network.num_features, WIDEST_EMBEDDING), dtype=np.float32)
        means = [_embed_means(group, input_shape, network, parameters, directions) for group in groups]
        known = ~np.isnan(means[0])
        usual = means[0].sum(0, where=known) / np.maximum(known.sum(0), 1)
        together = np.concatenate(means)
        parts.append(np.where(np.isnan(together), usual, together))
    return [
        np.concatenate(parts[start : start + NETWORKS_PER_VIEW], 2) for start in range(0, len(parts), NETWORKS_PER_VIEW)
    ]


def _embed_means(
    group: Released,
    input_shape: tuple[int, ...],
    network: Network,
    parameters: Parameters,
    directions: np.ndarray | None,
) -> np.ndarray:
    """Class-mean embeddings `[runs, classes, features]` under one network, NaN of a class without an image."""
    size = chunk_size(network, torch.device("cpu"))
    flat = torch.from_numpy(np.ascontiguousarray(group.images, dtype=np.float32)).view(-1, *input_shape)
    with torch.no_grad():
        found = torch.cat([embed(network, parameters, part.unsqueeze(0))[0] for part in flat.split(size)]).numpy()
    if directions is not None:
        found = found @ directions / np.sqrt(WIDEST_EMBEDDING)
    found = found.reshape(*group.images.shape[:2], -1)
    weights = group.labels if group.soft else group.labels[:, :, None] == np.arange(network.num_classes)
    counts = np.abs(weights).sum(1)[:, :, None]
    sums = np.einsum("rmc,rmf->rcf", weights.astype(np.float32), found)
    return np.where(counts > 0, sums / np.maximum(counts, 1e-6), np.nan).astype(np.float32)


def _centre(values: np.ndarray) -> np.ndarray:
    return values - values.mean(0)


def public_features(pool: Pool, network: Network, generators: Sequence[np.random.Generator]) -> np.ndarray:
    """Embeddings of all records under random networks, side by side, float32 `[records, features]`.

    A wide embedding is projected to a few hundred random directions (Johnson & Lindenstrauss 1984): inner products
    stay.
    """
    parts = []
    for generator in generators:
        parameters = draw_parameters(network, [generator], torch.device("cpu"))
        size = chunk_size(network, torch.device("cpu"))
        with torch.no_grad():
            batches = [embed(network, parameters, part.unsqueeze(0))[0] for part in pool.images.cpu().split(size)]
        found = torch.cat(batches).numpy()
        if found.shape[1] > WIDEST_EMBEDDING:
            directions = generator.standard_normal((found.shape[1], WIDEST_EMBEDDING), dtype=np.float32)
            found = found @ directions / np.sqrt(WIDEST_EMBEDDING)
        parts.append(found)
    return np.concatenate(parts, 1)
