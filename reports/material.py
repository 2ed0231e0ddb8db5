"""What the pages of one audit are drawn from: its record, what its scores show, its pictures."""

from dataclasses import dataclass

import pandas as pd

from reports.records.gallery import Gallery
from reports.records.schema import Report
from reports.records.scores import RecordExposure, ScoreHistogram, check_scores, record_exposure, score_histogram


@dataclass(frozen=True, kw_only=True)
class Material:
    """A few kilobytes, however long the score table was; pictures aside."""

    report: Report
    histogram: ScoreHistogram
    exposure: RecordExposure | None
    gallery: Gallery


def gather(report: Report, *, scores: pd.DataFrame, gallery: Gallery) -> Material:
    """Raises ValueError, in one line, where the inputs do not fit together.

    `scores` has the columns run, record, member and score of the test runs.
    """
    check_scores(scores, auc=report.roc.auc)
    if gallery.exposed is not None and len(gallery.exposed) != len(report.exposed):
        raise ValueError(f"{len(gallery.exposed)} images for {len(report.exposed)} exposed records")
    return Material(report=report, histogram=score_histogram(scores), exposure=record_exposure(scores), gallery=gallery)
