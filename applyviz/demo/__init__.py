"""The material of the demo: a web shop of a dozen services, as manifests in two versions, and a
new service that cannot start.

`shop/README.md` describes what the upgrade from v1 to v2 shows. Both versions were applied to a real kube-apiserver
v1.36.3, client-side and server-side, without an error.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Literal

ShopVersion = Literal["v1", "v2", "trial"]


def load_shop(version: ShopVersion) -> dict[str, bytes]:
    """Return the manifest files of one version of the shop, by file name, in the order of their names."""
    folder = files("applyviz.demo") / "shop" / version
    found = {entry.name: entry.read_bytes() for entry in folder.iterdir() if entry.name.endswith(".yaml")}
    return dict(sorted(found.items()))
