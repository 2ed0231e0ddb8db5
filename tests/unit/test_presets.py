"""`--preset paper` and `--preset dong` against what the papers print, and the sources of every figure."""

import dataclasses

import pytest
import torch

from attacks.victims import PRESETS, VictimConfig
from audit.games import settings
from audit.games.condensation import resolve_condensation
from condensers.errors import BadConfig
from condensers.pool import Pool
from condensers.published import OF_VICTIMS, SIZES, Circumstance, open_questions, published_presets, published_values
from condensers.registry import all_methods, get_method

PAPERS = ("dm", "dsa", "dc", "kip", "ldpdc", "ndpdc", "psg", "dyn-psg", "dosser")
# Settings that no paper speaks of: how something is computed, variants of other papers and faults of released code.
TECHNICAL = {
    "compiled", "precision", "noise_source", "classes_per_millisecond", "fresh_noise", "as_published", "extractor",
    "auxiliary_checksum", "auxiliary_noise", "auxiliary", "ser", "pca", "prior", "generator_width", "init",
    "width", "depth", "zca", "zca_regularisation", "hidden_layers", "siamese", "kernel", "blocks", "noise_multiplier",
    "momentum", "network_batch", "decay", "generator_learning_rate",
}  # fmt: skip


def records(name: str, count: int = 60_000, num_classes: int = 10, shape: tuple[int, ...] = (1, 1, 1)) -> Pool:
    """As many blank records as the data set has, equally many of each class."""
    labels = torch.arange(count) * num_classes // count
    return Pool(name=name, images=torch.zeros(count, *shape), labels=labels, num_classes=num_classes)


@pytest.mark.parametrize("name", PAPERS)
def test_every_setting_has_a_source_or_is_listed_as_open(name: str) -> None:
    fields = {field.name for field in dataclasses.fields(all_methods()[name].config)}
    printed = {row.setting for rows in published_presets(name).values() for row in rows}
    said = " ".join(entry.question + entry.switch + entry.choice for entry in open_questions(name))
    assert {one for one in fields - printed - TECHNICAL if one not in said} == set()


@pytest.mark.parametrize("name", ["gs-wgan", "dp-cgan", "dp-kip", "mtt", "dpmix", "dpsgd", "dp-sinkhorn", "dp-hp"])
def test_defaults_of_systems_that_papers_compare_with_are_those_of_the_released_code(name: str) -> None:
    """On a data set of the papers, but for what depends on it or on the table: images per class, kernels."""
    config = get_method(name).config()
    printed = published_values(name, "paper", Circumstance(dataset="cifar10"))
    ours = {setting: getattr(config, setting) for setting in printed if hasattr(config, setting)}
    apart = {"ipc", "length_scale", "product_weight"}
    assert {setting: value for setting, value in printed.items() if setting in ours and setting not in apart} == {
        setting: value for setting, value in ours.items() if setting not in apart
    }


def test_every_published_setting_exists() -> None:
    own = {field.name for field in dataclasses.fields(VictimConfig)}
    for name, method in all_methods().items():
        fields = {field.name for field in dataclasses.fields(method.config)}
        for rows in published_presets(name).values():
            for row in rows:
                assert row.source
                known = row.setting in fields | {*SIZES, "epsilon", "accountant"}
                assert known or row.setting.removeprefix(OF_VICTIMS) in own, (name, row.setting)


@pytest.mark.parametrize(("ratio", "rate"), [(0.002, 10.0), (0.01, 50.0), (0.02, 100.0)])
def test_learning_rates_of_dong_against_paper(ratio: float, rate: float) -> None:
    """Appendix E.1: 10, 50 and 100 for r of .002, .01 and .02; |T| is half of the data, so 6, 30 and 60 images."""
    pool, method = records("fashion-mnist"), get_method("dm")
    ipc = settings.resolve_ipc(pool, None, ratio, method=method, preset="dong")
    assert ipc == round(3000 * ratio)
    config = settings.resolve_method(method, "dong", pool, ipc=ipc, init=None, changes={})
    assert config.learning_rate == rate
    assert config.normalisation == "official"


@pytest.mark.parametrize(
    ("name", "dataset", "ipc"),
    [("dm", "mnist", 50), ("ndpdc", "cifar10", 50), ("psg", "mnist", 10), ("dc", "mnist", 1)],
)
def test_images_per_class_follow_the_preset(name: str, dataset: str, ipc: int) -> None:
    pool, method = records(dataset), get_method(name)
    assert settings.resolve_ipc(pool, None, None, method=method, preset="paper") == ipc
    assert settings.resolve_ipc(pool, 3, None, method=method, preset="paper") == 3
    assert settings.resolve_ipc(pool, None, None, method=method, preset="quick") == 1


