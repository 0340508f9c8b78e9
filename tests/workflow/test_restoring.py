"""After a restore, work from the time of the backup continues only if a person starts it."""

from datetime import timedelta
from io import StringIO

import pytest
from django.contrib.sessions.models import Session
from django.core import mail
from django.core.management import CommandError, call_command

from applyviz import clock
from applyviz.records.enums import (
    AuditAction,
    DeliveryState,
    NotificationKind,
    Role,
    RunState,
    ScheduledStartState,
    StartEnd,
)
from applyviz.records.models import ApplyRun, AuditEntry, Delivery, Notification, ScheduledStart
from applyviz.web.management import data_folder
from applyviz.workflow import notifications, runs
from applyviz.workflow.approvals import approving
from applyviz.workflow.audit import chain
from applyviz.workflow.notifications import choices, webhooks
from applyviz.workflow.notifications.choices import NotificationChannels
from applyviz.workflow.ops import recovery
from tests.builders import make_person
from tests.stories import Killed, Team, config_map, let_lease_run_out

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def home(settings, tmp_path):
    """A data folder of this test alone, which the command locks."""
    settings.APPLYVIZ_HOME = tmp_path
    return tmp_path


def die() -> None:
    raise Killed


def restored(reason: str = "the disk broke") -> str:
    out = StringIO()
    call_command("restored", "--reason", reason, stdout=out)
    return out.getvalue()


def interrupt(team: Team, at_point) -> ApplyRun:
    """A run whose worker stopped after its first object, as in a backup during a run."""
    run = team.start(team.plan(config_map("one", a="1"), config_map("two", b="2")))
    at_point("run.concluded", die, 1)
    with pytest.raises(Killed):
        runs.execute_run(run.pk)
    let_lease_run_out(run)
    return run


def test_run_in_progress_writes_nothing_more(team, at_point):
    run = interrupt(team, at_point)

    said = restored()
    team.work(run)

    assert (run.state, team.outcomes(run)) == (RunState.CANCELED, ["applied", "not-attempted"])
    assert len(team.wire.writes) == 1
    assert said.splitlines()[0] == f"Runs canceled: {run.number}"


def test_without_the_command_it_would_go_on(team, at_point):
    run = interrupt(team, at_point)

    team.work(run)

    assert team.outcomes(run) == ["applied", "applied"]


def test_scheduled_start_never_starts(team):
    plan = team.plan(config_map(a="1"))
    runs.schedule_start(plan, by=team.bob, digest=plan.digest, expires_at=clock.now() + timedelta(days=1))
    approving.approve_plan(plan, by=team.bob, digest=plan.digest)

    said = restored()
    recovery.recover()

    row = ScheduledStart.objects.get()
    assert (row.state, row.end, ApplyRun.objects.count()) == (ScheduledStartState.CANCELED, StartEnd.RESTORED, 0)
    assert "Scheduled starts canceled: 1" in said


def test_everybody_signs_in_again(team, client):
    client.force_login(team.alice)
    assert client.get("/").status_code == 200

    said = restored()

    assert (client.get("/").status_code, Session.objects.count()) == (302, 0)
    assert "Sessions ended: 1" in said


def test_restore_is_recorded_with_its_reason(team, at_point):
    run = interrupt(team, at_point)

    restored("the disk broke")

    entry = AuditEntry.objects.get(action=AuditAction.BACKUP_RESTORED)
    assert (entry.detail["reason"], entry.detail["runs"]) == ("the disk broke", [run.number])
    canceled = AuditEntry.objects.get(action=AuditAction.RUN_CANCELED)
    assert (canceled.run, canceled.detail) == (run.number, {"reason": "the disk broke"})
    assert chain.verify_chain().is_intact


def test_it_can_be_called_again(team, at_point):
    run = team.work(interrupt(team, at_point))

    restored()
    said = restored()

    assert run.state == RunState.APPLIED
    assert said.splitlines()[0] == "Runs canceled: none"


def test_reason_is_required():
    with pytest.raises(CommandError, match="give a reason"):
        restored("  ")


def choose_mail(person, settings) -> None:
    """Emails about plans that wait for this person, and about starts that were canceled."""
    settings.APPLYVIZ_MAIL, settings.APPLYVIZ_URL = True, "https://applyviz.example"
    person.email = "bob@example.com"
    person.save()
    channels = NotificationChannels(is_shown=True, is_mailed=True)
    kinds = (NotificationKind.NEEDS_YOU, NotificationKind.START_CANCELED)
    choices.choose(dict.fromkeys(kinds, channels), by=person)


def send_all_mail() -> None:
    recovery.recover()
    for pk in Notification.objects.exclude(mail_due_at=None).values_list("pk", flat=True):
        notifications.send_mail(pk)


@pytest.mark.core(1)
@pytest.mark.parametrize("is_notified", [True, False])
def test_no_email_of_before_is_sent(team, settings, is_notified):
    choose_mail(team.bob, settings)
    team.plan(config_map(a="1"))
    if is_notified:
        notifications.send_pending()

    said = restored()
    send_all_mail()

    assert (len(mail.outbox), "Emails not sent: 1" in said) == (0, True)
    assert Notification.objects.filter(person=team.bob, is_shown=True, read_at=None).count() == 1


def test_email_about_a_start_that_the_restore_canceled_is_sent(team, settings):
    choose_mail(team.bob, settings)
    plan = team.plan(config_map(a="1"))
    runs.schedule_start(plan, by=team.bob, digest=plan.digest, expires_at=clock.now() + timedelta(days=1))

    restored()
    send_all_mail()

    (sent,) = mail.outbox
    assert "canceled" in sent.body


def test_no_delivery_of_before_is_attempted_unless_repeated(team):
    root = make_person("root", Role.ADMINISTRATOR)
    webhook = webhooks.add_webhook(
        name="chat", url="https://hooks.example/in", secret="a-secret-of-the-webhook", events=[], by=root
    )
    team.plan(config_map(a="1"))
    notifications.send_pending()
    delivery = Delivery.objects.get()

    said = restored()
    notifications.deliver(delivery.pk)

    delivery.refresh_from_db()
    assert (delivery.state, delivery.attempts) == (DeliveryState.GIVEN_UP, 0)
    assert "restored from a backup" in delivery.error
    assert "Webhook deliveries not sent: 1" in said
    webhooks.deliver_again(webhook, delivery.pk, by=root)


def test_history_shows_the_restore(team, client):
    restored("the disk broke")
    client.force_login(make_person("root", Role.ADMINISTRATOR))

    page = client.get("/history/").content.decode()

    assert "restored the database from a backup" in page
    assert "the disk broke" in page


@pytest.mark.skipif("not __import__('django.conf').conf.settings.APPLYVIZ_IS_PERSONAL", reason="a team has no folder")
def test_running_installation_is_left_alone(team, home):
    with data_folder.lock(home), pytest.raises(CommandError, match="another applyviz uses the data folder"):
        restored()

    assert not AuditEntry.objects.filter(action=AuditAction.BACKUP_RESTORED).exists()
