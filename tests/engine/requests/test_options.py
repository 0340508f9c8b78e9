"""What the options of an apply say about themselves."""

from __future__ import annotations

import pytest

from applyviz.engine.requests.options import ApplyOptions, SetAction


@pytest.mark.parametrize("action", SetAction)
def test_only_an_apply_applies(action: SetAction) -> None:
    assert ApplyOptions(action=action).is_applying is (action is SetAction.APPLY)
