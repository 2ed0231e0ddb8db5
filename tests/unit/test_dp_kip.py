"""DP-KIP: record gradients against autograd through the kernel, and the faulty start."""

import torch

from condensers.dp_kip import record_gradients
from condensers.ntk import fc_ntk
from condensers.randomness import stream
from condensers.ridge import solve_ridge


def test_record_gradients_against_autograd():
    generator = stream(0, "dp-kip")
    own, images = (torch.from_numpy(generator.normal(size=(2, n, 1, 3, 3))).float() for n in (6, 5))
    labels = torch.from_numpy(generator.integers(3, size=(2, 5)))
    targets = torch.eye(3, dtype=torch.float64).repeat_interleave(2, 0) - 1 / 3
    found = record_gradients(images, labels, own=own, targets=targets, ridge=1e-2)
    for run in range(2):
        for record in range(5):
            leaf = own[run].flatten(1).double().requires_grad_()
            weights = solve_ridge(fc_ntk(leaf, leaf, hidden_layers=1), targets, 1e-2)
            seen = images[run, record].flatten().double().unsqueeze(0)
            wanted = torch.eye(3, dtype=torch.float64)[labels[run, record]] - 1 / 3
            loss = (fc_ntk(seen, leaf, hidden_layers=1) @ weights - wanted).square().mean() / 2
            (expected,) = torch.autograd.grad(loss, leaf)
            torch.testing.assert_close(found[run, record].view(6, 9).double(), expected, rtol=1e-4, atol=1e-7)
