"""Addresses of all pages, grouped by the object in the path."""

from __future__ import annotations

from django.contrib.auth.views import LogoutView
from django.urls import include, path

from applyviz.web.accounts import views as accounts
from applyviz.web.api import guard
from applyviz.web.api import views as api
from applyviz.web.clusters.views import clusters, manage
from applyviz.web.frame import worker_requests
from applyviz.web.guide import views as guide
from applyviz.web.history.views import entries, evidence
from applyviz.web.home import views as home
from applyviz.web.notifications import views as notifications
from applyviz.web.playground import views as playground
from applyviz.web.reviews.views import (
    acknowledgments,
    approvals,
    change_record,
    changes,
    comments,
    comparison,
    conflict_rules,
    downloads,
    external_apply,
    resolutions,
    reviews,
    tabs,
)
from applyviz.web.runs import views as runs
from applyviz.web.search import views as search
from applyviz.web.settings.views import impersonation, installation, people, policies, tokens, webhooks

review_urls = [  # reviews/
    path("", reviews.list_reviews, name="list-reviews"),
    path("new/", reviews.add_review, name="add-review"),
    path("new/check/", reviews.check_source, name="check-source"),
    path("<int:number>/", tabs.show_review, name="show-review"),
    path("<int:number>/overview/", tabs.show_latest_overview, name="show-latest-overview"),
    path("<int:number>/replan/", reviews.replan, name="replan"),
    path("<int:number>/manifests/", reviews.replace_manifests, name="replace-manifests"),
    path("<int:number>/close/", reviews.close, name="close-review"),
    path("<int:number>/compare/", comparison.compare_plans, name="compare-plans"),
    path("<int:number>/plans/<int:plan>/", tabs.show_plan, name="show-plan"),
    path("<int:number>/plans/<int:plan>/overview/", tabs.show_overview, name="show-overview"),
    path("<int:number>/plans/<int:plan>/changes/", tabs.show_changes, name="show-changes"),
    path("<int:number>/plans/<int:plan>/changes/list/", changes.list_changes, name="list-changes"),
    path("<int:number>/plans/<int:plan>/changes/objects/", changes.scroll_objects, name="scroll-objects"),
    path("<int:number>/plans/<int:plan>/changes/viewed/", changes.mark_viewed, name="mark-viewed"),
    path("<int:number>/plans/<int:plan>/graph/", tabs.show_graph, name="show-graph"),
    path("<int:number>/plans/<int:plan>/graph.svg", downloads.export_graph, name="export-graph"),
    path("<int:number>/plans/<int:plan>/owners/", tabs.show_owners, name="show-owners"),
    path("<int:number>/plans/<int:plan>/requests/", tabs.show_requests, name="show-requests"),
    path("<int:number>/plans/<int:plan>/activity/", tabs.show_activity, name="show-activity"),
    path("<int:number>/plans/<int:plan>/watch/", external_apply.show_watch, name="show-watch"),
    path("<int:number>/plans/<int:plan>/verify/", external_apply.verify, name="verify-plan"),
    path("<int:number>/plans/<int:plan>/record/compare/", change_record.compare_file, name="compare-file"),
    path("<int:number>/plans/<int:plan>/record/", change_record.show_record, name="show-record"),
    path("<int:number>/plans/<int:plan>/requests.zip", downloads.keep_requests, name="keep-requests"),
    path("<int:number>/plans/<int:plan>/events/", reviews.stream_arrivals, name="plan-events"),
    path("<int:number>/plans/<int:plan>/objects/", reviews.list_objects, name="list-objects"),
    path("<int:number>/comments/<int:comment>/", comments.edit_comment, name="edit-comment"),
    path("<int:number>/comments/<int:comment>/resolve/", comments.resolve_comment, name="resolve-comment"),
    path("<int:number>/plans/<int:plan>/comments/", comments.add_comment, name="add-comment"),
    path("<int:number>/plans/<int:plan>/risks/", acknowledgments.show_risks, name="show-risks"),
    path("<int:number>/plans/<int:plan>/acknowledge/", acknowledgments.acknowledge, name="acknowledge"),
    path("<int:number>/plans/<int:plan>/acknowledge/all/", acknowledgments.acknowledge_all, name="acknowledge-all"),
    path(
        "<int:number>/plans/<int:plan>/acknowledge/withdraw/", acknowledgments.withdraw, name="withdraw-acknowledgement"
    ),
    path("<int:number>/plans/<int:plan>/confirm/", approvals.confirm_plan, name="confirm-plan"),
    path("<int:number>/plans/<int:plan>/withdraw/", approvals.withdraw, name="withdraw-request"),
    path("<int:number>/plans/<int:plan>/emergency-apply/", approvals.start_emergency_apply, name="emergency-apply"),
    path("<int:number>/plans/<int:plan>/revoke/", approvals.revoke, name="revoke-approval"),
    path("<int:number>/plans/<int:plan>/apply/", approvals.apply_plan, name="apply-plan"),
    path("<int:number>/plans/<int:plan>/objects/<int:position>/resolve/", resolutions.decide, name="resolve-conflict"),
    path(
        "<int:number>/plans/<int:plan>/objects/<int:position>/rule/", conflict_rules.propose_rule, name="propose-rule"
    ),
    path(
        "<int:number>/plans/<int:plan>/objects/<int:position>/patches/<slug:of>/<int:place>/<int:way>/",
        resolutions.show_patch,
        name="show-patch",
    ),
    path("<int:number>/plans/<int:plan>/resolve/", resolutions.decide_everywhere, name="resolve-everywhere"),
    path("<int:number>/plans/<int:plan>/decisions/<int:place>/undo/", resolutions.undo, name="undo-resolution"),
    path(
        "<int:number>/plans/<int:plan>/objects/<int:position>/files/<str:name>",
        downloads.show_file,
        name="show-file",
    ),
    path("<int:number>/plans/<int:plan>/objects/<int:position>/<slug:tab>/", reviews.show_object, name="show-object"),
    path(
        "<int:number>/plans/<int:plan>/objects/<int:position>/fields/<int:index>/",
        reviews.show_field,
        name="show-field",
    ),
]
run_urls = [  # runs/
    path("<int:number>/", runs.show_run, name="show-run"),
    path("<int:number>/events/", runs.stream_moves, name="run-events"),
    path("<int:number>/requests/", runs.list_requests, name="list-requests"),
    path("<int:number>/cancel/", runs.cancel, name="cancel-run"),
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
    path("<slug:slug>/", clusters.show_cluster, name="show-cluster"),
    path("<slug:slug>/state/", clusters.show_state, name="show-state"),
    path("<slug:slug>/manage/", manage.show_management, name="manage-cluster"),
    path("<slug:slug>/manage/credential/", manage.replace_credential, name="replace-credential"),
    path("<slug:slug>/manage/connection/", manage.check_connection, name="test-connection"),
    path("<slug:slug>/manage/name/", manage.rename, name="rename-cluster"),
    path("<slug:slug>/manage/pause/", manage.pause, name="pause-cluster"),
    path("<slug:slug>/manage/resume/", manage.resume, name="resume-cluster"),
    path("<slug:slug>/manage/archive/", manage.archive, name="archive-cluster"),
    path("<slug:slug>/manage/restore/", manage.restore, name="restore-cluster"),
    path("<slug:slug>/masking/", clusters.set_masking, name="set-masking"),
    path("<slug:slug>/scan/", clusters.scan, name="scan-cluster"),
    path("<slug:slug>/findings/<slug:sort>/", clusters.list_findings, name="list-findings"),
    path("<slug:slug>/managers/<path:manager>/", clusters.show_manager, name="field-manager"),
    path(
        "<slug:slug>/adopt/<str:group>/<str:kind>/<str:namespace>/<str:name>/",
        clusters.adopt_object,
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
    path("reviews/", api.add_review, name="add-review"),
    path("reviews/<int:number>/", api.show_latest, name="show-latest"),
    path("reviews/<int:number>/plans/", api.add_plan, name="add-plan"),
    path("reviews/<int:number>/plans/<int:plan>/", api.show_plan, name="show-plan"),
    path("reviews/<int:number>/plans/<int:plan>/run/", api.start_run, name="start-run"),
    path("runs/<int:number>/", api.show_run, name="show-run"),
    path("runs/<int:number>/cancel/", api.cancel_run, name="cancel-run"),
    path("<path:rest>", guard.find_no_address, name="no-address"),
]

urlpatterns = [
    path("api/v1/", include((api_urls, "api"))),
    path("", home.show_home, name="home"),
    path("login/", accounts.sign_in, name="login"),
    path("login/demo/", accounts.sign_in_as_demo, name="login-demo"),
    path("claim/<str:token>/", accounts.claim, name="claim"),
    path("reauthenticate/", accounts.reauthenticate, name="reauthenticate"),
    path("account/", accounts.show_account, name="account"),
    path("account/password/", accounts.change_password, name="change-password"),
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
