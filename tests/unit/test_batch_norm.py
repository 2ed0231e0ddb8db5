"""Generators with batch norm: against torch's own modules, run by run, in training and as they are released."""

import math

import pytest
import torch

from condensers.batch_norm import batch_statistics
from condensers.dp_merf import DpMerfConfig
from condensers.dp_sinkhorn import DpSinkhornConfig
from condensers.errors import BadConfig
from condensers.generation import BATCHES_FOR_STATISTICS, Studio
from condensers.generator import Generator, Generators, adam_step, draw_codes, draw_generator, generate
from condensers.randomness import Randomness, stream
from condensers.registry import condense_runs, get_method

CPU = torch.device("cpu")
KINDS = ("mlp-bn", "upsampling-bn", "dcgan-bn")
SHAPES = ((1, 28, 28), (3, 32, 32), (1, 8, 8), (2, 9, 6))


class Upsampling(torch.nn.Module):
    """`ConvCondGen`, and `FCCondGen` without its convolutions."""

    def __init__(self, shape, convolutions):
        super().__init__()
        self.size = [math.ceil(side / 4) for side in shape.input_shape[1:]]
        middle = 16 * math.prod(self.size) if convolutions else shape.width
        self.first, self.norm0 = torch.nn.Linear(shape.num_codes, shape.width), torch.nn.BatchNorm1d(shape.width)
        self.second, self.norm1 = torch.nn.Linear(shape.width, middle), torch.nn.BatchNorm1d(middle)
        self.shape, self.convolutions = shape, convolutions
        if convolutions:
            self.conv0 = torch.nn.Conv2d(16, 8, 5, padding=2)
            self.conv1 = torch.nn.Conv2d(8, shape.input_shape[0], 5, padding=2)
            self.upsample = torch.nn.UpsamplingBilinear2d(scale_factor=2)
        else:
            self.last = torch.nn.Linear(shape.width, math.prod(shape.input_shape))

    def forward(self, codes):
        x = self.norm1(self.second(self.norm0(self.first(codes)).relu()))
        if not self.convolutions:
            return 2 * self.last(x.relu()).view(-1, *self.shape.input_shape).sigmoid() - 1
        x = self.conv0(self.upsample(x.view(-1, 16, *self.size))).relu()
        height, width = self.shape.input_shape[1:]
        return 2 * self.conv1(self.upsample(x))[..., :height, :width].sigmoid() - 1


class Transposed(torch.nn.Module):
    """`ConvCondGenerator`."""

    def __init__(self, shape):
        super().__init__()
        size, width = [math.ceil(side / 4) for side in shape.input_shape[1:]], shape.width
        self.labels = torch.nn.Embedding(shape.num_classes, 8)
        self.first = torch.nn.ConvTranspose2d(shape.latent + 8, 4 * width, size, bias=False)
        self.norm0, self.norm1 = torch.nn.BatchNorm2d(4 * width), torch.nn.BatchNorm2d(2 * width)
        self.up0 = torch.nn.ConvTranspose2d(4 * width, 2 * width, 4, stride=2, padding=1, bias=False)
        self.up1 = torch.nn.ConvTranspose2d(2 * width, width, 4, stride=2, padding=1, bias=False)
        self.norm2 = torch.nn.BatchNorm2d(width)
        self.last = torch.nn.Conv2d(width, shape.input_shape[0], 3, padding=1)
        self.shape = shape

    def forward(self, codes):
        leaky = torch.nn.LeakyReLU(0.2)
        labels = self.labels(codes[:, self.shape.latent :].argmax(1))
        x = torch.cat([codes[:, : self.shape.latent], labels], 1)[:, :, None, None]
        x = leaky(self.norm0(self.first(x)))
        x = leaky(self.norm2(self.up1(leaky(self.norm1(self.up0(x))))))
        height, width = self.shape.input_shape[1:]
        return self.last(x)[..., :height, :width].tanh()


def shape_of(kind, input_shape=(1, 8, 8)):
    return Generator(input_shape=input_shape, num_classes=4, latent=3, width=5, kind=kind)


def twin(shape, parameters, run):
    """The released network in torch's own modules, with the weights of one run."""
    module = Transposed(shape) if shape.kind == "dcgan-bn" else Upsampling(shape, shape.kind == "upsampling-bn")
    own = {name: value[run] for name, value in parameters.items() if not name.endswith((".mean", ".variance"))}
    for name in ("first", "second", "last"):
        if own.get(f"{name}.weight", torch.zeros(0)).ndim == 2:
            own[f"{name}.weight"] = own[f"{name}.weight"].T
    if shape.kind == "dcgan-bn":
        own["first.weight"] = own["first.weight"].T.reshape(module.first.weight.shape)
    for number in range(3):
        if f"norm{number}.mean" in parameters:
            own[f"norm{number}.running_mean"] = parameters[f"norm{number}.mean"][run]
            own[f"norm{number}.running_var"] = parameters[f"norm{number}.variance"][run]
    missing, unknown = module.load_state_dict(own, strict=False)
    assert not unknown
    assert all("running" in name or "num_batches" in name for name in missing)
    return module