@pytest.mark.parametrize(
    ("ipc", "epsilon", "rounds", "noise"),
    [(1, None, 1000, 0.604), (10, None, 1000, 0.966), (10, 1.0, 200, 2.553), (20, 1.0, 200, 3.533)],
)
def test_noise_of_psg_follows_size_and_budget(ipc: int, epsilon: float | None, rounds: int, noise: float) -> None:
    """C.3: R = 1000 for ε = 10 and 200 for ε = 1; σ by Rényi DP, N = 60 000, B = 256."""
    found = resolve_condensation(
        get_method("psg"), records("mnist", shape=(1, 28, 28)), preset="paper", ipc=ipc, init=None, epsilon=epsilon,
        delta=1e-5, changes={},
    )  # fmt: skip
    assert found.config.iterations == rounds
    assert found.config.noise_multiplier == pytest.approx(noise, abs=0.002)


def test_settings_depend_on_the_data_set() -> None:
    grey = published_values("dyn-psg", "paper", Circumstance(dataset="mnist"))
    colour = published_values("dyn-psg", "paper", Circumstance(dataset="cifar10"))
    assert (grey["inner"], grey["clip"]) == (1, 0.1)
    assert (colour["inner"], colour["clip"]) == (10, 8.0)
    assert published_values("ndpdc", "paper", Circumstance(dataset="adult"))["noise_multiplier"] == 2.09


@pytest.mark.parametrize(("method", "preset"), [("dm", "paper"), ("dm", "dong"), ("dsa", "paper"), ("dsa", "dong"),
                                                ("ndpdc", "paper"), ("dosser", "paper")])  # fmt: skip
def test_mirror_images_by_data_set_against_the_readmes(method: str, preset: str) -> None:
    """readme.md of the DC and of the DPDC code: --dsa_strategy with flip on FashionMNIST, CIFAR-10 and CelebA."""
    found = get_method(method)
    for dataset, mirrored in (("mnist", ""), ("svhn", ""), ("fashion-mnist", "flip_"), ("cifar10", "flip_"),
                              ("celeba", "flip_"), ("celeba-64", "flip_")):  # fmt: skip
        pool, wanted = records(dataset), f"color_crop_cutout_{mirrored}scale_rotate"
        config = settings.resolve_method(found, preset, pool, ipc=10, init=None, changes={})
        victim = settings.resolve_victim(PRESETS, preset, pool, {}, found)
        assert (config.augmentation, victim.augmentation) == (wanted, wanted), dataset
    asked = {"augmentation": "crop"}
    assert settings.resolve_method(found, preset, pool, ipc=10, init=None, changes=asked).augmentation == "crop"


def test_recipe_of_evaluation_follows_the_paper() -> None:
    mnist, psg, dm = records("mnist"), get_method("psg"), get_method("dm")
    found = settings.resolve_victim(PRESETS, "paper", mnist, {}, psg)
    assert (found.recipe, found.epochs, found.augmentation) == ("psg", 1000, "dc")
    for method, dataset, wanted in (("psg", "fashion-mnist", (1000, "dc")), ("psg", "cifar10", (300, "none")),
                                    ("dc", "mnist", (1000, "dc")), ("dc", "fashion-mnist", (300, "none"))):  # fmt: skip
        found = settings.resolve_victim(PRESETS, "paper", records(dataset), {}, get_method(method))
        assert (found.epochs, found.augmentation) == wanted, (method, dataset)
    assert settings.resolve_victim(PRESETS, "paper", mnist, {}, dm).epochs == 1000
    assert settings.resolve_victim(PRESETS, "paper", mnist, {}, dm, psg).epochs == 1000, "recipes that differ"
    assert settings.resolve_victim(PRESETS, "paper", mnist, {"victim.recipe": "dsa"}, psg).epochs == 1000
    assert settings.resolve_victim(PRESETS, "quick", mnist, {}, psg).epochs == 300
    assert settings.resolve_victim(PRESETS, "paper", mnist, {}, dm).normalisation == "official"
    for preset, methods in (("quick", (dm,)), ("paper", (get_method("ldpdc"),)), ("paper", (dm, get_method("ldpdc")))):
        assert settings.resolve_victim(PRESETS, preset, mnist, {}, *methods).normalisation == "half"
    asked = {"victim.normalisation": "half"}
    assert settings.resolve_victim(PRESETS, "paper", mnist, asked, dm).normalisation == "half"


def test_a_preset_that_a_method_does_not_have_is_refused() -> None:
    with pytest.raises(BadConfig, match="--preset 'dong' is not one of"):
        settings.resolve_method(get_method("psg"), "dong", records("mnist"), ipc=1, init=None, changes={})
