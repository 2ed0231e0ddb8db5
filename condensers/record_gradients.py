"""The gradient of the loss at a network's weights, record by record: what PSG, Dyn-PSG and DP-SGD clip.

A narrow network is copied for every record, so that all gradients are one backward pass of a grouped convolution: the
same numbers as torch.func's vmap over grad, at up to twice its speed on a CPU. A wide one sees all records in one batch
(condensers/wide.py): a record's gradient at a convolution is a product of what went into it and of the gradient at what
came out of it, shift by shift of the kernel. Only the other weights, which are few, are copied for every record.

A record's gradient must not change with who else was sampled: one record would then move what others add to the sum.
Convolutions round differently beside others, and where an image is blank the instance norm enlarges what rounding
leaves of their bias by 1/√ε = 316. The bias has no effect before the norm, so it is left out; its gradient is zero.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from condensers.gradient_matching import flatten_gradients
from condensers.networks import Network, Parameters, classify, embeds_wide
from condensers.wide import embed_with_convolutions


def record_gradients(images: Tensor, labels: Tensor, *, network: Network, parameters: Parameters) -> Tensor:
    """∇_θ ℓ(F(x_i; θ), y_i) of every record, `[records, dim]` or `[runs, records, dim]`, tensors in order of names."""
    if labels.ndim == 1:
        return _of_one_network(images, labels, network, parameters)
    if not embeds_wide(network, images):
        return _by_copies(images.flatten(0, 1), labels.flatten(), network, parameters).view(*labels.shape, -1)
    each = ({name: value[run : run + 1] for name, value in parameters.items()} for run in range(len(images)))
    runs = zip(images, labels, each, strict=True)
    return torch.stack([_of_one_network(shown, targets, network, own) for shown, targets, own in runs])


def _of_one_network(images: Tensor, labels: Tensor, network: Network, parameters: Parameters) -> Tensor:
    if not embeds_wide(network, images.unsqueeze(0)):
        return _by_copies(images, labels, network, parameters)
    return _by_products(images, labels, network, parameters)


def _by_copies(images: Tensor, labels: Tensor, network: Network, parameters: Parameters) -> Tensor:
    """Every record has a copy of its network, `[records, dim]`."""
    copies = len(images) // len(parameters["head.bias"])
    own = {name: value.repeat_interleave(copies, 0).requires_grad_() for name, value in parameters.items()}
    shown = {name: 0 * value if has_no_effect(name) else value for name, value in own.items()}
    loss = F.cross_entropy(classify(network, shown, images.unsqueeze(1))[:, 0], labels, reduction="sum")
    return flatten_gradients(dict(zip(own, torch.autograd.grad(loss, list(own.values())), strict=True)))


def has_no_effect(name: str) -> bool:
    """Whether it is the bias of a convolution, which the instance norm after it takes away."""
    return name.startswith("conv") and name.endswith(".bias")


def _by_products(images: Tensor, labels: Tensor, network: Network, parameters: Parameters) -> Tensor:
    """All records in one batch of one wide network, `[records, dim]`."""
    inner = [f"conv{block}.weight" for block in range(1, network.depth)]
    shared = {name: parameters[name][0] for name in inner}
    copied = {
        name: value.expand(len(images), *value.shape[1:]).clone().requires_grad_()
        for name, value in parameters.items()
        if name not in inner
    }
    features, convolutions = embed_with_convolutions(
        {**shared, **copied}, images, depth=network.depth, padding=network.first_padding
    )
    logits = torch.baddbmm(
        copied["head.bias"].unsqueeze(1), features.unsqueeze(1), copied["head.weight"].transpose(1, 2)
    )
    loss = F.cross_entropy(logits[:, 0], labels, reduction="sum")
    wanted = [*copied.values(), *(results for _, results in convolutions)]
    gradients = torch.autograd.grad(loss, wanted)
    found = dict(zip(copied, gradients, strict=False))  # those of the convolutions' results come after
    for name, (went_in, _), gradient in zip(inner, convolutions, gradients[len(copied) :], strict=True):
        found[name] = _at_kernels(went_in.detach(), gradient)
    sizes = [parameters[name][0].numel() for name in sorted(parameters)]
    vectors = images.new_empty(len(images), sum(sizes))
    for name, part in zip(sorted(parameters), vectors.split(sizes, 1), strict=True):
        part.unflatten(1, found[name].shape[1:]).copy_(found[name])
    return vectors


def _at_kernels(went_in: Tensor, gradient: Tensor) -> Tensor:
    """Of a 3×3 convolution, `[records, outputs, channels, 3, 3]`; both `[height, width, records, channels]`.

    With a border of zeros around what went in, and two columns of zeros beside the gradient, a shift by rows and
    columns is a shift of the list of all pixels: every product is of contiguous rows.
    """
    height, width = went_in.shape[:2]
    # [records, pixels, channels]; one more row of zeros below, for the shifts of the last pixels
    padded = F.pad(went_in.permute(2, 3, 0, 1), (1, 1, 1, 2)).flatten(2).transpose(1, 2).contiguous()
    above = F.pad(gradient.permute(2, 3, 0, 1), (0, 2)).flatten(2)
    places = height * (width + 2)
    shifts = [row * (width + 2) + column for row in range(3) for column in range(3)]
    products = above.new_empty(len(above), len(shifts), above.shape[1], padded.shape[2])
    for number, shift in enumerate(shifts):
        torch.bmm(above, padded[:, shift : shift + places], out=products[:, number])
    return products.permute(0, 2, 3, 1).unflatten(3, (3, 3))
