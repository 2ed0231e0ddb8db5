"""Attribute inference from released sets: the masked part of a record, guessed from its visible part and the set.

Without the set, the guess is a ridge regression from the visible to the masked part, class by class centred, on
records that the adversary knows whole. With the set, a correction is added that the adversary learned on fit runs: a
linear combination, with one coefficient for all masked features, of

- what the nearest image of the class (by the visible part) shows there, less the first guess;
- the same, only where that image is a near copy in the visible part;
- the mean of the images of the class there, less the first guess;
- how far that mean lies from its average over fit runs with the same public randomness;
- the same, times how far the visible part of the mean moves towards this record (the record was in, or not).

Records are divided into folds. A fold is guessed by an adversary who knows the records of all other folds whole, and of
this fold the visible parts and labels alone. First guesses of the records that coefficients are learned from are made
without those records, too. Errors are squared errors over the masked part, in shares of its variance over the pool: 1
is what guessing the mean costs.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

NUM_FOLDS = 4
NUM_CORRECTIONS = 5
NEAR = 0.02  # of the visible part's variance within a class: the squared distance at which a near copy counts e^(−1/2)
PENALTIES = (1e-3, 1e-2, 1e-1, 1.0, 10.0)  # of ridge, in mean eigenvalues of the visible part's scatter
SLACK = 1e-6  # of the correction's normal equations


@dataclass(frozen=True, kw_only=True, eq=False)
class MaskedRecords:
    """Visible `[records, features]` and masked parts, labels and folds `[records]`."""

    visible: np.ndarray
    masked: np.ndarray
    labels: np.ndarray
    folds: np.ndarray

    @property
    def variance(self) -> float:
        """Of the masked part over the pool, the mean of its features."""
        return float(self.masked.var(0).mean()) + 1e-12

    @property
    def near(self) -> float:
        """The squared distance of a near copy, mean over visible features."""
        within = np.concatenate(
            [self.visible[own] - self.visible[own].mean(0) for own in _classes(self.labels, self.labels)]
        )
        return NEAR * float(np.square(within).mean()) + 1e-12

    def errors(self, guesses: np.ndarray) -> np.ndarray:
        """Of guesses `[records, masked features]`, one for each record."""
        return np.square(guesses - self.masked).mean(1) / self.variance


@dataclass(frozen=True, kw_only=True, eq=False)
class SetParts:
    """Visible and masked parts `[images, features]` of one released set, and its hard labels `[images]`."""

    visible: np.ndarray
    masked: np.ndarray
    labels: np.ndarray

    def means(self, num_classes: int) -> tuple[np.ndarray, np.ndarray]:
        """Of the images of each class `[classes, features]`; of all images for a class without any."""
        found = [self.labels == label for label in range(num_classes)]
        chosen = [own if own.any() else np.ones_like(own) for own in found]
        return (
            np.stack([self.visible[own].mean(0) for own in chosen]),
            np.stack([self.masked[own].mean(0) for own in chosen]),
        )


def first_guesses(records: MaskedRecords) -> dict[int, np.ndarray]:
    """For every fold that is guessed, the guesses `[records, masked features]` without the set, of all records.

    Of the fold itself by a regression on all other folds; of a record in another fold by one without both folds.
    """
    folds = np.unique(records.folds).tolist()
    fitted = {
        (one, other): _regress(records, ~np.isin(records.folds, (one, other)), np.isin(records.folds, (one, other)))
        for one in folds
        for other in folds
        if one <= other
    }
    guesses = {}
    for fold in folds:
        guesses[fold] = np.empty_like(records.masked)
        for other in folds:
            own = records.folds == other
            asked = np.isin(records.folds, (fold, other))
            guesses[fold][own] = fitted[min(fold, other), max(fold, other)][own[asked]]
    return guesses


def learn_corrections(
    records: MaskedRecords, guesses: dict[int, np.ndarray], sets: Sequence[SetParts], usual: SetParts
) -> dict[int, np.ndarray]:
    """For every fold the coefficients `[corrections]` that suit the other folds best, over fit runs."""
    found = {}
    for fold, first in guesses.items():
        known = records.folds != fold
        gram, moment = np.zeros((NUM_CORRECTIONS, NUM_CORRECTIONS)), np.zeros(NUM_CORRECTIONS)
        for released in sets:
            for own, terms in _corrections(records, first, released, usual, known):
                gram += np.einsum("kif,lif->kl", terms, terms)
                moment += np.einsum("kif,if->k", terms, records.masked[own] - first[own])
        scale = SLACK * np.trace(gram) / NUM_CORRECTIONS + 1e-12
        found[fold] = np.linalg.solve(gram + scale * np.eye(NUM_CORRECTIONS), moment)
    return found


def guess_with_set(
    records: MaskedRecords,
    guesses: dict[int, np.ndarray],
    coefficients: dict[int, np.ndarray],
    released: SetParts,
    usual: SetParts,
) -> np.ndarray:
    """The guesses `[records, masked features]` of an adversary who sees the released set."""
    found = np.empty_like(records.masked)
    for fold, first in guesses.items():
        for own, terms in _corrections(records, first, released, usual, records.folds == fold):
            found[own] = first[own] + np.einsum("k,kif->if", coefficients[fold], terms)
    return found


def guess_without_set(records: MaskedRecords, guesses: dict[int, np.ndarray]) -> np.ndarray:
    """The first guesses `[records, masked features]`, each fold by those who know the others."""
    found = np.empty_like(records.masked)
    for fold, first in guesses.items():
        found[records.folds == fold] = first[records.folds == fold]
    return found


def usual_parts(sets: Sequence[SetParts], num_classes: int) -> SetParts:
    """The means of the classes, averaged over fit runs of one public draw: an image for each class."""
    means = [one.means(num_classes) for one in sets]
    return SetParts(
        visible=np.mean([visible for visible, _ in means], axis=0),
        masked=np.mean([masked for _, masked in means], axis=0),
        labels=np.arange(num_classes),
    )


def _corrections(
    records: MaskedRecords, first: np.ndarray, released: SetParts, usual: SetParts, asked: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Class by class the numbers of the records asked for, and the terms `[corrections, records, masked features]`."""
    num_classes, near = len(usual.labels), records.near
    mean_visible, mean_masked = released.means(num_classes)
    for own in _classes(records.labels, np.where(asked, records.labels, -1)):
        label = records.labels[own[0]]
        images = np.flatnonzero(released.labels == label)
        images = images if len(images) else np.arange(len(released.labels))
        visible, start = records.visible[own], first[own]
        nearest, squared = _nearest(visible, released.visible[images])
        shown = released.masked[images][nearest] - start
        moved_visible = mean_visible[label] - usual.visible[label]
        moved_masked = np.broadcast_to(mean_masked[label] - usual.masked[label], start.shape)
        centred = visible - usual.visible[label]
        length = np.linalg.norm(centred, axis=1) * np.linalg.norm(moved_visible) + 1e-12
        towards = (centred @ moved_visible / length)[:, None]
        copies = np.exp(-squared / (2 * near))[:, None]
        yield own, np.stack([shown, copies * shown, mean_masked[label] - start, moved_masked, towards * moved_masked])


