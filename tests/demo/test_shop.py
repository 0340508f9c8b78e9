"""The demo shop is whole: what its README promises about its size and its names."""

import re

import pytest

from applyviz.demo import load_channel, load_demo, load_shop
from applyviz.engine.channels.choosing import find_faults
from applyviz.engine.channels.reading import read_addons, take_channel_apart
from applyviz.engine.manifests.parse import parse_manifests


@pytest.mark.parametrize(("version", "count"), [("v1", 48), ("v2", 50)])
def test_shop_has_the_objects_its_readme_tells(version, count):
    text = b"\n".join(load_shop(version).values()).decode()

    assert len(re.findall(r"(?m)^kind: ", text)) == count


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_shop_files_come_in_order(version):
    names = list(load_shop(version))

    assert names == sorted(names)
    assert names[:2] == ["00-namespace.yaml", "05-promotions-crd.yaml"]


@pytest.mark.parametrize(("version", "release"), [("v1", "1.4.2"), ("v2", "1.5.0")])
def test_shop_images_are_short_invented_names(version, release):
    text = b"\n".join(load_shop(version).values()).decode()

    images = set(re.findall(r"image: (\S+)", text))

    assert images
    assert all(re.fullmatch(r"shop/[a-z]+:[0-9.]+", image) for image in images)
    assert {image.split(":")[1] for image in images} == {release, "7.2.1"}


def test_channel_names_its_manifests_with_their_hashes():
    offered, name = load_channel("offered"), "bootstrap-channel.yaml"

    addons, problems = read_addons(take_channel_apart(parse_manifests(offered[name], name)).channel)

    assert (problems, find_faults(addons, offered)) == ((), {})
    assert {addon.file for addon in addons} | {name} == set(offered)
    assert set(load_demo().installed) < set(offered)
