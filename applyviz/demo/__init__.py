"""The material of the demo: a web shop of a dozen services, as manifests in two versions, a new service that cannot
start, and a small kOps channel.

`shop/README.md` describes what the upgrade from v1 to v2 shows, `channel/README.md` what the update of the channel
shows. Both versions of the shop were applied to a real kube-apiserver v1.36.3, client-side and server-side, without an
error.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Literal

from msgspec import Struct

ShopVersion = Literal["v1", "v2", "trial"]
ChannelState = Literal["installed", "offered"]


class DemoMaterial(Struct, frozen=True):
    """The files of the demo, by name.

    - `first`, `second`: the versions of the shop; `trial`: the service that cannot start.
    - `installed`: the manifests of the addons that kOps applied; `channel`: the channel with its manifests.
    """

    first: Mapping[str, bytes]
    second: Mapping[str, bytes]
    trial: Mapping[str, bytes]
    installed: Mapping[str, bytes]
    channel: Mapping[str, bytes]


def _read_folder(folder: Traversable, above: str = "") -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for entry in folder.iterdir():
        if entry.is_dir():
            found |= _read_folder(entry, f"{above}{entry.name}/")
        elif entry.name.endswith(".yaml"):
            found[f"{above}{entry.name}"] = entry.read_bytes()
    return dict(sorted(found.items()))


def load_shop(version: ShopVersion) -> dict[str, bytes]:
    """Return the manifest files of one version of the shop, by file name, in the order of their names."""
    return _read_folder(files("applyviz.demo") / "shop" / version)


def load_channel(state: ChannelState) -> dict[str, bytes]:
    """Return the files of the channel, or of the addons that are installed, by their paths, in order."""
    return _read_folder(files("applyviz.demo") / "channel" / state)


def load_demo() -> DemoMaterial:
    """Return all files of the demo."""
    return DemoMaterial(
        load_shop("v1"), load_shop("v2"), load_shop("trial"), load_channel("installed"), load_channel("offered")
    )
