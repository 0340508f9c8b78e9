"""The addresses that git repositories and charts may be fetched from: those of links, with more time."""

from __future__ import annotations

from django.conf import settings

from applyviz.sources.pinned import FetchPolicy

_SECONDS = 25.0


def make_policy() -> FetchPolicy:
    """Return the addresses that may be connected to: those of links."""
    return FetchPolicy(
        internal=settings.APPLYVIZ_LINK_HOSTS, ca_file=settings.APPLYVIZ_LINK_CA_FILE, total_seconds=_SECONDS
    )
