"""The propositions of Dong et al. (arXiv:2206.00240), run on the condenser: `Theory`."""

from typing import Annotated, ClassVar

from msgspec import Meta

from audit.specs import fields
from audit.specs.spec import Spec


class Theory(Spec, frozen=True, kw_only=True):
    """Distribution matching with linear, ReLU and convolutional extractors, with and without single records.

    >>> Theory(ipc=(3,), iterations=50).command()
    'audit theory --ipc 3 --iterations 50'
    """

    COMMAND: ClassVar[str] = "theory"
    dataset: fields.Dataset = "digits"
    records: Annotated[int, Meta(ge=1, le=fields.MOST, description="Records to condense, all classes together.")] = 500
    ipc: Annotated[
        tuple[Annotated[int, Meta(ge=1, le=fields.MOST)], ...],
        Meta(min_length=1, description="Images per class; may be repeated."),
    ] = (2, 4)
    iterations: Annotated[int, Meta(ge=1, le=fields.MOST, description="Steps of distribution matching.")] = 150
    seed: fields.Seed = 0
