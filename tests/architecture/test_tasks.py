"""Every task that can be asked for exists, takes ids only, and no task exists that nobody can ask for."""

import inspect

from applyviz.celery import app
from applyviz.queue import TaskName


def own_tasks():
    app.loader.import_default_modules()
    return {name: task for name, task in app.tasks.items() if name.startswith("applyviz.")}


def test_every_task_name_is_registered():
    assert set(own_tasks()) == {name.value for name in TaskName}


def test_tasks_take_ids_and_nothing_else():
    for name, task in own_tasks().items():
        for parameter in inspect.signature(task.run).parameters.values():
            assert parameter.name.endswith("_id"), name
            assert parameter.annotation in (int, "int"), name


def test_the_clock_asks_for_tasks_that_exist():
    assert {entry["task"] for entry in app.conf.beat_schedule.values()} <= {name.value for name in TaskName}
