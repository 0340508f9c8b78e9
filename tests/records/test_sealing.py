"""Sealed content prints nothing, opens under every key, and never becomes plain by accident."""

import json

import pytest
from cryptography.fernet import Fernet

from applyviz.records.models import SandboxObject
from applyviz.records.sealing import Sealed, SealError
from tests.builders import make_cluster_row


def test_sealed_prints_nothing():
    sealed = Sealed.of_json({"password": "s3cr3t"})

    assert (str(sealed), repr(sealed), f"{sealed}") == ("<sealed>", "<sealed>", "<sealed>")
    with pytest.raises(TypeError):
        json.dumps(sealed)


def test_every_key_opens_and_the_first_seals(settings):
    older, newer = Fernet.generate_key().decode(), Fernet.generate_key().decode()
    settings.APPLYVIZ_ENCRYPTION_KEYS = [older]
    sealed = Sealed.of_bytes(b"content")
    settings.APPLYVIZ_ENCRYPTION_KEYS = [newer, older]

    moved = sealed.resealed()
    settings.APPLYVIZ_ENCRYPTION_KEYS = [newer]

    assert moved.open_bytes() == b"content"
    with pytest.raises(SealError):
        sealed.open_bytes()


def test_numbers_keep_their_form():
    value = {"whole": 1, "float": 1.0, "big": 2**60, "order": {"b": 1, "a": 2}}

    opened = Sealed.of_json(value).open_json()

    assert json.dumps(opened) == json.dumps(value)


@pytest.mark.django_db
def test_column_takes_sealed_content_only():
    row = SandboxObject(cluster=make_cluster_row(), plural="secrets", name="s", body=b"plain")

    with pytest.raises(TypeError, match="expected Sealed"):
        row.save()
