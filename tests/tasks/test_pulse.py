"""The files that health checks look at: touched only while messages are taken and accepted."""

from __future__ import annotations

import pytest
from celery.signals import after_task_publish, beat_init

from applyviz import celery


@pytest.fixture
def pulse(tmp_path, settings):
    settings.APPLYVIZ_PULSE_FILE = str(tmp_path / "pulse")
    settings.CELERY_BROKER_URL = "redis://"
    yield tmp_path / "pulse"
    after_task_publish.disconnect(celery._touch)


def test_beat_touches_its_file_when_the_broker_accepts_a_message(pulse):
    beat_init.send(sender=None)
    assert not pulse.exists()

    after_task_publish.send(sender="applyviz.recover")
    assert pulse.exists()


def test_beat_without_a_broker_does_not_start(settings):
    settings.CELERY_BROKER_URL = "memory://"

    with pytest.raises(SystemExit, match="REDIS_URL: it is not set"):
        beat_init.send(sender=None)


def test_web_and_workers_touch_nothing_when_they_send(pulse):
    after_task_publish.send(sender="applyviz.recover")

    assert not pulse.exists()