def _classes(labels: np.ndarray, asked: np.ndarray) -> Iterator[np.ndarray]:
    """The numbers of the records of each class among those asked for, which have their labels in `asked`."""
    for label in np.unique(labels):
        own = np.flatnonzero(asked == label)
        if len(own):
            yield own


def _nearest(visible: np.ndarray, images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For every record the nearest image, and the squared distance to it, mean over features."""
    squared = np.square(visible).sum(1)[:, None] - 2 * visible @ images.T + np.square(images).sum(1)
    nearest = squared.argmin(1)
    return nearest, np.maximum(squared[np.arange(len(visible)), nearest], 0.0) / visible.shape[1]


def _regress(records: MaskedRecords, known: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """Ridge regression on the known records, centred by class; guesses of those asked for.

    The penalty is the one of `PENALTIES` with the smallest generalised cross-validation error.
    """
    if not known.any():
        return np.zeros((int(asked.sum()), records.masked.shape[1]))
    means = {label: _means_of_class(records, known, label) for label in np.unique(records.labels)}
    centre = np.stack([means[label][0] for label in records.labels])
    level = np.stack([means[label][1] for label in records.labels])
    inputs, outputs = records.visible[known] - centre[known], records.masked[known] - level[known]
    values, vectors = np.linalg.eigh(inputs.T @ inputs)
    values = values.clip(0.0)
    crossed = vectors.T @ (inputs.T @ outputs)
    scale, total, number = values.mean() + 1e-12, float(np.square(outputs).sum()), len(inputs)
    best, chosen = np.inf, crossed
    for penalty in PENALTIES:
        shrunk = 1 / (values + penalty * scale)
        weights = shrunk[:, None] * crossed
        residual = total - 2 * float((weights * crossed).sum()) + float((values[:, None] * np.square(weights)).sum())
        freedom = 1 - min(float((values * shrunk).sum()) / number, 1 - 1e-6)
        if residual / freedom**2 < best:
            best, chosen = residual / freedom**2, weights
    return (records.visible[asked] - centre[asked]) @ (vectors @ chosen) + level[asked]


def _means_of_class(records: MaskedRecords, known: np.ndarray, label: int) -> tuple[np.ndarray, np.ndarray]:
    """Of the known records of a class, or of all known ones where it has none."""
    own = known & (records.labels == label)
    own = own if own.any() else known
    return records.visible[own].mean(0), records.masked[own].mean(0)
