"""What released code does that its proof does not cover: where in the code, in which order, and with what consequence.

Every entry was read at the commit that it names. `tests/unit/test_accusations.py` reproduces each order of events in a
few lines of our own, `audit claims` prints the entries beside the claims they bear on, and docs/faults.md lists them.
"""

from dataclasses import dataclass

DOSSER = {"repository": "humansensinglab/Dosser", "commit": "dff0c57f6f22f66d500a66bad4a9db757e5f714a"}


@dataclass(frozen=True, kw_only=True)
class Accusation:
    """One fault of released code. `claim` names the claim of `audit claims` that it bears on."""

    name: str
    claim: str
    repository: str
    commit: str
    file: str
    function: str
    applies: str
    order_of_events: tuple[str, ...]
    consequence: str

    @property
    def place(self) -> str:
        """Repository, commit, file and function in one line."""
        return f"{self.repository} at {self.commit[:7]}, {self.file}, {self.function}"

    @property
    def lines(self) -> tuple[str, ...]:
        """All of it, for people; also the list items of docs/faults.md."""
        events = (f"{number}. {event}" for number, event in enumerate(self.order_of_events, 1))
        return (f"{self.name}: {self.place}", f"Applies {self.applies}.", *events, f"Consequence: {self.consequence}")


ACCUSATIONS = {
    accusation.name: accusation
    for accusation in (
        Accusation(
            name="ndpdc-clock",
            claim="ndpdc-code",
            repository="SecMLSys/Differentially-Private-Dataset-Condensation",
            commit="a20cf59ada6856439c92354076858ff7b359ada3",
            file="main_dpdc.py and utils.py",
            function="main, DiffAugment, set_seed_DiffAug",
            applies="with augmentation, which is the default; without it the seed is the one of get_network, "
            "which is taken from the clock in every iteration",
            order_of_events=(
                "For each class of an iteration the seed is the clock in milliseconds modulo 100 000.",
                "The real images are augmented with it: set_seed_DiffAug seeds torch's generators with the seed, and "
                "with the numbers that follow it before each further draw.",
                "The synthetic images are augmented with the same seed, which seeds the generators again.",
                "The noise of the class's sum is drawn from these generators. Nothing has seeded them since.",
            ),
            consequence="the noise is a function of one of 100 000 seeds, and classes that read the clock within one "
            "millisecond have the same noise.",
        ),
        Accusation(
            name="dosser-clock",
            claim="dosser-code",
            **DOSSER,
            file="dosser.py and utils.py",
            function="precompute_training_signals, train_step, DiffAugment, set_seed_DiffAug",
            applies="with augmentation and more than one image per class: the code's defaults and the settings of the "
            "paper's tables (10 and 50 images per class)",
            order_of_events=(
                "For each class of a signal, precompute_training_signals takes the clock in milliseconds modulo "
                "100 000 as the seed, augments the sampled images with it, and stores the seed and the clean sum.",
                "A step draws a signal at random and augments the synthetic images with the stored seed, which seeds "
                "torch's generators.",
                "The noise is drawn from these generators and added to the stored sum. Nothing has seeded them since.",
                "A later step that draws the same signal seeds the generators with the same numbers, and draws the "
                "same noise.",
            ),
            consequence="one release per signal, as is accounted; but the noise is a function of one of 100 000 "
            "seeds, and classes that read the clock within one millisecond have the same noise.",
        ),
        Accusation(
            name="dosser-fresh-noise",
            claim="dosser-code",
            **DOSSER,
            file="dosser.py and utils.py",
            function="precompute_training_signals, train_step, get_network",
            applies="without augmentation, or at one image per class",
            order_of_events=(
                "precompute_training_signals stores the clean sum of each class of a signal, and no seed.",
                "A step draws a signal at random and leaves out the augmentation, so that nothing seeds the "
                "generators.",
                "The noise is drawn from wherever the generators stand and added to the stored sum. A later step that "
                "draws the same signal adds other noise.",
                "The generators were last seeded by get_network, from the clock: for the last signal, or for the last "
                "evaluation.",
            ),
            consequence="200 000 steps add fresh noise to 10 000 clean sums, 20 times to each on average, where one "
            "release of each is accounted.",
        ),
        Accusation(
            name="psg-extra-round",
            claim="psg-dp",
            repository="DingfanChen/Private-Set",
            commit="8277ee239ea4fcbc9d011e797d1959919e7191ca",
            file="main.py (main_prior.py likewise)",
            function="main",
            applies="always",
            order_of_events=(
                "The noise is chosen for iteration · outer_loop · batch_loop releases.",
                "The loop over rounds runs from 0 to iteration, both included: 1001 rounds by default.",
                "Every round draws outer_loop · batch_loop noisy gradients and moves the images by them; the set is "
                "stored after the last of them.",
            ),
            consequence="1001 rounds are run where 1000 are accounted.",
        ),
        Accusation(
            name="gs-wgan-accounting",
            claim="gs-wgan-dp",
            repository="DingfanChen/GS-WGAN",
            commit="62e77b36d658b1ffdd3d454d25a7bbf8e89c57a1",
            file="source/main.py and evaluation/privacy_analysis.py",
            function="main, dp_conv_hook; main",
            applies="always",
            order_of_events=(
                "An iteration draws one of 1000 discriminators, each trained on a shard of its own.",
                "The generator's batch is as large as the discriminator's last one: shards of 60 records are read in "
                "batches of 32 and 28, five at each visit, so it has 32 and 28 images in turn.",
                "All images of the batch pass this discriminator; each of their gradients is clipped and has noise "
                "added.",
                "privacy_analysis.py composes iterations · 32 releases, each of them sampled at 1/1000 by itself.",
            ),
            consequence="28 or 32 gradients that share one draw are accounted as 32 draws.",
        ),
        Accusation(
            name="dp-cgan-accounting",
            claim="dp-cgan-dp",
            repository="reihaneh-torkzadehmahani/DP-CGAN",
            commit="639ce4d261ee3202ab72ea5fe4ece916272bf524",
            file="DP_CGAN/dp_conditional_gan_mnist: DP_CGAN_RdpAcc.py and differential_privacy/dp_sgd/dp_optimizer",
            function="runTensorFlow, compute_epsilon; compute_sanitized_gradients, sanitize",
            applies="always",
            order_of_events=(
                "compute_sanitized_gradients takes the four tensors of the discriminator one after the other.",
                "sanitize clips the gradient of every example in this tensor to C (over the batch size) and adds noise "
                "of deviation σC (over the batch size) to the sum, with σ = 1.12 and C = 1.1.",
                "compute_epsilon is called with σ·C = 1.232 as the noise multiplier.",
                "The training stops after the step at which this ε passes 9.6.",
            ),
            consequence="the gradient of a record has a norm of up to 2C, so that the noise multiplier is 0.56, "
            "accounted as 1.232.",
        ),
        Accusation(
            name="dp-cgan-labels",
            claim="dp-cgan-dp",
            repository="reihaneh-torkzadehmahani/DP-CGAN",
            commit="639ce4d261ee3202ab72ea5fe4ece916272bf524",
            file="DP_CGAN/dp_conditional_gan_mnist: DP_CGAN_RdpAcc.py and differential_privacy/dp_sgd/dp_optimizer",
            function="runTensorFlow; minimize_ours",
            applies="always",
            order_of_events=(
                "A step draws images and labels of a minibatch of the private records.",
                "The discriminator's solver is given these labels for the generated images, too. minimize_ours clips "
                "the gradient of the loss on generated images and adds no noise to it.",
                "The generator's solver is given the same labels for the generated images; its gradient is neither "
                "clipped nor noisy.",
                "compute_epsilon accounts for one noisy release per step, that of the gradient on real images.",
            ),
            consequence="the generator's step and a part of the discriminator's are functions of private labels to "
            "which no noise is added and for which nothing is accounted.",
        ),
    )
}


def accusations_of(claim: str) -> tuple[Accusation, ...]:
    """Those that bear on a claim."""
    return tuple(accusation for accusation in ACCUSATIONS.values() if accusation.claim == claim)
