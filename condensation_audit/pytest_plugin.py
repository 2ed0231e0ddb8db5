"""The fixture `assert_private` for other projects' tests.

    def test_my_condenser(assert_private):
        assert_private("my_module:my_condenser", epsilon=1.0, delta=1e-5)

pytest loads this module in every project where the suite is installed, so it imports nothing of ours until the fixture
is used.
"""

from typing import Any

import pytest


@pytest.fixture(name="assert_private")
def assert_private_fixture() -> Any:
    """Fails a test where the guarantee of a condenser is refuted; see `audit.assertion.assert_private`."""
    from condensation_audit import _audit

    _audit()
    from audit.assertion import assert_private

    return assert_private
