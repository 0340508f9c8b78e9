"""Identities: what may be impersonated, and that every request carries it."""

from __future__ import annotations

import pytest
from kubernetes import client

from applyviz.clusters.identity import Identity, find_identity_problems
from applyviz.clusters.live import LiveTransport
from applyviz.engine.objects.errors import ClusterError
from applyviz.engine.objects.exchange import Request

FORBIDDEN = [
    "", " ", "\t", "\n", "jane ", " jane", "jane\nX-Remote-User: admin", "jane\r", "jane\x00", "jané", "x" * 254,
    "system:masters", "system:admin", "system:anonymous", "system:node:n1", "system:serviceaccount:kube-system:a",
    "system:serviceaccount:", "system:serviceaccount:shop", "system:serviceaccount::a", "system:serviceaccount:a:b:c",
    "system:", "system:kube-controller-manager", None, True, 7, 1.5, ["jane"], {"user": "jane"}, (), b"jane",
]  # fmt: skip
FORBIDDEN_GROUPS = [
    [""], [" "], ["a", ""], ["system:masters"], ["dev", "system:authenticated"], ["a\nb"], ["a\r\nImpersonate-User: x"],
    [None], [7], [["a"]], "dev", None, 7, {"dev": True}, ["x" * 254], ["g"] * 33, ["é"],
]  # fmt: skip


@pytest.mark.parametrize("user", FORBIDDEN, ids=repr)
def test_forbidden_user_is_refused_before_anything_is_sent(user):
    assert list(find_identity_problems(user, ()))
    if isinstance(user, str) and user:
        with pytest.raises(ClusterError):
            Identity(user).list_headers()


@pytest.mark.parametrize("groups", FORBIDDEN_GROUPS, ids=repr)
def test_forbidden_group_is_refused(groups):
    assert list(find_identity_problems("jane", groups))


@pytest.mark.parametrize("user", ["jane", "jane@example.com", "oidc:jane doe", "system:serviceaccount:shop:deployer"])
def test_user_is_taken(user):
    assert list(find_identity_problems(user, ["dev", "on call"])) == []


def test_groups_without_a_user_are_no_identity():
    with pytest.raises(ClusterError):
        Identity("", ("dev",)).list_headers()


def test_every_request_carries_the_identity_and_each_group_by_itself():
    own = LiveTransport(client.Configuration(host="https://localhost:1"))
    acting = own.acting_as(Identity("jane", ("dev", "on call")))
    sent = [
        list(acting._headers(request).items())
        for request in (Request("GET", "/api"), Request("PATCH", "/x", content_type="application/json", body={}))
    ]

    expected = [("Impersonate-User", "jane"), ("Impersonate-Group", "dev"), ("Impersonate-Group", "on call")]
    assert [[pair for pair in headers if pair[0].startswith("Imp")] for headers in sent] == [expected, expected]
    assert "Impersonate-User" not in own._headers(Request("GET", "/api"))


def test_identity_reads_back_as_it_was_kept():
    identity = Identity("jane", ("b", "a"))

    assert Identity.from_json(identity.to_json()) == identity
    assert Identity.from_json({}) == Identity()
    assert (str(identity), str(Identity())) == ("jane (b, a)", "cluster credential")
