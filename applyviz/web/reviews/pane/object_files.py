"""The files that an object alone offers: its versions, the bodies of its requests, commands, and patches.

Everything is masked: a command with a masked value could not be run, so it is not offered.
"""

from __future__ import annotations

import re

from applyviz.engine.planning.conflicts.file_edits import FilePatch
from applyviz.engine.planning.model.plan import PlannedObject
from applyviz.engine.requests.options import ApplyOptions
from applyviz.web.components.readable_yaml import render_yaml
from applyviz.web.reviews.pane.kubectl import NAME, write_command
from applyviz.web.reviews.pane.requests import render_body, write_curl
from applyviz.web.reviews.pane.yaml_document import VERSION_WORDS

_REQUEST = re.compile(r"request-([1-9][0-9]{0,3})\.(yaml|sh)")


def render_file(change: PlannedObject, options: ApplyOptions, name: str) -> str:
    """Return the text of a file by its name; "" for an unknown name."""
    if name == NAME:
        return write_command(change, options)
    found = _REQUEST.fullmatch(name)
    if found is not None:
        number = int(found[1])
        if number > len(change.requests):
            return ""
        request = change.requests[number - 1]
        return render_body(request) if found[2] == "yaml" else write_curl(request)
    version = name.removesuffix(".yaml")
    obj = getattr(change.versions, version) if version in VERSION_WORDS and name.endswith(".yaml") else None
    return "" if obj is None else render_yaml(obj)


def name_file(change: PlannedObject, name: str) -> str:
    """Return the file name for a download: kind and name of the object, and the content."""
    text = f"{change.ref.gvk.kind}-{change.ref.name}-{name}".lower()
    return re.sub(r"[^0-9a-z._-]+", "-", text)[:200]


def find_patch(change: PlannedObject, of: str, index: int, option: int) -> FilePatch | None:
    """Return the patch or None; `option` counts the options of an open field from 1."""
    if of == "all":
        return change.patch
    if of == "answers" and index < len(change.answers):
        return change.answers[index].patch
    if of == "open" and index < len(change.open_fields) and 0 < option <= len(change.open_fields[index].options):
        return change.open_fields[index].options[option - 1].patch
    return None
