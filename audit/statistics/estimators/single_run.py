"""The records of a single run, split: some choose the numbers of guesses, the others are tested."""

from audit.statistics.estimators.evidence import RecordEvidence
from audit.statistics.estimators.thresholds import MedianOfSplits, Split, ThresholdChoice
from condensers.errors import BadInput


def splits_one_run(evidence: object, choice: ThresholdChoice) -> bool:
    """Whether coins of one and the same run are both chosen on and tested."""
    is_one = isinstance(evidence, RecordEvidence) and len(evidence.members) == 1
    return is_one and isinstance(choice, Split | MedianOfSplits)


def split_correction(evidence: RecordEvidence, choice: ThresholdChoice, delta: float) -> int:
    """By what the significance is divided where the records of a single run are split: 2, or 1 at delta 0.

    The number of guesses r is then a function of the output. At delta 0 that costs nothing: given the output, right
    guesses are dominated by Bin(r, q). With delta > 0 let each r have the mass w_r, and d_r be the part of delta that
    its outputs use up. The union over r of the events {r, a set of counts} is one event, so the d_r sum to at most
    delta. The p-values of one-run and of one-run-dp are affine in delta, a_r + b_r delta, so the probability of a
    rejection is at most the sum of w_r (a_r + b_r d_r / w_r) <= max a_r + delta max b_r. Tested at half of the
    significance, either term is below that half.
    """
    return 2 if delta > 0.0 and splits_one_run(evidence, choice) else 1


def refuse_split_of_one_run(evidence: RecordEvidence, choice: ThresholdChoice, *, estimator: str) -> None:
    """For trade-off functions other than those of an (epsilon, delta) point, where the above is not proved."""
    if splits_one_run(evidence, choice):
        raise BadInput(
            f"{estimator}: numbers of guesses chosen on records of the only run depend on its output, and no valid "
            "correction is known for this estimator; give --threshold grid or fixed:X, or more runs"
        )
