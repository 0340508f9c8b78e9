"""Where one object's page is: the address names cluster, group, kind, namespace and name.

The core group is written `core`, a cluster-scoped object's namespace `-`; neither can be a real one's name.
"""

from __future__ import annotations

from django.urls import reverse

CORE, NO_NAMESPACE = "core", "-"


def link_object(cluster: str, group: str, kind: str, namespace: str, name: str) -> str:
    """The address of an object's page; "" for what has no name that an address could hold."""
    parts = [group or CORE, kind, namespace or NO_NAMESPACE, name]
    if not (cluster and kind and name) or any("/" in part or "\n" in part for part in parts):
        return ""
    return reverse("history:show-object", args=[cluster, *parts])
