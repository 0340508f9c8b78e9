"""Names of live objects that a person or a program brings under review together."""

from __future__ import annotations

from django.utils.translation import gettext as _

from applyviz.workflow.foundation.errors import NotValidError

MOST_ADOPTED = 100
"""The most objects of one review."""


def read_name(text: str) -> dict[str, str]:
    """Return the group, kind, namespace and name of `core/ConfigMap/shop/settings`; raises `NotValidError`."""
    parts = text.split("/")
    if len(parts) != 4 or not (parts[0] and parts[1] and parts[3]) or "\0" in text:
        raise NotValidError(_("%(text)s names no object: write group/kind/namespace/name") % {"text": text[:200]})
    group, kind, namespace, name = parts
    return {"group": "" if group == "core" else group, "kind": kind, "namespace": namespace, "name": name}
