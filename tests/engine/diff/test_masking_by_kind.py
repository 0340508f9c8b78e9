"""Kinds that name the keys of Secrets, or hold ciphertext, stay readable; values beside them do not."""

from __future__ import annotations

import pytest

from applyviz.engine.diff.masking import MaskPolicy, is_masked, mask
from applyviz.engine.objects.refs import GroupVersionKind

REFERRING = {
    "ExternalSecret": (
        GroupVersionKind("external-secrets.io", "v1", "ExternalSecret"),
        {"spec": {"data": [{"secretKey": "password", "remoteRef": {"key": "prod/db", "property": "password"}}]}},
    ),
    "SealedSecret": (
        GroupVersionKind("bitnami.com", "v1alpha1", "SealedSecret"),
        {"spec": {"encryptedData": {"password": "AgBy3i4OJSWK+PiTySYZZA9rO43cGDEq"}}},
    ),
    "SecretProviderClass": (
        GroupVersionKind("secrets-store.csi.x-k8s.io", "v1", "SecretProviderClass"),
        {"spec": {"parameters": {"objects": "- objectName: db\n  secretKey: password\n"}}},
    ),
}


@pytest.mark.parametrize("kind", REFERRING)
def test_kinds_that_refer_to_secrets_or_encrypt_them_stay_readable(kind):
    gvk, obj = REFERRING[kind]

    assert mask(obj, gvk=gvk, tag_key=b"k" * 32, scope="") == obj
    elsewhere = mask(obj, gvk=GroupVersionKind("example.org", "v1", kind), tag_key=b"k" * 32, scope="")
    assert is_masked(elsewhere)


def test_values_beside_the_ciphertext_are_masked():
    gvk, obj = REFERRING["SealedSecret"]
    obj = {"spec": {**obj["spec"], "template": {"data": {"password": "in plain text"}}}}

    shown = mask(obj, gvk=gvk, tag_key=b"k" * 32, scope="")

    assert shown["spec"]["encryptedData"] == obj["spec"]["encryptedData"]
    assert is_masked(shown["spec"]["template"])


@pytest.mark.parametrize(
    "text", ["in plain text", "hunter22-hunter22-hunter22", "aHVudGVyMjJodW50ZXIyMmh1bnRlcjIy", "AgB-not-sealed"]
)
def test_what_was_not_encrypted_is_masked(text):
    """The author forgot to seal it: the server accepts any text."""
    gvk, obj = REFERRING["SealedSecret"]
    obj = {"spec": {"encryptedData": {"note": text, **obj["spec"]["encryptedData"]}}}

    shown = mask(obj, gvk=gvk, tag_key=b"k" * 32, scope="")

    assert text not in str(shown)
    assert shown["spec"]["encryptedData"]["password"] == obj["spec"]["encryptedData"]["password"]


def test_globs_of_a_policy_hide_ciphertext_too():
    gvk, obj = REFERRING["SealedSecret"]

    shown = mask(obj, gvk=gvk, tag_key=b"k" * 32, scope="", policy=MaskPolicy(paths=("spec.encryptedData.*",)))

    assert is_masked(shown["spec"]["encryptedData"])
