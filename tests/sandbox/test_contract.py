"""The sandbox keeps the contract of an API server, story by story."""

from datetime import UTC, datetime

import pytest

from applyviz.sandbox.api.server import Sandbox
from applyviz.sandbox.storage.store import MemoryStore
from tests.sandbox.contract import CONTROLLED, judge_story, list_stories, load_story


@pytest.mark.parametrize("name", list_stories())
def test_sandbox_keeps_the_contract(name):
    sandbox = Sandbox(MemoryStore(), lambda: datetime(2026, 1, 2, tzinfo=UTC), has_controllers=False)

    differences = judge_story(load_story(name), sandbox.handle, "n-contract")

    assert differences == []


@pytest.mark.parametrize("name", list_stories(CONTROLLED))
def test_controllers_of_a_sandbox_keep_the_contract(name):
    sandbox = Sandbox(MemoryStore(), lambda: datetime(2026, 1, 2, tzinfo=UTC))

    differences = judge_story(load_story(name, CONTROLLED), sandbox.handle, "n-contract")

    assert differences == []
