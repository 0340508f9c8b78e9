"""Which problems of a Service the server names: those of its addresses alone, because it chooses addresses first."""

from __future__ import annotations

import pytest

from applyviz.engine.objects.exchange import JSON, Request
from tests.engine.planning.cluster import Box

PATH = "/api/v1/namespaces/default/services"
SERVICE = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}}
NO_PORT = {"ports": [{"port": 0}]}


def list_causes(answer):
    return [(cause["field"], cause["message"]) for cause in answer.body["details"]["causes"]]


@pytest.mark.parametrize("is_new", [True, False])
@pytest.mark.parametrize(
    ("unfit", "cause"),
    [
        (
            {"clusterIP": "nope"},
            (
                "spec.clusterIPs[0]",
                'Invalid value: "nope": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
            ),
        ),
        (
            {"ipFamilies": ["IPv9"]},
            ("spec.ipFamilies[0]", 'Unsupported value: "IPv9": supported values: "IPv4", "IPv6"'),
        ),
        (
            {"ipFamilyPolicy": "Many"},
            (
                "spec.ipFamilyPolicy",
                'Unsupported value: "Many": supported values: "PreferDualStack", "RequireDualStack", "SingleStack"',
            ),
        ),
    ],
)
def test_problem_of_an_address_hides_the_others(is_new, unfit, cause):
    box, body = Box(), {**SERVICE, "spec": {**NO_PORT, **unfit}}
    if is_new:
        answer = box.handle(Request("POST", PATH, {}, JSON, body))
    else:
        created = box.handle(Request("POST", PATH, {}, JSON, SERVICE))
        assert created.is_ok
        answer = box.handle(
            Request(
                "PUT", f"{PATH}/s", {}, JSON, {**created.body, "spec": {**created.body["spec"], **NO_PORT, **unfit}}
            )
        )

    assert list_causes(answer) == [cause]
