"""Numbers that describe an observation, whatever the method: declared beforehand, with no fault in view.

An observation is a list of items of one run: the images of a released set, the noisy sums of a transcript. The
adversary knows the canary, so it looks at every item relative to it (projection, distance, coordinates that are equal)
and besides. Items of the canary's class are told from the others. Every family is a fixed number of columns, however
many items a run has.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

COORDINATES = 64  # of an item that are kept, evenly spaced
ITEMS = 16  # of a run whose projections are kept one by one, those of the canary's class first
EQUAL = 1e-6  # relative
Features = dict[str, Tensor]


@dataclass(frozen=True, kw_only=True)
class Items:
    """Items of several runs relative to the canary: `values` `[runs, items, coordinates]`, the others `[runs, items]`.

    `values` have the signs of the canary divided out, so that runs about different canaries are alike; `own` says which
    items are of the canary's class.
    """

    values: Tensor
    along: Tensor
    square: Tensor
    distance: Tensor
    equal: Tensor
    own: Tensor

    @staticmethod
    def relative(values: Tensor, canary: Tensor, own: Tensor) -> "Items":
        """`values` `[runs, items, dim]`, `canary` `[runs, 1 or items, dim]`."""
        length = torch.linalg.vector_norm(canary, dim=-1, keepdim=True)
        direction = torch.where(length > 0, canary / length.clamp(min=1e-30), 0.0)
        gap = values - canary
        signs = torch.where(canary < 0, -1.0, 1.0)
        return Items(
            values=thin(values * signs),
            along=(values * direction).sum(-1),
            square=values.square().sum(-1),
            distance=torch.linalg.vector_norm(gap, dim=-1),
            equal=(gap.abs() <= EQUAL * (1 + canary.abs())).sum(-1).float(),
            own=own.bool(),
        )

    @staticmethod
    def joined(parts: "list[Items]") -> "Items":
        """One after the other along the items; those of the canary's class first."""
        columns = {name: torch.cat([getattr(part, name) for part in parts], 1) for name in Items.__annotations__}
        order = (~columns["own"]).int().argsort(dim=1, stable=True)

        def sort(tensor: Tensor) -> Tensor:
            index = order if tensor.ndim == 2 else order.unsqueeze(-1).expand(-1, -1, tensor.shape[-1])
            return tensor.gather(1, index)

        return Items(**{name: sort(tensor) for name, tensor in columns.items()})


def thin(values: Tensor, most: int = COORDINATES) -> Tensor:
    """At most so many of the last axis, evenly spaced, the first and the last among them."""
    if values.shape[-1] <= most:
        return values
    return values[..., torch.linspace(0, values.shape[-1] - 1, most).round().long()]


def describe(items: Items) -> Features:
    """The families of columns `[runs, columns]`."""
    both = [items.own, ~items.own]
    return {
        "plain": _columns(_mean(items.along, items.own), -_nearest(items)),
        "linear": torch.cat([_linear(items), pad(items.along, ITEMS)], 1),
        "distance": _columns(
            *(
                column
                for mask in both
                for column in (
                    *_spread(items.distance, mask), *_spread(items.along, mask), *_spread(items.equal, mask)
                )
            ),
        ),
        "moments": _columns(
            *(column for mask in both for column in (*_moments(items, mask), *_spread(items.square, mask)))
        ),
        "differences": _columns(*_differences(items)),
        "energy": _columns(
            *(
                column
                for mask in both
                for column in _spread((items.square - items.along.square()).clamp(min=0), mask)
            )
        ),
    }  # fmt: skip


def describe_labels(labels: Tensor, about: Tensor, num_classes: int) -> Tensor:
    """Columns about labels `[runs, images]`, or soft ones `[runs, images, classes]`, and about how many there are."""
    soft = labels.float() if labels.ndim == 3 else torch.nn.functional.one_hot(labels.long(), num_classes).float()
    turn = (torch.arange(num_classes).unsqueeze(0) + about.unsqueeze(1)) % num_classes  # the canary's class first
    aligned = soft.gather(2, turn.unsqueeze(1).expand(-1, soft.shape[1], -1))
    size = torch.full((len(labels), 1), float(labels.shape[1]))
    if not labels.shape[1]:
        return torch.cat([size, torch.zeros(len(labels), 3 * num_classes)], 1)
    return torch.cat([size, aligned.sum(1), aligned.amax(1), aligned.amin(1)], 1)


