"""What we say that released code does, reproduced in the order in which it does it, in lines of our own."""

import itertools
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from audit.accounting.published import METHODS
from audit.claims.accusations import ACCUSATIONS, Accusation, accusations_of
from audit.claims.run import CLAIMS
from audit.cli import main
from condensers.clock import CLOCK_SEEDS
from condensers.psg import PsgConfig

FAULTS = Path(__file__).parents[2] / "docs" / "faults.md"


def clock_seed(seconds: float) -> int:
    return int(seconds * 1000) % 100_000


def augment(images: Tensor, seed: int | None, generator: torch.Generator) -> Tensor:
    """One of two operations for all images, by a draw for each of them, of which the first is used.

    The generator is seeded before each of the draws. Without a seed nothing is done.
    """
    if seed is None:
        return images
    generator.manual_seed(seed)
    brighter = bool(torch.randint(2, (1,), generator=generator))
    generator.manual_seed(seed + 1)
    strength = torch.rand(len(images), generator=generator)[0]
    return images + strength if brighter else images * strength


def draw_noise(generator: torch.Generator) -> Tensor:
    return torch.randn(16, generator=generator)


def reproduce_ndpdc_clock() -> None:
    """Seed from the clock; augment real and synthetic images with it; draw."""
    generator = torch.Generator().manual_seed(5)

    def noise_at(seconds: float, sampled: int) -> Tensor:
        seed = clock_seed(seconds)
        draw_noise(generator)  # wherever the generator stands
        augment(torch.ones(sampled, 16), seed, generator)
        augment(torch.zeros(3, 16), seed, generator)
        return draw_noise(generator)

    first = noise_at(1_700_000_000.1234, sampled=2)
    assert torch.equal(first, noise_at(1_700_000_000.1238, sampled=7))  # another class in the same millisecond
    assert torch.equal(first, noise_at(1_700_000_100.1234, sampled=5))  # the clock modulo 100 000 milliseconds
    assert not torch.equal(first, noise_at(1_700_000_000.1249, sampled=2))
    assert len({clock_seed((tick + 0.5) / 1000) for tick in range(250_000)}) == CLOCK_SEEDS == 100_000


def stored_signals(generator: torch.Generator, *, augmented: bool) -> list[tuple[int | None, Tensor]]:
    """Seed and clean sum of two classes that read the clock in the same millisecond, and of one that reads it later."""
    signals = []
    for seconds in (1_700_000_000.1234, 1_700_000_000.1238, 1_700_000_000.2):
        seed = clock_seed(seconds) if augmented else None
        signals.append((seed, augment(torch.ones(5, 16), seed, generator).sum(0)))
    return signals


def noise_of_a_step(signal: tuple[int | None, Tensor], generator: torch.Generator) -> Tensor:
    """Augment the synthetic images with the stored seed, then draw the noise for the stored sum."""
    seed, clean = signal
    augment(torch.zeros(3, 16), seed, generator)
    return (clean + draw_noise(generator)) - clean


def reproduce_dosser_clock() -> None:
    generator = torch.Generator().manual_seed(5)
    first, same_millisecond, later = stored_signals(generator, augmented=True)
    noises = [noise_of_a_step(signal, generator) for signal in (first, later, same_millisecond, first)]
    torch.testing.assert_close(noises[0], noises[3])  # a revisit
    torch.testing.assert_close(noises[0], noises[2])  # another class of the same millisecond
    assert not torch.isclose(noises[0], noises[1]).any()


def reproduce_dosser_fresh_noise() -> None:
    generator = torch.Generator().manual_seed(clock_seed(1_700_000_000.1))  # as the last network did
    signal, *_ = stored_signals(generator, augmented=False)
    noises = [noise_of_a_step(signal, generator) for _ in range(20)]
    assert all(not torch.isclose(noises[0], other).any() for other in noises[1:])
    assert torch.stack(noises).mean(0).std() < 2 * 20**-0.5  # visits of one sum average its noise away
    again = torch.Generator().manual_seed(clock_seed(1_700_000_000.1))
    torch.testing.assert_close(noises[0], noise_of_a_step((None, signal[1]), again))


def reproduce_psg_extra_round() -> None:
    rounds, outer, batches = 1000, 10, 10
    accounted, drawn = rounds * outer * batches, 0
    for _ in range(rounds + 1):
        for _ in range(outer):
            drawn += batches
    assert drawn - accounted == outer * batches
    assert drawn / accounted == 1001 / 1000
    assert PsgConfig(iterations=1000, as_published=True).num_rounds == 1001


def reproduce_gs_wgan_accounting() -> None:
    """The gradients of an iteration are of my shard all or none; 32 draws of their own would not be.

    A shard of 60 records is read in batches of 32 and 28 for ever; the generator's batch is as large as the fifth.
    """
    batches = itertools.cycle([32, 28])
    last = [[next(batches) for _ in range(5)][-1] for _ in range(6)]
    assert last == [32, 28, 32, 28, 32, 28]
    actual = METHODS["gs-wgan"].actual
    assert actual is not None
    assert actual.fewest == min(last)
    generator = np.random.default_rng(5)
    mine = (generator.integers(1000, size=20_000) == 7)[:, None].repeat(32, axis=1)
    assert set(mine.sum(1)) == {0, 32}
    apart = generator.integers(1000, size=(20_000, 32)) == 7
    assert apart.sum(1).max() < 5
    change = np.full((32, 1), 2.0)  # of a gradient of norm 1 that turns round
    assert np.linalg.norm(change) == pytest.approx(32**0.5 * 2)
    assert (METHODS["gs-wgan"].batch, METHODS["gs-wgan"].noise_multiplier) == (32, 1.07)


