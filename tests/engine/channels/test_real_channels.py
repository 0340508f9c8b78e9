"""The choice for the channels that kOps v1.30.0 and v1.36.0 publish, against recorded annotations."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from applyviz.engine.channels.choosing import choose
from applyviz.engine.channels.model import Addon
from applyviz.engine.channels.reading import read_addons, take_channel_apart
from applyviz.engine.manifests.parse import parse_manifests
from tests.yaml_files import read_yaml

CASES = Path(__file__).parents[2] / "cases" / "channels"
FIELDS = ("version", "id", "manifestHash", "systemGeneration")


def read_channel(version: str) -> tuple[Addon, ...]:
    """Return the entries of a published channel."""
    data = (CASES / f"{version}.yaml").read_bytes()
    channel = take_channel_apart(parse_manifests(data, "bootstrap-channel.yaml")).channel
    assert channel is not None
    addons, problems = read_addons(channel)
    assert problems == ()
    return addons


def record(addon: Addon, fields: tuple[str, ...]) -> str:
    """Return the annotation of an installed addon with some fields."""
    values = (addon.version, addon.id, addon.manifest_hash, 1)
    return json.dumps({name: value for name, value in zip(FIELDS, values, strict=True) if name in fields and value})


@pytest.mark.parametrize("case", read_yaml(CASES / "choices.yaml"), ids=lambda case: case["about"])
def test_choice_for_a_real_channel(case):
    addons = read_channel(case["channel"])
    installed = read_channel(case["installed"]) if "installed" in case else ()
    annotations = {one.annotation: record(one, tuple(case.get("write", FIELDS))) for one in installed}
    hashes = {one.name: one.manifest_hash for one in installed}
    for name, text in case.get("edited", {}).items():
        annotations[f"addons.k8s.io/{name}"] = text.replace("CURRENT", hashes.get(name, ""))

    found = choose(addons, kubernetes=case["kubernetes"], annotations={"kube-system": annotations}, faults={})

    assert Counter(one.reason.value for one in found) == case["rules"]
    rules = {one.addon.name: one.reason.value for one in found}
    assert {name: rules[name] for name in case.get("named", {})} == case.get("named", {})
