"""Audits simulated from end to end, for the tests of what draws them: every figure is computed from drawn scores."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import trapezoid
from scipy.stats import binom

from reports.records.gallery import Gallery
from reports.records.schema import (
    Claim,
    EpsilonBound,
    ExposedRecord,
    Game,
    Protocol,
    Report,
    Roc,
    Utility,
    dump,
    load,
)

GRID = np.concatenate([[0.0], np.logspace(-5, 0, 201)])


def simulate_scores(*, runs: int, records: int, leak: float, seed: int = 0) -> pd.DataFrame:
    """Members' scores are shifted by an amount of the record's own, on average `leak` standard deviations."""
    random = np.random.default_rng(seed)
    member = random.random((runs, records)) < 0.5
    shift = leak * random.exponential(size=records)
    score = random.normal(size=(runs, records)) + 0.1 * random.normal(size=(runs, 1)) + shift * member
    return pd.DataFrame(
        {
            "run": np.repeat(np.arange(runs, dtype=np.int32), records),
            "record": np.tile(np.arange(records, dtype=np.int32), runs),
            "member": member.ravel(),
            "score": score.astype(np.float32).ravel(),
        }
    )


def measure_roc(scores: pd.DataFrame, *, resamples: int = 200, seed: int = 1) -> Roc:
    """Operating characteristic over 2000 thresholds, resampled over runs."""
    runs = scores["run"].nunique()
    score = scores["score"].to_numpy(np.float64).reshape(runs, -1)
    member = scores["member"].to_numpy().reshape(runs, -1)
    edges = np.concatenate([np.quantile(score, np.linspace(0, 1, 2001)), [np.inf]])
    edges[0] = -np.inf
    inside = np.stack([np.histogram(s[m], edges)[0] for s, m in zip(score, member, strict=True)])
    outside = np.stack([np.histogram(s[~m], edges)[0] for s, m in zip(score, member, strict=True)])
    weights = np.random.default_rng(seed).multinomial(runs, np.full(runs, 1 / runs), size=resamples)
    weights = np.concatenate([np.ones((1, runs)), weights])
    true, false = (
        np.concatenate([np.zeros((len(c), 1)), c[:, ::-1].cumsum(1)], axis=1)
        for c in (weights @ inside, weights @ outside)
    )
    true, false = true / true[:, -1:], false / false[:, -1:]
    area = trapezoid(true, false, axis=1)
    accuracy = ((true + 1 - false) / 2).max(1)
    curves = np.stack([np.interp(GRID, f, t) for f, t in zip(false, true, strict=True)])
    low, high = np.quantile(curves[1:], [0.025, 0.975], axis=0)

    def interval(values: np.ndarray) -> tuple[float, float]:
        return float(np.quantile(values, 0.025)), float(np.quantile(values, 0.975))

    rates = {
        key: np.array([np.interp(float(key), f, t) for f, t in zip(false, true, strict=True)])
        for key in ("0.001", "0.01")
    }
    return Roc(
        auc=float(area[0]),
        auc_interval=interval(area[1:]),
        tpr_at_fpr={key: float(values[0]) for key, values in rates.items()},
        tpr_at_fpr_interval={key: interval(values[1:]) for key, values in rates.items()},
        balanced_accuracy=float(accuracy[0]),
        balanced_accuracy_interval=interval(accuracy[1:]),
        interval_confidence=0.95,
        curve={
            "false_positive_rate": GRID.tolist(),
            "true_positive_rate": curves[0].tolist(),
            "lower": low.tolist(),
            "upper": high.tolist(),
        },
    )


def bound_one_run(guesses: int, correct: int, *, significance: float = 0.05) -> float:
    """Steinke, Nasr and Jagielski 2023 at δ = 0, by bisection."""
    low, high = 0.0, 20.0
    for _ in range(60):
        middle = (low + high) / 2
        small = binom.sf(correct - 1, guesses, 1 / (1 + math.exp(-middle))) < significance
        low, high = (middle, high) if small else (low, middle)
    return low


def simulate_report(
    *, runs: int = 64, records: int = 600, leak: float = 0.6, seed: int = 0, **changes: Any
) -> tuple[Report, pd.DataFrame]:
    """A whole audit of a method that leaks as told; `changes` replace fields of the report."""
    scores = simulate_scores(runs=runs, records=records, leak=leak, seed=seed)
    chosen, rest = scores[scores["run"] < runs // 2], scores[scores["run"] >= runs // 2]
    low, high = chosen["score"].quantile([0.002, 0.998])
    correct = int((rest["member"] & (rest["score"] > high)).sum() + (~rest["member"] & (rest["score"] < low)).sum())
    guesses = int(((rest["score"] > high) | (rest["score"] < low)).sum())
    roc = measure_roc(scores)
    bound = EpsilonBound(
        lower=bound_one_run(guesses, correct),
        delta=1e-5,
        confidence=0.95,
        estimator="one run, pooled over test runs",
        unit="record",
        num_trials=len(scores),
        ceiling=bound_one_run(len(rest), len(rest)),
        assumptions=(
            "every record was in every run by an independent fair coin",
            "the attack was fitted on other runs than it is tested on",
            "the threshold was chosen on one half of the test runs and used on the other",
        ),
        threshold_choice="abstention thresholds chosen on a split of the test runs",
        counts={"guesses": guesses, "correct": correct},
    )
    paper = bound_paper_style(roc, len(scores))
    table = scores.assign(
        inside=scores["score"].where(scores["member"]), outside=scores["score"].where(~scores["member"])
    )
    means = table.groupby("record")[["inside", "outside"]].mean()
    gap = (means["inside"] - means["outside"]).sort_values(ascending=False)
    exposed = tuple(
        ExposedRecord(
            record=int(record),
            label=int(record) * 10 // records,
            auc=record_auc_naive(scores, int(record)),
            mean_score_in=float(means["inside"][record]),
            mean_score_out=float(means["outside"][record]),
        )
        for record in gap.index[:16]
    )
    report = Report(
        command=f"audit lira --method dm --dataset digits --shadows {4 * runs} --level set --seed {seed}",
        method="dm",
        attack="lira",
        dataset="digits",
        level="set",
        verdict="NO CLAIM",
        verdict_reason="No ε is claimed for dm. The bound stands by itself: whoever releases such a set gives away at "
        "least this much about a record.",
        epsilon=bound,
        bounds=(bound, paper),
        claimed=None,
        roc=roc,
        paper_style_epsilon=paper.lower,
        utility=Utility(accuracy=0.874, accuracy_interval=(0.868, 0.881), measured_on="records that the run left out"),
        game=Game(
            num_records=records,
            num_classes=10,
            num_synthetic=100,
            num_fit_runs=3 * runs,
            num_test_runs=runs,
            inclusion_probability=0.5,
            public_randomness="shared by all runs and known to the adversary",
            membership_shuffled=False,
            seed=seed,
        ),
        exposed=exposed,
        protocols=(),
        threat_model=(
            "sees the synthetic set of the run",
            "knows the method, its settings and the public randomness (random networks, augmentations, initial noise)",
            "has the pool of records and can condense random halves of it",
        ),
        config={"dataset": "digits", "records": records, "method": {"init": "random", "ipc": 10, "steps": 300}},
        versions={"condensation-audit": "0.1.0", "torch": "2.15.0", "numpy": "2.4.0", "python": "3.11"},
        digest="9f86d081884c7d65",
        run_directory="runs/lira-dm-digits-9f86d081884c7d65",
        pdf="report.pdf",
    )
    return replace(report, **changes), scores


def bound_paper_style(roc: Roc, trials: int) -> EpsilonBound:
    """ln(TPR/FPR) at FPR 0.1%, as Dong et al. 2022 report it."""
    ratio = roc.tpr_at_fpr["0.001"] / 0.001
    return EpsilonBound(
        lower=math.log(ratio) if ratio > 0 else 0.0,
        delta=0.0,
        confidence=0.0,
        estimator="ln(TPR/FPR), paper style",
        unit="record",
        num_trials=trials,
        ceiling=math.inf,
        assumptions=(),
        kind="no bound",
    )


def record_auc_naive(scores: pd.DataFrame, record: int) -> float:
    """AUC of one record over runs, pair by pair."""
    rows = scores[scores["record"] == record]
    inside = rows.loc[rows["member"], "score"].to_numpy()
    outside = rows.loc[~rows["member"], "score"].to_numpy()
    wins = (inside[:, None] > outside).sum() + 0.5 * (inside[:, None] == outside).sum()
    return float(wins / (inside.size * outside.size))


def simulate_gallery(*, per_class: int = 10, classes: int = 10, shape: tuple[int, int, int] = (8, 8, 1)) -> Gallery:
    """Blobs, one position per class."""
    random = np.random.default_rng(3)
    height, width, channels = shape
    rows, columns = np.mgrid[0:height, 0:width]
    labels = np.repeat(np.arange(classes), per_class)
    angle = 2 * np.pi * labels / classes
    centre_y = height / 2 + height / 4 * np.sin(angle) + random.normal(size=labels.size) * height / 20
    centre_x = width / 2 + width / 4 * np.cos(angle) + random.normal(size=labels.size) * width / 20
    distance = (rows - centre_y[:, None, None]) ** 2 + (columns - centre_x[:, None, None]) ** 2
    images = np.exp(-distance / (height * width / 18))[..., None] * (
        0.4 + 0.6 * random.random((labels.size, 1, 1, channels))
    )
    return Gallery(synthetic=images.astype(np.float32), synthetic_labels=labels)


CLAIM = Claim(
    epsilon_rdp=6.114, epsilon_pld=5.62, delta=1e-5, source="ledger of the run, Theorem III.2 of Zheng and Li"
)
PROTOCOL = Protocol(
    name="members against non-members",
    source="Dong et al. 2022, Table 2",
    advantage=0.0123,
    advantage_interval=(-0.004, 0.029),
    num_seeds=10,
    note="threshold from one half, advantage on the other",
)


@pytest.mark.parametrize("leak", [0.0, 0.8])
def test_simulated_auc_stands_in_its_interval_and_report_survives_its_file_against_theory(leak: float) -> None:
    report, scores = simulate_report(runs=32, records=200, leak=leak)
    low, high = report.roc.auc_interval
    assert low <= report.roc.auc <= high
    assert (low <= 0.5 <= high) == (leak == 0)
    assert len(scores) == 32 * 200
    assert dump(load(dump(report))) == dump(report)
