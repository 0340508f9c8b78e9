"""Addresses of all pages, grouped by the object in the path."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib.auth.views import LogoutView
from django.http.response import HttpResponseBase
from django.urls import URLPattern, include, path

from applyviz.web.accounts import own_identities
from applyviz.web.accounts import views as accounts
from applyviz.web.api import following as api_following
from applyviz.web.api import guard, pushes
from applyviz.web.api import reviewers as api_reviewers
from applyviz.web.api import views as api
from applyviz.web.clusters.views import adoption, clusters, manage
from applyviz.web.frame import worker_requests
from applyviz.web.guide import views as guide
from applyviz.web.history.views import entries, evidence
from applyviz.web.home import views as home
from applyviz.web.notifications import views as notifications
from applyviz.web.playground import question_views as playground_questions
from applyviz.web.playground import views as playground
from applyviz.web.reviews.pages.tabs import ReviewTab
from applyviz.web.reviews.views import (
    acknowledgments,
    approvals,
    change_record,
    changes,
    comments,
    comparison,
    conflict_rules,
    downloads,
    following,
    handovers,
    live,
    object_choices,
    presets,
    resolutions,
    reviewers,
    reviews,
    run_graph,
    tabs,
)
from applyviz.web.runs import views as runs
from applyviz.web.search import views as search
from applyviz.web.settings.views import (
    commit_identities,
    impersonation,
    installation,
    people,
    policies,
    push_webhooks,
    repositories,
    tokens,
    webhooks,
)


def _of_plan(route: str, view: Callable[..., HttpResponseBase], *, name: str, **given: object) -> URLPattern:
    """Return an address below that of a plan; its view gets what is given besides."""
    return path(f"<int:number>/plans/<int:plan>/{route}", view, given, name=name)


plan_urls = [  # reviews/<review>/plans/<plan>/
    _of_plan("replan/", reviews.replan, name="replan"),
    _of_plan("", tabs.show_plan, name="show-plan"),
    _of_plan("<int:position>/choose/", object_choices.choose, name="choose-object"),
    _of_plan("replace/", object_choices.replace_objects, name="replace-objects"),
    _of_plan("addons/choose/", object_choices.choose_addon, name="choose-addon"),
    _of_plan("others/", object_choices.plan_others, name="plan-others"),
    _of_plan("overview/", tabs.show_tab, name="show-overview", tab=ReviewTab.OVERVIEW),
    _of_plan("changes/", tabs.show_tab, name="show-changes", tab=ReviewTab.CHANGES),
    _of_plan("changes/list/", changes.list_changes, name="list-changes"),
    _of_plan("changes/objects/", changes.scroll_objects, name="scroll-objects"),
    _of_plan("changes/viewed/", changes.mark_viewed, name="mark-viewed"),
    _of_plan("source/", comparison.show_source_changes, name="show-source-changes"),
    _of_plan("addons/", tabs.show_tab, name="show-addons", tab=ReviewTab.ADDONS),
    _of_plan("graph/", tabs.show_tab, name="show-graph", tab=ReviewTab.GRAPH),
    _of_plan("graph.svg", downloads.export_graph, name="export-graph"),
    _of_plan("owners/", tabs.show_tab, name="show-owners", tab=ReviewTab.OWNERS),
    _of_plan("requests/", tabs.show_tab, name="show-requests", tab=ReviewTab.REQUESTS),
    _of_plan("activity/", tabs.show_tab, name="show-activity", tab=ReviewTab.ACTIVITY),
    _of_plan("watch/", live.show_watch, name="show-watch"),
    _of_plan("verify/", live.verify, name="verify-plan"),
    _of_plan("record/compare/", change_record.compare_file, name="compare-file"),
    _of_plan("record/", change_record.show_record, name="show-record"),
    _of_plan("requests.zip", downloads.keep_requests, name="keep-requests"),
    _of_plan("events/", reviews.stream_arrivals, name="plan-events"),
    _of_plan("comments/", comments.add_comment, name="add-comment"),
    _of_plan("comments/collected/", comments.show_collected, name="collected-comments"),
    _of_plan("comments/collected/<int:comment>/remove/", comments.drop_comment, name="drop-comment"),
    _of_plan("risks/", acknowledgments.show_risks, name="show-risks"),
    _of_plan("acknowledge/", acknowledgments.acknowledge, name="acknowledge"),
    _of_plan("acknowledge/all/", acknowledgments.acknowledge_all, name="acknowledge-all"),
    _of_plan("acknowledge/withdraw/", acknowledgments.withdraw, name="withdraw-acknowledgment"),
    _of_plan("confirm/", approvals.confirm_plan, name="confirm-plan"),
    _of_plan("withdraw/", approvals.withdraw, name="withdraw-request"),
    _of_plan("emergency-apply/", approvals.start_emergency_apply, name="emergency-apply"),
    _of_plan("revoke/", approvals.revoke, name="revoke-approval"),
    _of_plan("apply/", approvals.apply_plan, name="apply-plan"),
    _of_plan("schedule/", approvals.schedule, name="schedule-start"),
    _of_plan("schedule/cancel/", approvals.cancel_start, name="cancel-start"),
    _of_plan("objects/<int:position>/resolve/", resolutions.resolve, name="resolve-conflict"),
    _of_plan("objects/<int:position>/rule/", conflict_rules.propose_rule, name="propose-rule"),
    _of_plan("objects/<int:position>/hand-over/", handovers.hand_over, name="hand-over"),
    _of_plan("objects/<int:position>/take/", handovers.take_fields, name="take-fields"),
    _of_plan("objects/<int:position>/last-applied/", handovers.edit_last_applied, name="edit-last-applied"),
    _of_plan("ownership/", handovers.move_ownership, name="move-ownership"),
    _of_plan(
        "objects/<int:position>/patches/<slug:of>/<int:index>/<int:option>/", resolutions.show_patch, name="show-patch"
    ),
    _of_plan("objects/<int:position>/edited/<slug:of>/<int:index>/", resolutions.show_edited, name="show-edited"),
    _of_plan("live/", live.show_comparison, name="live-comparison"),
    _of_plan("resolve/", resolutions.resolve_everywhere, name="resolve-everywhere"),
    _of_plan("resolutions/<int:index>/undo/", resolutions.undo, name="undo-resolution"),
    _of_plan("objects/<int:position>/files/<str:name>", downloads.show_file, name="show-file"),
    _of_plan("objects/<int:position>/lines/", comments.show_line_thread, name="line-comments"),
    _of_plan("objects/<int:position>/fields/<int:index>/comments/", comments.show_thread, name="field-comments"),
    _of_plan("objects/<int:position>/fields/<int:index>/", reviews.show_field, name="show-field"),
]
review_urls = [  # reviews/
    path("", reviews.list_reviews, name="list-reviews"),
    path("new/", reviews.add_review, name="add-review"),
    path("new/check/", reviews.check_source, name="check-source"),
    path("<int:number>/", tabs.show_review, name="show-review"),
    path("<int:number>/overview/", tabs.show_latest_overview, name="show-latest-overview"),
    path("<int:number>/manifests/", reviews.replace_manifests, name="replace-manifests"),
    path("<int:number>/close/", reviews.close, name="close-review"),
    path("<int:number>/follow/", following.follow_branch, name="follow-branch"),
    path("<int:number>/reviewers/", reviewers.request_reviewers, name="request-reviewers"),
    path("<int:number>/compare/", comparison.compare_plans, name="compare-plans"),
    path("<int:number>/comments/<int:comment>/", comments.edit_comment, name="edit-comment"),
    path("<int:number>/comments/<int:comment>/resolve/", comments.resolve_comment, name="resolve-comment"),
    *plan_urls,
]
run_urls = [  # runs/
    path("", runs.list_runs, name="list-runs"),
    path("<int:number>/", runs.show_run, name="show-run"),
    path("<int:number>/events/", runs.stream_moves, name="run-events"),
    path("<int:number>/graph/", run_graph.show_run_graph, name="show-graph"),
    path("<int:number>/live/", runs.show_live, name="show-live"),
    path("<int:number>/requests/", runs.list_requests, name="list-requests"),
    path("<int:number>/cancel/", runs.cancel, name="cancel-run"),
    path("<int:number>/retry/", runs.retry, name="retry-run"),
    path("<int:number>/undo/", runs.undo, name="undo-run"),
    path("<int:number>/objects/<int:position>/", runs.show_result, name="show-result"),
]
history_urls = [  # history/
    path("", entries.list_entries, name="list-entries"),
    path("<int:number>/", entries.show_entry, name="show-entry"),
    path("people/<path:name>/", entries.show_person, name="show-person"),
    path("clusters/<slug:slug>/", entries.show_cluster, name="show-cluster"),
    path("managers/<path:name>/", entries.show_manager, name="show-manager"),
    path("export/<slug:form>/", entries.export, name="export-entries"),
    path("verify/", entries.verify, name="verify-chain"),
    path("evidence/", evidence.show_evidence, name="show-evidence"),
    path("evidence/export/<slug:form>/", evidence.export, name="export-evidence"),
    path("retention/", evidence.list_retention, name="list-retention"),
    path("retention/<int:pk>/end/", evidence.end_retention, name="end-retention"),
    path(
        "objects/<slug:cluster>/<str:group>/<str:kind>/<str:namespace>/<str:name>/",
        entries.show_object,
        name="show-object",
    ),
]
cluster_urls = [  # clusters/
    path("", clusters.list_clusters, name="list-clusters"),
    path("new/", clusters.add_cluster, name="add-cluster"),
    path("contexts/", clusters.add_own_context, name="add-own-context"),
    path("<slug:slug>/", clusters.show_cluster, name="show-cluster"),
    path("<slug:slug>/objects/", clusters.show_objects, name="show-objects"),
    path("<slug:slug>/managers/", clusters.show_managers, name="show-managers"),
    path("<slug:slug>/applysets/", clusters.show_applysets, name="show-applysets"),
    path("<slug:slug>/runs/", clusters.show_runs, name="show-runs"),
    path("<slug:slug>/settings/", clusters.show_settings, name="show-settings"),
    path("<slug:slug>/kubeconfig/", clusters.download_kubeconfig, name="download-kubeconfig"),
    path("<slug:slug>/state/", clusters.show_state, name="show-state"),
    path("<slug:slug>/manage/", manage.show_management, name="manage-cluster"),
    path("<slug:slug>/manage/credential/", manage.replace_credential, name="replace-credential"),
    path("<slug:slug>/manage/connection/", manage.check_connection, name="test-connection"),
    path("<slug:slug>/manage/name/", manage.rename, name="rename-cluster"),
    path("<slug:slug>/manage/pause/", manage.pause, name="pause-cluster"),
    path("<slug:slug>/manage/resume/", manage.resume, name="resume-cluster"),
    path("<slug:slug>/manage/archive/", manage.archive, name="archive-cluster"),
    path("<slug:slug>/manage/restore/", manage.restore, name="restore-cluster"),
    path("<slug:slug>/simulation/", clusters.set_simulation, name="set-simulation"),
    path("<slug:slug>/masking/", clusters.set_masking, name="set-masking"),
    path("<slug:slug>/adopt/", adoption.adopt_objects, name="adopt-objects"),
    path("<slug:slug>/scan/", clusters.scan, name="scan-cluster"),
    path("<slug:slug>/findings/<slug:sort>/", clusters.list_findings, name="list-findings"),
    path("<slug:slug>/managers/<path:manager>/", clusters.show_manager, name="field-manager"),
    path(
        "<slug:slug>/adopt/<str:group>/<str:kind>/<str:namespace>/<str:name>/",
        adoption.adopt_object,
        name="adopt-object",
    ),
    path("<slug:slug>/rules/", conflict_rules.list_rules, name="list-rules"),
    path("<slug:slug>/rules/<int:number>/agree/", conflict_rules.agree_rule, name="agree-rule"),
    path("<slug:slug>/rules/<int:number>/decline/", conflict_rules.decline_rule, name="decline-rule"),
    path("<slug:slug>/rules/<int:number>/revoke/", conflict_rules.revoke_rule, name="revoke-rule"),
]
guide_urls = [  # guide/
    path("", guide.show_guide, name="show-guide"),
    path("<slug:page>/", guide.show_page, name="show-page"),
]
playground_urls = [  # playground/
    path("", playground.ask, name="ask"),
    path("sets/", playground_questions.ask_set, name="ask-set"),
    path("sets/<slug:key>/", playground_questions.show_set, name="show-set"),
    path("channels/", playground_questions.ask_channel, name="ask-channel"),
    path("channels/<slug:key>/", playground_questions.show_channel, name="show-channel"),
    path("<slug:key>/", playground.show_answer, name="show-answer"),
    path("<slug:key>/fields/<int:index>/", playground.show_field, name="show-field"),
    path("<slug:key>/<slug:tab>/", playground.show_tab, name="show-tab"),
]
notification_urls = [  # notifications/
    path("", notifications.list_notifications, name="list-notifications"),
    path("bell/", notifications.show_bell, name="show-bell"),
    path("read/", notifications.read_all, name="read-all"),
    path("choices/", notifications.edit_choices, name="edit-choices"),
    path("<int:number>/", notifications.open_notification, name="open-notification"),
]
worker_request_urls = [  # worker-requests/
    path("<int:number>/", worker_requests.show_worker_request, name="show-worker-request"),
]
settings_urls = [  # settings/
    path("installation/", installation.show_installation, name="show-installation"),
    path("identities/", impersonation.list_identities, name="list-identities"),
    path("identities/new/", impersonation.add_identity, name="add-identity"),
    path("identities/<int:pk>/end/", impersonation.end_identity, name="end-identity"),
    path("tokens/", tokens.list_tokens, name="list-tokens"),
    path("tokens/new/", tokens.add_token, name="add-token"),
    path("tokens/accounts/new/", tokens.add_account, name="add-account"),
    path("tokens/<int:pk>/revoke/", tokens.revoke_token, name="revoke-token"),
    path("webhooks/", webhooks.list_webhooks, name="list-webhooks"),
    path("webhooks/new/", webhooks.add_webhook, name="add-webhook"),
    path("webhooks/<int:number>/", webhooks.show_webhook, name="show-webhook"),
    path("webhooks/<int:number>/delete/", webhooks.delete_webhook, name="delete-webhook"),
    path("webhooks/<int:number>/try/", webhooks.try_webhook, name="try-webhook"),
    path("webhooks/<int:number>/deliveries/<int:delivery>/again/", webhooks.deliver_again, name="deliver-again"),
    path("repositories/", repositories.list_repositories, name="list-repositories"),
    path("repositories/new/", repositories.add_repository, name="add-repository"),
    path("repositories/<int:number>/", repositories.show_repository, name="show-repository"),
    path("repositories/<int:number>/try/", repositories.try_repository, name="try-repository"),
    path("repositories/<int:number>/remove/", repositories.remove_repository, name="remove-repository"),
    path("presets/", presets.list_presets, name="list-presets"),
    path("presets/new/", presets.add_preset, name="add-preset"),
    path("presets/<slug:slug>/", presets.show_preset, name="show-preset"),
    path("presets/<slug:slug>/archive/", presets.archive_preset, name="archive-preset"),
    path("repositories/pushes/new/", push_webhooks.add_webhook, name="add-repository-push"),
    path("repositories/pushes/<int:number>/", push_webhooks.show_webhook, name="show-repository-push"),
    path("repositories/pushes/<int:number>/secret/", push_webhooks.rotate_secret, name="rotate-repository-push"),
    path("repositories/pushes/<int:number>/remove/", push_webhooks.remove_webhook, name="remove-repository-push"),
    path("policies/", policies.list_policies, name="list-policies"),
    path("policies/new/", policies.add_policy, name="add-policy"),
    path("policies/<slug:slug>/", policies.show_policy, name="show-policy"),
    path("policies/<slug:slug>/edit/", policies.edit_policy, name="edit-policy"),
    path("policies/<slug:slug>/archive/", policies.archive_policy, name="archive-policy"),
    path("calendar/", policies.show_calendar, name="show-calendar"),
    path("people/", people.list_people, name="list-people"),
    path("people/new/", people.add_person, name="add-person"),
    path("people/pending/", people.list_pending, name="list-pending"),
    path("people/pending/<int:number>/confirm/", people.confirm_pending, name="confirm-pending"),
    path("people/pending/<int:number>/decline/", people.decline_pending, name="decline-pending"),
    path("people/<str:name>/", people.show_person, name="show-person"),
    path("people/<str:name>/invite/", people.invite_again, name="invite-again"),
    path("people/<str:name>/grant/", people.grant_to_person, name="grant-to-person"),
    path("people/<str:name>/active/", people.set_active, name="set-active"),
    path("people/<str:name>/link/", people.link_accounts, name="link-accounts"),
    path("people/<str:name>/unlink/", people.unlink_account, name="unlink-account"),
    path("people/<str:name>/mail/", people.set_mail, name="set-mail"),
    path("people/<str:name>/identities/", commit_identities.link_identity, name="link-person-identity"),
    path("people/identities/<int:number>/verify/", commit_identities.verify_identity, name="verify-person-identity"),
    path("people/identities/<int:number>/remove/", commit_identities.remove_identity, name="remove-person-identity"),
    path("grants/<int:grant>/end/", people.end_grant, name="end-grant"),
    path("teams/", people.list_teams, name="list-teams"),
    path("teams/new/", people.add_team, name="add-team"),
    path("teams/<slug:slug>/", people.show_team, name="show-team"),
    path("teams/<slug:slug>/members/", people.add_member, name="add-member"),
    path("teams/<slug:slug>/members/<int:member>/end/", people.end_member, name="end-member"),
    path("teams/<slug:slug>/grant/", people.grant_to_team, name="grant-to-team"),
    path("teams/<slug:slug>/archive/", people.archive_team, name="archive-team"),
]
api_urls = [  # api/v1/
    path("", api.show_caller, name="show-caller"),
    path("clusters/<slug:slug>/adopt/", api.adopt_objects, name="adopt-objects"),
    path("reviews/", api.add_review, name="add-review"),
    path("reviews/<int:number>/", api.show_latest, name="show-latest"),
    path("reviews/<int:number>/plans/", api.add_plan, name="add-plan"),
    path("reviews/<int:number>/plans/<int:plan>/", api.show_plan, name="show-plan"),
    path("reviews/<int:number>/plans/<int:plan>/compare/", api.compare_plan, name="compare-plan"),
    path("reviews/<int:number>/plans/<int:plan>/run/", api.start_run, name="start-run"),
    path("reviews/<int:number>/plans/<int:plan>/schedule/", api.schedule_start, name="schedule-start"),
    path("reviews/<int:number>/plans/<int:plan>/schedule/cancel/", api.cancel_start, name="cancel-start"),
    path("reviews/<int:number>/follow/", api_following.follow_branch, name="follow-branch"),
    path("reviews/<int:number>/reviewers/", api_reviewers.request_reviewers, name="request-reviewers"),
    path("runs/<int:number>/", api.show_run, name="show-run"),
    path("runs/<int:number>/cancel/", api.cancel_run, name="cancel-run"),
    path("runs/<int:number>/retry/", api.retry_run, name="retry-run"),
    path("<path:rest>", guard.find_no_address, name="no-address"),
]

urlpatterns = [
    path("api/v1/", include((api_urls, "api"))),
    path("push/<str:identifier>/", pushes.take_push, name="take-push"),
    path("", home.show_home, name="home"),
    path("login/", accounts.sign_in, name="login"),
    path("login/demo/", accounts.sign_in_as_demo, name="login-demo"),
    path("claim/<str:token>/", accounts.claim, name="claim"),
    path("reauthenticate/", accounts.reauthenticate, name="reauthenticate"),
    path("account/", accounts.show_account, name="account"),
    path("account/password/", accounts.change_password, name="change-password"),
    path("account/identities/", own_identities.claim_identity, name="claim-identity"),
    path("account/identities/<int:number>/remove/", own_identities.remove_identity, name="remove-identity"),
    path("account/identities/verify/<str:token>/", own_identities.verify_identity, name="verify-identity"),
    path("account/sessions/end/", accounts.end_sessions, name="end-sessions"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("theme/", home.set_theme, name="set-theme"),
    path("search/", search.search, name="search"),
    path("first-steps/hide/", home.hide_first_steps, name="hide-first-steps"),
    path("reviews/", include((review_urls, "reviews"))),
    path("notifications/", include((notification_urls, "notifications"))),
    path("runs/", include((run_urls, "runs"))),
    path("history/", include((history_urls, "history"))),
    path("clusters/", include((cluster_urls, "clusters"))),
    path("worker-requests/", include((worker_request_urls, "worker-requests"))),
    path("settings/", include((settings_urls, "settings"))),
    path("guide/", include((guide_urls, "guide"))),
    path("playground/", include((playground_urls, "playground"))),
]
