"""Does anything of a Secret leave a masked change in clear?"""

from __future__ import annotations

import json

from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.digest.serialize import change_to_json
from applyviz.engine.planning.objects.masking import mask_change
from applyviz.engine.requests.options import ApplyMode, ApplyOptions
from tests.engine.planning.cluster import Box

SECRET = (
    "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {password: correct-horse, user: alice-the-1st}\n"
)
KEY = b"t" * 32


def plan_change(mode: ApplyMode):
    box, options = Box(), ApplyOptions(mode=mode)
    box.apply(SECRET, options)
    return box.plan_one(SECRET.replace("correct-horse", "battery-staple"), options)


def test_no_value_is_left_in_clear():
    for mode in ApplyMode:
        change = replace(plan_change(mode), error="cannot take battery-staple", warnings=("correct-horse is weak",))

        text = json.dumps(change_to_json(mask_change(change, tag_key=KEY)))

        for value in ("correct-horse", "battery-staple", "YmF0dGVyeS1zdGFwbGU", "Y29ycmVjdC1ob3JzZQ"):
            assert value not in text


def test_same_and_changed_stay_visible():
    versions = mask_change(plan_change(ApplyMode.SERVER), tag_key=KEY).versions

    assert versions.live["data"]["user"] == versions.after["data"]["user"]
    assert versions.live["data"]["password"] != versions.after["data"]["password"]


def test_other_kinds_stay_readable():
    change = Box().plan_one("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: '1'}\n")

    assert mask_change(change, tag_key=KEY).versions == change.versions
