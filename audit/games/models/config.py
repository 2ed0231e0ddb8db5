"""Everything that determines the audit of models that a person trained."""

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from attacks.registry import Attack, get_attack
from audit.games import settings
from audit.games.membership.groups import facts_of, read_grouping
from audit.games.membership.resolve import FEWEST_FIT_RUNS, check_fit_runs
from audit.games.models.signals import ModelSignals
from audit.specs.membership import OwnModels
from audit.statistics.estimators.evidence import check_runs_differ
from condensers.errors import BadConfig, BadData
from condensers.plugins import directory_part

SUBJECT = "own models"
LONGEST_NAME = 60


@dataclass(frozen=True, kw_only=True)
class ModelsConfig:
    """`scores` is the name of the signals; `fit_runs` and `test_runs` are rows of it, in the order of the runs."""

    attack: str
    attack_config: dict[str, Any]
    scores: str
    signals_checksum: str
    num_records: int
    num_runs: int
    fit_runs: list[int]
    test_runs: list[int]
    delta: float
    confidence: float
    claim: float | None
    tries: int
    seed: int
    shuffle_membership: bool
    groups: dict[str, Any] | None
    versions: dict[str, str]

    @property
    def subject(self) -> str:
        return SUBJECT

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.to_json().encode()).hexdigest()[:12]

    @property
    def directory_name(self) -> str:
        return f"{directory_part(self.attack)}-own-models-{directory_part(self.scores).lower()}-{self.digest}"

    def to_json(self) -> str:
        return json.dumps(asdict(self), sort_keys=True, indent=2, allow_nan=False) + "\n"


def resolve_models(spec: OwnModels, found: ModelSignals) -> ModelsConfig:
    """Check the specification against the signals, and fix everything that determines the result."""
    attack = get_attack(spec.COMMAND)
    changes = settings.own_settings(spec.settings)
    settings.check_changes(changes, {"attack.": attack.config})
    if not found.name.isprintable() or not 0 < len(found.name) <= LONGEST_NAME:
        raise BadData(
            f"--scores: {found.name[:LONGEST_NAME]!r} is not a valid name; give 1 to {LONGEST_NAME} printable "
            "characters"
        )
    fit_runs, test_runs = divide_runs(spec, attack, found)
    check_fit_members(attack, found.members[fit_runs], shuffled=spec.shuffle_membership)
    check_runs_differ(found.members, test_runs)
    num_records = found.members.shape[1]
    grouping = None if spec.groups is None else read_grouping(spec.groups, found.labels, num_records)
    return ModelsConfig(
        attack=attack.name,
        attack_config=vars(attack.config(**settings.parse_changes(changes, attack.config, prefix="attack."))),
        scores=found.name,
        signals_checksum=found.sha256,
        num_records=num_records,
        num_runs=len(found.members),
        fit_runs=fit_runs,
        test_runs=test_runs,
        delta=spec.delta,
        confidence=spec.confidence,
        claim=spec.claim,
        tries=spec.tries,
        seed=spec.seed,
        shuffle_membership=spec.shuffle_membership,
        groups=None if grouping is None or spec.groups is None else facts_of(spec.groups, grouping),
        versions=settings.versions(None, attack),
    )


def divide_runs(spec: OwnModels, attack: Attack, found: ModelSignals) -> tuple[list[int], list[int]]:
    """Rows to fit on and rows to test on: by their roles, or else the last of them are tested."""
    num_runs = len(found.members)
    if found.tested is None:
        default = max(1, num_runs // 4) if attack.needs_fit_runs else num_runs
        number = default if spec.test_runs is None else spec.test_runs
        if not 1 <= number <= num_runs:
            raise BadConfig(f"--test-runs {number}: must lie in 1…{num_runs}, the number of runs")
        fit_runs, test_runs = list(range(num_runs - number)), list(range(num_runs - number, num_runs))
    else:
        if spec.test_runs is not None:
            raise BadConfig("--test-runs: the signals say which runs are tested; leave it out")
        fit_runs, test_runs = np.flatnonzero(~found.tested).tolist(), np.flatnonzero(found.tested).tolist()
        if not test_runs:
            raise BadData("--scores: no run has the role test; set the column role to test for at least one run")
    if not attack.needs_fit_runs:
        return [], test_runs
    number_fit = check_fit_runs(spec.fit_runs, len(fit_runs))
    return (fit_runs if number_fit is None else fit_runs[:number_fit]), test_runs


def check_fit_members(attack: Attack, members: np.ndarray, *, shuffled: bool) -> None:
    """Refuse fit runs `[runs, records]` that the attack cannot learn from; who was in them is known to it."""
    if attack.needs_fit_runs and len(members) < FEWEST_FIT_RUNS:
        raise BadData(
            f"this leaves {len(members)} runs to fit {attack.name} on, which needs {FEWEST_FIT_RUNS}; give more "
            "models, or use the attack loss, which is not fitted"
        )
    one_sided = np.flatnonzero(members.all(0) | ~members.any(0))
    if attack.name == "lira" and len(one_sided) and not shuffled:
        raise BadData(
            f"{len(one_sided)} records, the first of them {one_sided[0]}, are in all of the {len(members)} fit runs or "
            "in none; LiRA needs runs with and without each record: give more models, or use rmia"
        )
