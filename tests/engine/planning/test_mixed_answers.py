"""What a server says of another object is no word about the one that is planned."""

import pytest

from applyviz.engine.objects.exchange import Answer
from applyviz.engine.planning.model.plan import Certainty, Operation
from applyviz.engine.requests.options import ApplyOptions
from tests.engine.planning.cluster import Box

SERVER = ApplyOptions()
CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: '1', z: '2'}\n"
_ANOTHER = "the server answered with something else than the object"


@pytest.mark.parametrize(
    "shown",
    [
        {"kind": "ConfigMap", "metadata": {"name": "somebody-elses", "namespace": "default"}},
        {"kind": "Secret", "metadata": {"name": "a", "namespace": "default"}},
        {"kind": "ConfigMap", "metadata": {"name": "a", "namespace": "elsewhere"}},
        {"kind": "ConfigMap"},
        ["ConfigMap"],
    ],
)
def test_answer_about_another_object_is_none(shown):
    """A broken gateway may mix answers up: nothing of somebody else's object is ever shown as this one."""
    box = Box()
    box.intercept = lambda request: Answer(200, shown) if request.is_dry_run else None
    tried = box.plan_one(CONFIG, SERVER)
    box.intercept = lambda request: Answer(200, shown) if request.method == "GET" else None
    read = box.plan_one(CONFIG, SERVER)

    assert (tried.certainty, tried.certainty_reason) == (Certainty.ESTIMATED, f"no answer to the dry run: {_ANOTHER}")
    assert tried.versions.after["metadata"]["name"] == "a"
    assert (read.operation, read.error) == (Operation.ERROR, f"the live object could not be read: {_ANOTHER}")
