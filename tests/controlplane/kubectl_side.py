"""A story told by the real kubectl: the judge."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from applyviz.engine.requests.options import PRODUCT_MANAGER, ApplyMode
from tests.controlplane.comparison import JSONObject, make_comparable, read_objects
from tests.controlplane.controlplane import Server
from tests.controlplane.stories import DEFINITIONS, Files, Story


def run_with_kubectl(plane: Server, story: Story, mode: ApplyMode) -> list[dict[str, JSONObject]]:
    """Apply both versions; what was live after each, made comparable."""
    if not any(name in story.first for name in DEFINITIONS):
        plane.kubectl("create", "namespace", story.namespace)
    apply(plane, story.first, story.namespace, mode)
    after_first = read_objects(plane, story.first, story.namespace)
    story.between(plane)
    apply(plane, story.second, story.namespace, mode)
    after_second = read_objects(plane, story.second, story.namespace)
    return [make_comparable(objects, story.renamed) for objects in (after_first, after_second)]


def apply(plane: Server, files: Files, namespace: str, mode: ApplyMode) -> None:
    """`kubectl apply -f FOLDER`; definitions go first, because kubectl reads all kinds before it sends anything."""
    flags = ["-n", namespace, f"--field-manager={PRODUCT_MANAGER}"]
    if mode is ApplyMode.SERVER:
        flags += ["--server-side", "--force-conflicts"]
    definitions = {name: text for name, text in files.items() if name in DEFINITIONS}
    for group in (definitions, {name: text for name, text in files.items() if name not in definitions}):
        if not group:
            continue
        with tempfile.TemporaryDirectory() as folder:
            for name, text in group.items():
                Path(folder, name).write_text(text)
            plane.kubectl("apply", *flags, "-f", folder)
            if group is definitions:
                wait_until_established(plane, str(Path(folder, DEFINITIONS[1])))


def wait_until_established(plane: Server, path: str) -> None:
    """Wait until the server serves the kind that a file defines."""
    # By asking again and not by `kubectl wait`: a sandbox knows no watches.
    condition = 'jsonpath={.status.conditions[?(@.type=="Established")].status}'
    deadline = time.monotonic() + 30
    while plane.kubectl("get", "-f", path, "-o", condition).stdout != "True":
        assert time.monotonic() < deadline, f"{path} was not established in time"
        time.sleep(0.2)
