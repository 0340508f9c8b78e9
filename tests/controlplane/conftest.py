"""Two real control planes for the whole lane, one of them with controllers. A test may start another one."""

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


@pytest.fixture
def own_plane(binaries: Binaries) -> Iterator[ControlPlane]:
    """A real API server of this test alone, without what others create or define there."""
    with ControlPlane(binaries) as plane:
        yield plane


@pytest.fixture(scope="session")
def managed_plane(binaries: Binaries) -> Iterator[ControlPlane]:
    """A real control plane with its controllers; without a node no pod ever gets ready.

    Starting one takes several seconds of both processors, so tests share it: each uses namespaces of its own.
    """
    if binaries.controller_manager is None:
        pytest.skip("KUBEBUILDER_ASSETS brings no controller manager")
    with ControlPlane(binaries, has_manager=True) as plane:
        yield plane
