"""Public images for a method that asks for some: a config whose `public_auxiliary` names a data set."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from audit.data.load import load_pool, pool_checksum
from condensers.errors import BadConfig, BadData, BadInput
from condensers.pool import Pool


def attach_auxiliary(pool: Pool, config: Any, dataset: str, data_root: Path | None) -> tuple[Pool, Any]:
    """The pool with the images beside it, and the config with their checksum; unchanged where none are asked for."""
    name = getattr(config, "public_auxiliary", None)
    if name is None:
        return pool, config
    if name == dataset:
        raise BadConfig(f"--set auxiliary={name}: these are the private records themselves; choose another data set")
    try:
        found = load_pool(name, data_root=data_root)
    except BadInput as error:
        raise BadData(str(error).replace(f"--dataset {name}", f"--set auxiliary={name}")) from None
    with_images = replace(pool, auxiliary=found.images)
    if config.auxiliary_images > found.num_records:
        raise BadConfig(
            f"--set auxiliary_images={config.auxiliary_images}: {name} has {found.num_records} images; choose at "
            f"most {found.num_records}"
        )
    return with_images, replace(config, auxiliary_checksum=pool_checksum(found))