def drawn(shape, runs=3):
    """Weights of several runs; scales and shifts of batch norm too, which start as 1 and 0."""
    each = [draw_generator(shape, stream(0, "generator", run), CPU) for run in range(runs)]
    found = {name: torch.cat([one[name] for one in each]) for name in each[0]}
    noise = torch.Generator().manual_seed(0)
    return {
        name: value + 0.3 * torch.randn(value.shape, generator=noise) if name.startswith("norm") else value
        for name, value in found.items()
    }


def codes_of(shape, count=12):
    return draw_codes(shape, torch.arange(count) % 4, stream(0, "codes"))


@pytest.mark.parametrize("input_shape", SHAPES)
@pytest.mark.parametrize("kind", KINDS)
def test_images_and_gradients_against_torch_modules(kind, input_shape):
    shape = shape_of(kind, input_shape)
    parameters, codes = drawn(shape), codes_of(shape)
    leaves = {name: value.requires_grad_() for name, value in parameters.items()}
    images = generate(shape, leaves, codes)
    assert images.shape == (3, 12, *input_shape)
    weights = torch.linspace(-1, 1, images[0].numel()).view(images[0].shape)
    gradients = dict(zip(leaves, torch.autograd.grad((images * weights).sum(), list(leaves.values())), strict=True))
    for run in range(3):
        module = twin(shape, {name: value.detach() for name, value in leaves.items()}, run)
        expected = module(codes)
        torch.testing.assert_close(images[run], expected, rtol=1e-4, atol=1e-5)
        (expected * weights).sum().backward()
        torch.testing.assert_close(gradients["norm1.weight"][run], module.norm1.weight.grad, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_first_weights_against_torch(kind):
    """Bounds of torch's uniform draws, and as many weights as there."""
    shape = Generator(input_shape=(1, 28, 28), num_classes=10, latent=16, width=8, kind=kind)
    parameters = draw_generator(shape, stream(0, "generator"), CPU)
    torch.manual_seed(0)
    module = Transposed(shape) if kind == "dcgan-bn" else Upsampling(shape, kind == "upsampling-bn")
    for name, value in module.named_parameters():
        assert parameters[name].numel() == value.numel(), name
        if value.numel() > 100 and name != "labels.weight":
            assert parameters[name].abs().max().item() == pytest.approx(value.abs().max().item(), rel=0.1), name
    assert len(parameters) == len(list(module.parameters()))


@pytest.mark.parametrize("kind", KINDS)
def test_batches_of_a_step_are_normalised_one_by_one(kind):
    shape = shape_of(kind)
    parameters, codes = drawn(shape), codes_of(shape)
    together = generate(shape, parameters, codes, (9, 3))
    apart = torch.cat([generate(shape, parameters, part) for part in codes.split([9, 3])], 1)
    torch.testing.assert_close(together, apart, rtol=1e-4, atol=1e-5)
    assert (generate(shape, parameters, codes) - apart).abs().max() > 1e-3


@pytest.mark.parametrize("kind", KINDS)
def test_released_statistics_against_running_averages(kind):
    """A cumulative average of torch's batch norm over the same batches; then an image does not depend on the others."""
    config = DpMerfConfig(generator=kind, generator_width=5, latent=3, batch_generated=10)
    shape = config.shape((1, 8, 8), 4)
    studio = Studio(
        generator=shape, config=config, randomness=Randomness(seed=0, runs=(0, 1)).only_public, runs=2, device=CPU
    )
    weights = drawn(shape, 2)
    released = studio.released(weights)
    parameters = released.generators.parameters
    for run in range(2):
        module = twin(shape, weights, run).train()
        for each in module.modules():
            if isinstance(each, torch.nn.modules.batchnorm._BatchNorm):
                each.momentum = None
        for number in range(BATCHES_FOR_STATISTICS):
            module(studio.codes(number, studio.labels(number, 10), "codes for statistics"))
        torch.testing.assert_close(parameters["norm1.mean"][run], module.norm1.running_mean, rtol=1e-3, atol=1e-5)
        torch.testing.assert_close(parameters["norm1.variance"][run], module.norm1.running_var, rtol=1e-3, atol=1e-5)
        codes = studio.codes(0, released.labels[0], "released codes")
        torch.testing.assert_close(released.images[run], module.eval()(codes), rtol=1e-3, atol=1e-4)
    alone = generate(shape, parameters, codes[:1])
    torch.testing.assert_close(alone[:, 0], released.images[:, 0], rtol=1e-4, atol=1e-5)
    both = Generators.joined([Generators(generator=shape, parameters=parameters)] * 2)
    torch.testing.assert_close(generate(shape, both.parameters, codes)[2:], released.images, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_runs_do_not_depend_on_each_other(kind):
    shape = shape_of(kind)
    parameters, codes = drawn(shape), codes_of(shape)
    images, statistics = generate(shape, parameters, codes), batch_statistics(shape, parameters, codes)
    for run in range(3):
        own = {name: value[run : run + 1] for name, value in parameters.items()}
        torch.testing.assert_close(generate(shape, own, codes)[0], images[run], rtol=1e-4, atol=1e-5)
        for name, value in batch_statistics(shape, own, codes).items():
            torch.testing.assert_close(value[0], statistics[name][run], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("dp-merf", {"generator": "upsampling-bn", "iterations": 3}),
        ("dp-hp", {"generator": "mlp-bn", "iterations": 3, "order": 5}),
        ("dp-sinkhorn", {"generator": "dcgan-bn", "iterations": 3, "batch_generated": 10, "weight_decay": 1e-3}),
        ("cgan", {"generator": "dcgan-bn", "iterations": 3, "batch": 10, "batch_generated": 10}),
    ],
)
def test_methods_do_not_depend_on_who_shares_the_batch(name, changes, digits):
    method = get_method(name)
    config = method.config(**{**method.presets["quick"], "generator_width": 4, "ipc": 2, **changes})
    included = torch.from_numpy(stream(0, "members").random((2, digits.num_records)) < 0.5)

    def condense(runs):
        batch, _ = condense_runs(
            method, digits, included[list(runs)], config, class_sizes=(90.0,) * 10,
            randomness=Randomness(seed=0, runs=runs),
        )  # fmt: skip
        return batch

    both, alone = condense((0, 1)), condense((1,))
    assert "norm0.mean" in both.generators.parameters
    assert both.images.isfinite().all()
    torch.testing.assert_close(both.images[1], alone.images[0], rtol=1e-2, atol=1e-3)
    for name, value in alone.generators.parameters.items():
        torch.testing.assert_close(both.generators.parameters[name][1], value[0], rtol=1e-2, atol=1e-4)
    assert (both.images[0] != both.images[1]).any()


def test_adam_with_weight_decay_against_torch():
    weight = torch.linspace(-1, 1, 6)
    gradients = [weight.flip(0), weight.square(), weight.sin()]
    own = torch.nn.Parameter(weight.clone())
    optimiser = torch.optim.Adam([own], lr=0.1, weight_decay=0.5)
    ours, first, second = {"w": weight}, {"w": torch.zeros(6)}, {"w": torch.zeros(6)}
    for step, gradient in enumerate(gradients, 1):
        own.grad = gradient.clone()
        optimiser.step()
        ours, first, second = adam_step(
            ours, first, second, {"w": gradient}, step=step, learning_rate=0.1, weight_decay=0.5
        )
    torch.testing.assert_close(ours["w"], own.detach())


def test_codes_of_dp_sinkhorn_lie_between_0_and_1():
    shape = shape_of("dcgan-bn")
    latent = draw_codes(shape, torch.zeros(200, dtype=torch.int64), stream(0, "codes"), "unit")[:, :3]
    assert 0 <= latent.min() < 0.05
    assert 0.95 < latent.max() <= 1


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: shape_of("upsampling-bn", (14,)), "use generator=mlp-bn"),
        (lambda: shape_of("dcgan-bn", (14,)), "use generator=mlp-bn"),
        (lambda: DpMerfConfig(batch_generated=1).shape((1, 8, 8), 4), "batches of 2 images or more, not 1"),
        (lambda: DpSinkhornConfig(batch_generated=5).shape((1, 8, 8), 4), "batches of 2 images or more, not 1"),
        (lambda: DpSinkhornConfig(weight_decay=-1.0), "weight_decay=-1.0"),
    ],
)
def test_settings_that_cannot_work_are_refused_in_one_line(make, said):
    with pytest.raises(BadConfig, match=said) as error:
        make()
    assert "\n" not in str(error.value)


def test_tables_have_the_perceptron():
    shape = shape_of("mlp-bn", (14,))
    parameters = drawn(shape)
    assert generate(shape, parameters, codes_of(shape)).shape == (3, 12, 14)
