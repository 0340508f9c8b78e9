"""Text that is no JSON holds a Secret unless it only refers to Secrets, which YAML without doubt can show."""

from __future__ import annotations

import pytest

from applyviz.engine.diff.embedded import looks_secret

ABOUT = "apiVersion: example.com/v1\nkind: Policy\nmetadata: {name: a}\n"


@pytest.mark.parametrize(
    "text",
    [
        f"{ABOUT}target: {{kind: Secret, name: db, namespace: shop}}\n",
        f"{ABOUT}rules:\n- kind: Secret\n  name: db\n- kind: ConfigMap\n  size: 3\n",
        f"{ABOUT}# which one\ntarget: {{kind: Secret, name: db}}\n",
        f"{ABOUT}note: the secret of a good soup\n",
    ],
)
def test_references_to_secrets_are_none(text):
    assert not looks_secret(text)


@pytest.mark.parametrize(
    "text",
    [
        "kind: Secret\nmetadata: {name: a}\nopening: q7Rz0xWv\n",
        f"{ABOUT}target: {{kind: Secret, name: db}}\nlines: ['kind: Secret', 'opening: q7Rz0xWv']\n",
        f"{ABOUT}target: {{kind: Secret, name: db}}\n? [kind, Secret]\n: q7Rz0xWv\n",
        f"{ABOUT}target: {{kind: Secret, name: db}}\n# kind: Secret, opening: q7Rz0xWv\n",
        f"{ABOUT}target: {{kind: Secret, name: db\n",
    ],
)
def test_what_has_a_value_or_cannot_be_read_counts_as_a_secret(text):
    assert looks_secret(text)
