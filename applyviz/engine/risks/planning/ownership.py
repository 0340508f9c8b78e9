"""The consequences of each move of field ownership for later manifests, as risks say them."""

from __future__ import annotations

MOVES = {
    "handed": "{to} then owns {fields}: this manifest no longer manages it.",
    "forgotten": "last-applied forgets {fields}: applies of this manifest no longer set or remove it.",
    "unlisted": "last-applied forgets {fields}: the next client-side apply of a manifest without it keeps it.",
    "listed": "last-applied then has {fields}: the next client-side apply of a manifest without it removes it.",
    "cleared": (
        "Field ownership of {managers} is lost permanently. No apply conflicts with what they set until they write "
        "again, and the next server-side apply credits the rest to before-first-apply, so that fields dropped later "
        "stay."
    ),
    "taken": "{manager} then owns {fields}, and {source} no longer does.",
    "managers": (
        "{manager} takes over the fields of {source}: what the manifest does not set is removed, unless someone else "
        "owns it."
    ),
}
