"""What the runs of one design show: the scores of its groups put together, and those that are learned from them.

Learning is work of its own: one fit for each thing that the adversary observes, from the columns that the first groups
of the design kept.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from audit.games.neighbours import LENGTHS, SCORES
from audit.games.transcript.experiment import Experiment
from audit.games.transcript.learned import NAMES, learn
from audit.games.transcript.runs import LEARNED_RUNS, Group, compute_group, groups_of, same_ledgers
from audit.statistics.estimators.evidence import RunEvidence
from condensers.ledger import Entries


@dataclass(frozen=True, kw_only=True)
class Transcript:
    """Scores of one design by name, who had the canary, the ledger of the runs (None without a door), and the evidence
    of the scores that were learned, which is about tested runs only."""

    scores: dict[str, np.ndarray]
    has_canary: np.ndarray
    shortest: float
    typical: float
    ledger: Entries | None
    learned: dict[str, RunEvidence]
    noise: dict[str, Tensor] | None = None

    def evidence(self, score: str) -> RunEvidence:
        return self.learned[score] if score in self.learned else _evidence(self.scores[score], self.has_canary)

    @property
    def tried(self) -> tuple[str, ...]:
        """Every score, those that were written down first."""
        return (*self.scores, *self.learned)


@dataclass(frozen=True, kw_only=True)
class Fit:
    """Scores that are learned from one observation (transcript, set or model) of the runs of one design."""

    design: str
    observation: str

    def reads(self, group: Group) -> bool:
        """Whether it learns from the runs of this group."""
        return group.design == self.design and group.first < LEARNED_RUNS

    def compute(self, parts: list[dict[str, Tensor]]) -> dict[str, Tensor]:
        """Scores of the last of these runs by name, and who had the canary; `parts` are what its groups found."""
        prefix = f"{self.observation} "
        names = sorted(name for name in parts[0] if name.startswith(prefix))
        columns = {name.removeprefix(prefix): torch.cat([part[name] for part in parts]).numpy() for name in names}
        has_canary = torch.cat([part["has canary"] for part in parts])
        found = learn(columns, has_canary.numpy()) if columns else {}
        return {"has canary": has_canary, **{name: torch.from_numpy(values) for name, values in found.items()}}


def fits_of(experiment: Experiment, design: str) -> tuple[Fit, ...]:
    """One for each thing that is observed."""
    return tuple(Fit(design=design, observation=observation) for observation in experiment.observations)


def gather(parts: list[dict[str, Tensor]], fitted: dict[Fit, dict[str, Tensor]]) -> Transcript:
    """What the groups of one design found, in the order of their runs, and what was learned from the first of them."""
    ledger = same_ledgers([part["ledger"] for part in parts if "ledger" in part])
    names = [name for name in SCORES if f"score {name}" in parts[0]]
    return Transcript(
        scores={name: torch.cat([part[f"score {name}"] for part in parts]).numpy() for name in names},
        has_canary=torch.cat([part["has canary"] for part in parts]).numpy(),
        shortest=min(float(part["shortest"]) for part in parts),
        typical=float(np.mean([float(part["typical"]) for part in parts])),
        ledger=ledger,
        learned={
            f"{name} ({fit.observation})": _evidence(found[name].numpy(), found["has canary"].numpy())
            for fit, found in fitted.items()
            for name in NAMES
            if name in found
        },
        noise={name: parts[0][name] for name in ("noise", "noise variance")} if "noise" in parts[0] else None,
    )


def _evidence(scores: np.ndarray, has_canary: np.ndarray) -> RunEvidence:
    """Of the last runs, as many as there are scores."""
    tested = has_canary[len(has_canary) - len(scores) :]
    return RunEvidence(member_scores=scores[tested], non_member_scores=scores[~tested])


def listen(experiment: Experiment, design: str, length: float = LENGTHS[0], *, learned: bool = True) -> Transcript:
    """All runs of one design, in this process; without `learned`, the scores that were written down beforehand."""
    groups = groups_of(experiment, design)
    parts = [compute_group(experiment, group, length, learned=learned) for group in groups]
    fitted = {
        fit: fit.compute([part for group, part in zip(groups, parts, strict=True) if fit.reads(group)])
        for fit in (fits_of(experiment, design) if learned else ())
    }
    return gather(parts, fitted)
