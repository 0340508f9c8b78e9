"""The upgrades that product and kubectl both run: which files, in which namespace, and who else writes between.

The same files serve both sides: the namespace and the API group of the shop's custom resources are renamed in
the text, because a definition is there once per cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from applyviz.demo import load_shop
from tests.controlplane.controlplane import Server

Files = Mapping[str, str]
DEFINITIONS = ("00-namespace.yaml", "05-promotions-crd.yaml")


@dataclass(frozen=True)
class Story:
    """Two versions of one set, and what others write between them."""

    name: str
    namespace: str
    first: Files
    second: Files
    renamed: Mapping[str, str] = field(default_factory=dict)
    between: Callable[[Server], None] = lambda plane: None


def tell_shop(tag: str) -> Story:
    """The demo's upgrade in a namespace of its own: an autoscaler scales, and somebody sets an image."""
    namespace, group = f"shop-{tag}", f"{tag}.shops.example.com"
    renamed = {namespace: "shop", group: "shop.example.com"}

    def between(plane: Server) -> None:
        plane.kubectl("scale", "-n", namespace, "deployment/frontend", "--replicas=5")
        plane.kubectl("set", "image", "-n", namespace, "deployment/checkout", "checkout=shop/checkout:1.4.3-hotfix")

    first, second = (_rename_shop(load_shop(version), namespace, group) for version in ("v1", "v2"))
    return Story("shop", namespace, first, second, renamed, between)


def _rename_shop(files: Mapping[str, bytes], namespace: str, group: str) -> Files:
    def rename(text: str) -> str:
        text = text.replace("namespace: shop\n", f"namespace: {namespace}\n")
        text = text.replace(
            "kind: Namespace\nmetadata:\n  name: shop\n", f"kind: Namespace\nmetadata:\n  name: {namespace}\n"
        )
        return (
            text.replace("group: shop.example.com\n", f"group: {group}\n")
            .replace("name: promotions.shop.example.com\n", f"name: promotions.{group}\n")
            .replace("apiVersion: shop.example.com/v1\n", f"apiVersion: {group}/v1\n")
            .replace("- shop.example.com\n", f"- {group}\n")
        )

    return {name: rename(data.decode()) for name, data in files.items()}


def tell_boutique(folder: Path, tag: str) -> Story:
    """The upgrade of online-boutique, whose manifests name no namespace."""
    namespace = f"boutique-{tag}"
    first, second = (
        {"manifests.yaml": (folder / "online-boutique" / f"{version}.yaml").read_text()}
        for version in ("v0.8.0", "v0.10.1")
    )
    return Story("online-boutique", namespace, first, second, {namespace: "boutique"})
