"""The sentences of risks about the addons of a channel; `sentences.py` fills in their facts."""

from __future__ import annotations

from collections.abc import Mapping

from applyviz.engine.channels.sentences import NODE_GROUPS

_AGAIN = "The next run of kOps may change it again."


def skip(f: Mapping[str, str]) -> tuple[str, ...]:
    """Return why kOps skips an addon that is planned."""
    match f["rule"]:
        case "lower-version":
            return ("Addon {addon} goes from version {installed} back to {offered}, which kOps never does.", _AGAIN)
        case "newer-generation":
            return ("A newer version of kOps installed addon {addon}, and this one would skip it.", _AGAIN)
        case "other-kubernetes":
            return ("Addon {addon} is for Kubernetes {range}, and the server runs {kubernetes}: kOps skips it.",)
        case "unreadable-range":
            return ("Addon {addon} is for Kubernetes {range}, which is no range: kOps skips it.",)
    return ("Addon {addon} is installed with the same id and manifest: kOps skips it.",)


def roll(f: Mapping[str, str]) -> tuple[str, ...]:
    """Return which nodes an update needs replaced; `nodes` is empty where they could not be read."""
    need = f"The update of addon {{addon}} needs a rolling update of {NODE_GROUPS[f['group']]}"
    named = need + (": {nodes}." if f["nodes"] else ".")
    if f["marked"]:
        return (named, "The plan marks them, and the next rolling update of kOps replaces them with their pods.")
    return (named, "kOps marks them for it, applyviz does not: roll them yourself.")
