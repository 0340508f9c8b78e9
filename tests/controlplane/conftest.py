"""One real control plane for the whole lane, and kubectl beside it."""

from collections.abc import Iterator

import pytest

pytest.register_assert_rewrite("tests.controlplane.product", "tests.controlplane.stories")

from tests.controlplane.binaries import Binaries, NotAvailableError, find_binaries  # noqa: E402 - after the rewrite
from tests.controlplane.controlplane import ControlPlane  # noqa: E402


@pytest.fixture(scope="session")
def binaries() -> Binaries:
    """The real programs."""
    try:
        return find_binaries()
    except NotAvailableError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def control_plane(binaries: Binaries) -> Iterator[ControlPlane]:
    """A real API server without controllers, so that nobody writes but the test."""
    with ControlPlane(binaries) as plane:
        yield plane
