"""The fixture that other projects' tests use."""

import pytest
from calibration.planted_faults import noise_halved

from audit.assertion import assert_private
from condensers.errors import BadConfig
from condensers.ldpdc import condense_ldpdc
from condensers.registry import get_method, name_of

SMALL = {"epsilon": 2.0, "trials": 6000}


def test_sound_condenser_passes_by_name_and_by_function() -> None:
    assert_private(condense_ldpdc, **SMALL)
    assert name_of("ldpdc") == name_of(get_method("ldpdc")) == name_of(condense_ldpdc) == "ldpdc"


def test_planted_fault_fails() -> None:
    with noise_halved(), pytest.raises(AssertionError, match="REFUTED"):
        assert_private("ldpdc", **SMALL)


def test_less_noise_than_stated_fails() -> None:
    with pytest.raises(AssertionError, match="NOT GUARANTEED"):
        assert_private("ldpdc", **SMALL, noise_multiplier=1.0)


def test_what_is_no_condenser_is_refused() -> None:
    with pytest.raises(BadConfig, match="is not a condenser"):
        assert_private(len, **SMALL)