def reproduce_dp_cgan_accounting() -> None:
    sigma, clip = 1.12, 1.1
    shapes = ((794, 128), (128, 1), (128,), (1,))  # weights and biases of a discriminator with two layers
    gradient = [torch.full(shape, 3.0) for shape in shapes]
    clipped = [part * min(1.0, clip / float(part.norm())) for part in gradient]
    norm = float(torch.cat([part.flatten() for part in clipped]).norm())
    assert norm == pytest.approx(2 * clip, rel=1e-5)
    assert (sigma * clip, sigma * clip / norm) == (pytest.approx(1.232), pytest.approx(0.56, rel=1e-5))
    dp_cgan = METHODS["dp-cgan"]
    assert dp_cgan.noise_multiplier * dp_cgan.accounted_noise_factor == pytest.approx(sigma * clip)
    assert dp_cgan.noise_multiplier * dp_cgan.actual.noise_factor == pytest.approx(sigma * clip / norm, rel=1e-5)


def reproduce_dp_cgan_labels() -> None:
    """Another label of one record changes the gradient at the generator and that on generated images, without noise."""
    draw = torch.Generator().manual_seed(0)
    codes = torch.randn(6, 4, generator=draw)
    generator_weights = torch.randn(4 + 3, 5, generator=draw).requires_grad_()
    judge_weights = torch.randn(5 + 3, 1, generator=draw).requires_grad_()

    def step(labels: list[int]) -> tuple[Tensor, Tensor]:
        y_mb = torch.nn.functional.one_hot(torch.tensor(labels), 3).float()
        fake = torch.sigmoid(torch.cat([codes, y_mb], 1) @ generator_weights)
        logits = torch.cat([fake, y_mb], 1) @ judge_weights
        on_fake, for_generator = (
            torch.nn.functional.softplus(logits).mean(),
            torch.nn.functional.softplus(-logits).mean(),
        )
        (judge,) = torch.autograd.grad(on_fake, judge_weights, retain_graph=True)
        (maker,) = torch.autograd.grad(for_generator, generator_weights)
        return judge, maker

    first, again, other = step([0, 0, 1, 1, 2, 2]), step([0, 0, 1, 1, 2, 2]), step([0, 0, 1, 1, 2, 1])
    for mine, same, neighbour in zip(first, again, other, strict=True):
        assert torch.equal(mine, same), "nothing random is added"
        assert float((mine - neighbour).norm()) > 1e-3


REPRODUCED: dict[str, Callable[[], None]] = {
    "ndpdc-clock": reproduce_ndpdc_clock,
    "dosser-clock": reproduce_dosser_clock,
    "dosser-fresh-noise": reproduce_dosser_fresh_noise,
    "psg-extra-round": reproduce_psg_extra_round,
    "gs-wgan-accounting": reproduce_gs_wgan_accounting,
    "dp-cgan-accounting": reproduce_dp_cgan_accounting,
    "dp-cgan-labels": reproduce_dp_cgan_labels,
}


@pytest.mark.parametrize("name", ACCUSATIONS)
def test_order_of_events_has_the_consequence_that_is_said(name: str) -> None:
    REPRODUCED[name]()


def test_every_accusation_is_reproduced_and_nothing_else() -> None:
    assert set(REPRODUCED) == set(ACCUSATIONS)


@pytest.mark.parametrize("accusation", ACCUSATIONS.values(), ids=lambda each: each.name)
def test_every_accusation_has_its_provenance_and_a_claim_that_names_it(accusation: Accusation) -> None:
    assert re.fullmatch(r"[\w-]+/[\w-]+", accusation.repository)
    assert re.fullmatch(r"[0-9a-f]{40}", accusation.commit)
    assert accusation.file
    assert accusation.function
    assert len(accusation.order_of_events) >= 3
    assert accusation in accusations_of(accusation.claim)
    claim = CLAIMS[accusation.claim]
    if claim.name.endswith("-code"):
        assert accusation.name in claim.where


@pytest.mark.parametrize("accusation", ACCUSATIONS.values(), ids=lambda each: each.name)
def test_faults_prints_every_accusation(accusation: Accusation) -> None:
    text = " ".join(FAULTS.read_text(encoding="utf-8").split())
    for line in accusation.lines:
        assert " ".join(line.split()) in text.replace("`", "").replace("**", "")


def test_audit_claims_prints_every_accusation_under_its_claim(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr("sys.argv", ["audit", "claims", "--details", "--out", str(tmp_path)])
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code in (None, 0)
    paragraphs = {text.split("\n", 1)[0]: text for text in capsys.readouterr().out.split("\n\n")}
    for accusation in ACCUSATIONS.values():
        assert all(line in paragraphs[accusation.claim] for line in accusation.lines)
