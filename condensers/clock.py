"""Noise from a generator that was seeded by the clock: a fault of the released code of NDPDC and Dosser, modelled.

Both take the clock in milliseconds modulo 100 000 as the seed of the augmentation. The augmentation seeds torch's
generators with it, and the noise is drawn next, from the same generators: it is a function of the seed alone, which
takes at most 100 000 values (17 bits). Where two classes of one iteration read the clock within the same millisecond,
they have the same seed and therefore the same noise. Repository, commit and order of events: audit/claims/accusations.

Two simplifications. The seed is uniform here, which favours the defender: the clock moves by a few milliseconds from
one class to the next. Which classes share a millisecond depends on the machine: here consecutive classes of an
iteration form blocks of `classes_per_millisecond`, and a block has one seed; 1 means that no two classes share one.
"""

from typing import Any

from condensers.errors import BadConfig
from condensers.fields import check_choice, check_numbers

CLOCK_SEEDS = 100_000
NOISE_SOURCES = {"stream": None, "clock": CLOCK_SEEDS}


def check_noise_source(config: Any) -> None:
    """Validate the fields `noise_source` and `classes_per_millisecond`."""
    check_choice(config, "noise_source", NOISE_SOURCES)
    check_numbers(config, at_least_one=("classes_per_millisecond",))
    if config.classes_per_millisecond > 1 and config.noise_source != "clock":
        raise BadConfig(
            f"classes_per_millisecond={config.classes_per_millisecond}: classes share a millisecond only with "
            "noise_source=clock"
        )
