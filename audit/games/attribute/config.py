"""Everything that determines an audit of attributes, and the masked records."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from attacks.attribute import NUM_FOLDS, MaskedRecords
from audit.games.attribute.mask import choose_mask
from audit.games.membership.config import AuditConfig
from audit.games.membership.request import resolved_spec
from audit.games.membership.resolve import resolve_config
from audit.specs.attribute import Attribute
from condensers.pool import Pool
from condensers.randomness import stream
from condensers.registry import get_method, require_set

# Of a configuration of membership: what an audit of attributes does not use.
UNUSED = ("attack", "attack_config", "victim_config", "queries", "claim", "tries")


@dataclass(frozen=True, kw_only=True, eq=False)
class AttributeConfig:
    """The condensations, what is masked `[features]`, what is claimed, and among how many tries the error is shared."""

    condensation: AuditConfig
    asked: str
    mask: np.ndarray
    claim: float | None
    tries: int

    @property
    def subject(self) -> str:
        return self.condensation.method

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.to_json().encode()).hexdigest()[:12]

    @property
    def directory_name(self) -> str:
        return f"attribute-{self.condensation.directory_name.split('-', 1)[1].rsplit('-', 1)[0]}-{self.digest}"

    def facts(self) -> dict[str, Any]:
        """All of it, as JSON holds it; the condensation's fields stand where other audits look for them."""
        kept = {name: value for name, value in self.condensation.facts().items() if name not in UNUSED}
        return kept | {
            "attack": "attribute",
            "masked": self.asked,
            "masked_checksum": hashlib.sha256(np.packbits(self.mask).tobytes()).hexdigest(),
            "claim": self.claim,
            "tries": self.tries,
        }

    def to_json(self) -> str:
        return json.dumps(self.facts(), sort_keys=True, indent=2, allow_nan=False) + "\n"


def resolve_attribute(spec: Attribute, data_root: Path | None) -> tuple[AttributeConfig, Pool]:
    """Check the specification, load the pool, and fix everything that determines the result."""
    require_set(get_method(spec.method), "attributes are guessed from a set")
    condensation, pool = resolve_config(spec.condensations(), data_root)
    mask = choose_mask(spec.masked, tuple(pool.images.shape[1:]))
    config = AttributeConfig(
        condensation=condensation, asked=spec.masked, mask=mask, claim=spec.claim, tries=spec.tries
    )
    return config, pool


def resolved_command(config: AttributeConfig) -> str:
    """The command that asks for this configuration again: every choice that was made for a person is written out."""
    found = resolved_spec(config.condensation)
    names = {name for name in Attribute.__struct_fields__ if hasattr(found, name)}
    values = {name: getattr(found, name) for name in names}
    return Attribute(**values | {"masked": config.asked, "claim": config.claim, "tries": config.tries}).command()


def mask_records(config: AttributeConfig, pool: Pool) -> MaskedRecords:
    """Visible and masked parts of the pool, and its folds, which the seed draws."""
    flat = pool.images.flatten(1).cpu().numpy().astype(np.float64)
    order = stream(config.condensation.seed, "folds of known records").permutation(pool.num_records)
    return MaskedRecords(
        visible=flat[:, ~config.mask],
        masked=flat[:, config.mask],
        labels=pool.labels.cpu().numpy(),
        folds=order % NUM_FOLDS,
    )