def pad(values: Tensor, width: int) -> Tensor:
    """Exactly so many columns, zeros where there are fewer."""
    return torch.nn.functional.pad(values[:, :width], (0, max(0, width - values.shape[1])))


def _linear(items: Items) -> Tensor:
    """The mean item of the canary's class and of the others, and the first and the last of all."""
    if not items.values.shape[1]:
        return torch.zeros(len(items.values), 4 * COORDINATES)
    means = [_mean(items.values, mask.unsqueeze(-1)) for mask in (items.own, ~items.own)]
    parts = [*means, items.values[:, 0], items.values[:, -1]]
    return torch.cat([pad(part, COORDINATES) for part in parts], 1)


def _nearest(items: Items) -> Tensor:
    return items.distance.amin(1) if items.distance.shape[1] else torch.zeros(len(items.distance))


def _mean(values: Tensor, mask: Tensor) -> Tensor:
    return (values * mask).sum(1) / mask.sum(1).clamp(min=1)


def _spread(values: Tensor, mask: Tensor) -> tuple[Tensor, ...]:
    """Mean, deviation, smallest and largest over the items of a mask; zeros where there are none."""
    if not values.shape[1]:
        return (torch.zeros(len(values)),) * 4
    mean = _mean(values, mask)
    deviation = _mean((values - mean.unsqueeze(1)).square(), mask).sqrt()
    some = mask.any(1)
    low = torch.where(some, torch.where(mask, values, torch.inf).amin(1), 0.0)
    high = torch.where(some, torch.where(mask, values, -torch.inf).amax(1), 0.0)
    return mean, deviation, low, high


def _moments(items: Items, mask: Tensor) -> tuple[Tensor, ...]:
    """Of the coordinates of all items of a mask: mean, deviation, skewness, kurtosis, extremes, zeros."""
    runs, num_items, num_coordinates = items.values.shape
    values = items.values.reshape(runs, -1)
    wide = mask.unsqueeze(-1).expand(-1, -1, num_coordinates).reshape(runs, num_items * num_coordinates)
    mean, deviation, low, high = _spread(values, wide)
    if not values.shape[1]:
        return (mean,) * 7
    scaled = (values - mean.unsqueeze(1)) / deviation.clamp(min=1e-12).unsqueeze(1)
    zeros = ((values == 0) & wide).sum(1).float()
    return mean, deviation, low, high, _mean(scaled**3, wide), _mean(scaled**4, wide), zeros


def _differences(items: Items) -> tuple[Tensor, ...]:
    """Between successive items of the canary's class, between it and the others, and between all pairs."""
    values, own = items.values, items.own
    if values.shape[1] < 2:
        return (torch.zeros(len(values)),) * 16
    successive = own[:, 1:] & own[:, :-1]
    gaps = torch.linalg.vector_norm(values[:, 1:] - values[:, :-1], dim=-1)
    steps = items.along[:, 1:] - items.along[:, :-1]
    between = _mean(values, own.unsqueeze(-1)) - _mean(values, ~own.unsqueeze(-1))
    unit = values / torch.linalg.vector_norm(values, dim=-1, keepdim=True).clamp(min=1e-12)
    cosines = (unit @ unit.transpose(1, 2)).flatten(1)
    pairs = ~torch.eye(values.shape[1], dtype=torch.bool).flatten().expand(len(values), -1)
    return (
        *_spread(gaps, successive),
        *_spread(steps, successive),
        torch.linalg.vector_norm(between, dim=-1),
        between.sum(-1),
        *_spread(cosines, pairs),
        items.square.amax(1) / items.square.sum(1).clamp(min=1e-12),
        items.along.amax(1) - items.along.amin(1),
    )


def _columns(*columns: Tensor) -> Tensor:
    return torch.stack([column.float() for column in columns], 1)
