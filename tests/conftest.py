"""What every test shares: reproducible random cases, and the way to data that lives outside the clone."""

import gc
import os
import ssl
import sys
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from django.test import Client, TransactionTestCase
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

from tests import moments
from tests.faults.reporting import pytest_sessionfinish, pytest_terminal_summary  # noqa: F401 - hooks of pytest
from tests.page_layout import flatten

if TYPE_CHECKING:
    from tests.e2e.conftest import Product

# Random cases are the same in every run of the suite; `HYPOTHESIS_PROFILE=explore` looks for new ones.
settings.register_profile("same", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("explore", deadline=None, max_examples=2_000)
if os.environ.get("HYPOTHESIS_PROFILE", "same") == "same":
    # Hypothesis also draws numbers and words of the modules that a process has loaded: the cases then depend on which
    # tests run beside each other, and a fresh clone spends five seconds of each lane on parsing its own source.
    providers._get_local_constants = Constants
# Of the cases of a test with the database, so many are part of every run where its marker `core` names no number.
CORE_CASES = 2
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))


def pytest_collection_finish() -> None:
    """Leave what is loaded by now out of the search for garbage, which would look through all of it again and again."""
    gc.collect()
    gc.freeze()
    # Tests make many values and few cycles, so searching a tenth as often costs half.
    gc.set_threshold(7_000)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Every test begins at the same moment, whatever the day, unless other programs that read the time take part."""
    if moments.needs_real_time(item):
        return (yield)
    with moments.at(moments.read_moment()):
        return (yield)


@pytest.fixture
def move_clock() -> Callable[[datetime], None]:
    """Set the clock of the test; it goes on from there."""
    return moments.move_to


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the cases of a test `long` that do not belong to its core: all but a number, which are spread evenly.

    A case that is named alone is never left out.
    """
    cases = dict[str, list[pytest.Item]]()
    for item in items:
        cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for found in cases.values():
        kept = min(count_core(found[0]), len(found))
        chosen = {number * len(found) // kept for number in range(kept)}
        for number, item in enumerate(found):
            if number not in chosen:
                item.add_marker(pytest.mark.long)


def count_core(item: pytest.Item) -> int:
    """Return how many cases of a test belong to its core.

    Its marker says so; else all do, or two when each fills a database, which takes most of the time of the lanes.
    """
    marker = item.get_closest_marker("core")
    if marker:
        return int(marker.args[0])
    fills = item.get_closest_marker("django_db") or "db" in getattr(item, "fixturenames", ())
    return CORE_CASES if fills else sys.maxsize


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name a case that is given bytes after its argument: an archive holds the time at which it was made.

    Processes that share a lane must collect the same names, and a failed case is found again by its name.
    """
    return argname if isinstance(val, bytes) else None


@pytest.fixture(scope="session")
def public_manifests() -> Path:
    """Real manifests of other projects, from the folder that `APPLYVIZ_MANIFESTS` names."""
    named = os.environ.get("APPLYVIZ_MANIFESTS")
    if not named:
        pytest.skip("APPLYVIZ_MANIFESTS is not set")
    folder = Path(named)
    assert folder.is_dir(), f"APPLYVIZ_MANIFESTS names {folder}, which is no folder"
    return folder


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[Product]":
    """The product with its demo, in a separate process with a separate home, shared by pictures and walks."""
    from tests.e2e.conftest import run_product  # noqa: PLC0415 - needs Playwright

    with run_product(tmp_path_factory.mktemp("product")) as found:
        yield found


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings_parallel_suffix: None) -> None:
    """Before the test database is made: it is migrated once for all test processes."""
    from tests.database import migrate_once  # noqa: PLC0415 - needs Django's settings

    migrate_once()


@pytest.fixture(autouse=True, scope="session")
def _authorities_of_this_machine_are_not_read() -> Iterator[None]:
    """Servers of tests have an authority of their own; reading those of the machine takes 40 ms per connection."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ssl.SSLContext, "load_default_certs", lambda *_: None)
        yield


@pytest.fixture(autouse=True, scope="session")
def _pages_are_read_without_their_line_breaks() -> None:
    """The test client returns pages as a browser reads them: how a template breaks its lines makes no difference."""
    ask = Client.request

    def ask_and_flatten(client: Client, **request: Any) -> Any:
        answer = ask(client, **request)
        if not answer.streaming and answer.get("Content-Type", "").startswith("text/html"):
            answer.content = flatten(answer.content)
        return answer

    Client.request = ask_and_flatten  # type: ignore[method-assign]


@pytest.fixture(autouse=True, scope="session")
def _emptying_lifts_guards() -> None:
    """Tests that commit are emptied afterwards, which the database itself refuses; `migrate` brings the guards back."""
    from applyviz.records import triggers as guards  # noqa: PLC0415 - needs Django's settings

    emptied = TransactionTestCase._fixture_teardown  # type: ignore[attr-defined]  # private in Django's stubs

    def lift_and_empty(case: TransactionTestCase) -> None:
        guards.lift("default")
        emptied(case)

    TransactionTestCase._fixture_teardown = lift_and_empty  # type: ignore[attr-defined]
