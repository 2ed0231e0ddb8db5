"""Maps of synthetic images: t-SNE, or the first two principal components where there are too few images for it.

Figure 9 of Dong et al. does not say in which space it is made. Here it is that of the pixels, cut to [0, 1] as the
paper does for a fair comparison with a GAN. Only synthetic images are mapped.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE
from torch import Tensor

from reports.records.reproduction import EmbeddingMap

FEWEST_FOR_TSNE = 20
PERPLEXITY = 30.0
DECIMALS = 4


def map_by_data_set(sets: Mapping[str, Tensor], datasets: Mapping[str, str], seed: int) -> tuple[EmbeddingMap, ...]:
    """A map for each data set, since images of different sizes have no space in common; `datasets` by name of a set."""
    return tuple(
        replace(map_images({name: sets[name] for name in sets if datasets[name] == one}, seed), dataset=one)
        for one in dict.fromkeys(datasets[name] for name in sets)
    )


def map_images(sets: Mapping[str, Tensor], seed: int) -> EmbeddingMap:
    """A point for every image `[m, …]` with pixels in [−1, 1], by name."""
    flat = np.concatenate([((images.double() + 1) / 2).clamp(0, 1).flatten(1).numpy() for images in sets.values()])
    if len(flat) < FEWEST_FOR_TSNE:
        kind, points = "principal components", PCA(n_components=2, random_state=0).fit_transform(flat)
    else:
        kind = "t-SNE"
        perplexity = min(PERPLEXITY, (len(flat) - 1) / 3)
        points = TSNE(n_components=2, perplexity=perplexity, init="pca", random_state=seed % 2**32).fit_transform(flat)
    ends = np.cumsum([len(images) for images in sets.values()])
    parts = np.split(np.asarray(points, dtype=float).round(DECIMALS), ends[:-1])
    return EmbeddingMap(
        kind=kind,
        points={name: tuple((float(x), float(y)) for x, y in part) for name, part in zip(sets, parts, strict=True)},
    )
