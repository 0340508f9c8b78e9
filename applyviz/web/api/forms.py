"""Forms of API requests: a review with its files, the digest to run, how long to wait."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from django import forms

from applyviz.engine.objects.values import JSONObject
from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.engine.requests.options import PRODUCT_MANAGER, ApplyMode, ApplyOptions, SetAction
from applyviz.records.models import Plan
from applyviz.web.api.moves import Move, add_moves, replan
from applyviz.web.api.ownership import OwnershipForm, TakeForm
from applyviz.web.components.forms import Cleaned
from applyviz.web.reviews.forms.patches import PatchFields
from applyviz.web.reviews.forms.prune import METHODS, find_prune_errors, list_strays, read_prune
from applyviz.web.reviews.forms.reviews import MODES
from applyviz.web.reviews.forms.set_options import ActionForm, AddonForm, DeletionForm, LeftOutForm
from applyviz.workflow.approvals.requested_reviewers import MOST_REQUESTED
from applyviz.workflow.foundation.errors import NotValidError
from applyviz.workflow.live.adopted_names import MOST_ADOPTED, read_name
from applyviz.workflow.plans.channels import as_kops, has_channel
from applyviz.workflow.plans.charts import leave_out_hooks
from applyviz.workflow.plans.field_names import FieldHolder, hold_changes, hold_documents
from applyviz.workflow.plans.intake import Intake
from applyviz.workflow.plans.object_choices import take_back

MOST_RETRIED = 5_000
_LAST_PLAN = 1_000_000
# What only an apply has; another operation that came with one of them was meant otherwise.
_OF_APPLY = (
    "prune", "selector", "prune_all", "prune_allowlist", "applyset", "replace", "hand_over", "take_from",
    "prune_except", "addons_anyway", "marking_addons",
)  # fmt: skip
_DNS_LABEL = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"


class _TextForm(forms.Form):
    """Text fields of a JSON object; a value of another type and an unknown name are problems."""

    extra: frozenset[str] = frozenset()

    def __init__(self, given: JSONObject) -> None:
        self._odd = [name for name in given if name not in self.base_fields and name not in self.extra]
        self._untyped = [n for n, v in given.items() if n in self.base_fields and not isinstance(v, (str, type(None)))]
        super().__init__({name: value for name, value in given.items() if isinstance(value, str)})
        for field in self.fields.values():
            if isinstance(field, forms.ChoiceField) and isinstance(field.choices, list):
                named = ", ".join(str(value) for value, _text in field.choices if value)
                field.error_messages["invalid_choice"] = f"%(value)s is none of {named}"

    def clean(self) -> Cleaned:
        """Report unknown names: a misspelled option must not be ignored silently."""
        super().clean()
        for name in self._untyped:
            self.add_error(name, "must be text")
        for name in self._odd[:20]:
            self.add_error(None, f"there is no field {name[:80]!r}")
        return self.cleaned_data


class _GitFields(forms.Form):
    """The repository that manifests are fetched from; `inputs` reads and checks it."""

    git_repository = forms.CharField(required=False, max_length=1000)
    git_ref = forms.CharField(required=False, max_length=250)
    git_path = forms.CharField(required=False, max_length=400)


class _ChartTexts(forms.Form):
    """The chart that is rendered; `inputs` reads and checks it."""

    chart = forms.CharField(required=False, max_length=1000)
    chart_repository = forms.CharField(required=False, max_length=1000)
    chart_version = forms.CharField(required=False, max_length=128)
    chart_release = forms.CharField(required=False, max_length=53)
    chart_values_files = forms.CharField(required=False, max_length=40_000)
    chart_values = forms.CharField(required=False, max_length=1_000_000, strip=False)
    chart_hooks = forms.ChoiceField(choices=[("apply", "apply"), ("leave-out", "leave-out")], required=False)

    def choose_hooks(self, options: ApplyOptions, taken: Intake) -> ApplyOptions:
        """Return the options without the hooks of a chart, unless they are to be applied."""
        is_applied = self.cleaned_data["chart_hooks"] == "apply"
        return options if is_applied else leave_out_hooks(options, taken.files, taken.bundle)


class ReviewForm(
    _TextForm, _GitFields, _ChartTexts, ActionForm, DeletionForm, LeftOutForm, AddonForm, PatchFields, OwnershipForm
):
    """A review: its target, reason and options."""

    extra = frozenset({"files", "links", "patches", "moves"})
    title = forms.CharField(max_length=200)
    reason = forms.CharField(required=False, max_length=5000)
    ticket = forms.CharField(required=False, max_length=400)
    cluster = forms.SlugField(max_length=63)
    namespace = forms.RegexField(_DNS_LABEL, required=False, max_length=63)
    mode = forms.ChoiceField(choices=MODES, required=False)
    field_manager = forms.RegexField(r"^[!-~]+$", required=False, max_length=128)
    client_side_ownership = forms.ChoiceField(choices=[("move", "move"), ("keep", "keep")], required=False)
    kustomization = forms.CharField(required=False, max_length=500)
    prune = forms.ChoiceField(choices=METHODS, required=False)
    selector = forms.CharField(required=False, max_length=1000)
    prune_all = forms.ChoiceField(choices=[("true", "true"), ("false", "false")], required=False)
    prune_allowlist = forms.CharField(required=False, max_length=20_000)
    applyset = forms.CharField(required=False, max_length=400)
    prune_except = forms.CharField(required=False, max_length=20_000)
    follow = forms.ChoiceField(choices=[("true", "true"), ("false", "false")], required=False)

    def clean(self) -> Cleaned:
        """Check the fields of the chosen prune method, and refuse those of another one."""
        given = super().clean() or self.cleaned_data
        given["prune_all"] = given.get("prune_all") == "true"
        for field in list_strays(given):
            self.add_error(field, "it belongs to another value of prune")
        if given.get("follow") == "true" and not given.get("git_repository"):
            self.add_error("follow", "it needs git_repository, and manifests from one branch of it alone")
        for field, text in find_prune_errors({**given, "mode": given.get("mode") or ApplyMode.SERVER.value}):
            self.add_error(field, text)
        if given.get("operation") not in ("", SetAction.APPLY, None):
            for field in filter(self.data.get, _OF_APPLY):
                self.add_error(field, "it belongs to the operation apply")
        for field, text in self.find_patch_errors(given):
            self.add_error(field, text)
        return given

    @property
    def options(self) -> ApplyOptions:
        """Return the options for the engine."""
        chosen = self.cleaned_data
        selector, prune = read_prune(chosen)
        options = ApplyOptions(
            mode=ApplyMode(chosen["mode"] or ApplyMode.SERVER),
            field_manager=chosen["field_manager"] or PRODUCT_MANAGER,
            namespace=chosen["namespace"] or "default",
            takes_client_side=chosen["client_side_ownership"] != "keep",
            selector=selector,
            prune=prune,
        )
        return self.add_addons(self.add_left_out(self.add_action(self.add_deletion(options))))

    def choose(self, taken: Intake, moves: tuple[Move, ...] = ()) -> ApplyOptions:
        """Return the options for these manifests, with moves; those of a kOps channel have kOps' defaults."""
        is_given = bool(self.cleaned_data["field_manager"])

        def hold() -> Mapping[str, FieldHolder]:
            return hold_documents(taken.files, self.options.namespace)

        options = add_moves(self.add_ownership(self.options, hold), moves, hold)
        options = as_kops(options, is_manager_given=is_given) if has_channel(taken.files) else options
        return self.choose_hooks(options, taken)


class _SeenForm(_TextForm):
    """A request based on the latest plan of a review; `seen` is the number of the plan that the client read."""

    extra = frozenset({"seen"})

    def __init__(self, given: JSONObject) -> None:
        super().__init__(given)
        self._seen = given.get("seen")

    def clean(self) -> Cleaned:
        """Check the number; all other fields are texts."""
        chosen = super().clean()
        if self._seen is not None and (type(self._seen) is not int or not 0 < self._seen <= _LAST_PLAN):
            self.add_error(None, "seen must be the number of the plan that you read")
        return {**chosen, "seen": self._seen}


class PlanForm(_SeenForm, _GitFields, _ChartTexts, DeletionForm, LeftOutForm, AddonForm, OwnershipForm, TakeForm):
    """The next plan of a review: new manifests, or other choices; the latest plan fills fields that are not given."""

    extra = frozenset({"files", "links", "moves", "seen"})
    kustomization = forms.CharField(required=False, max_length=500)

    def choose(self, latest: Plan, taken: Intake | None, moves: tuple[Move, ...] | None = None) -> ApplyOptions:
        """Return the options of the next plan; of new manifests, only what is named and hooks are left out.

        - `taken`: the new manifests; None for those of the latest plan. `moves`: every move of the plan; None for those
          of the latest plan.
        """
        options = options_from_json(latest.options)
        kept = self.add_left_out(self.add_deletion(options if taken is None else take_back(options)))
        kept = self.add_addons(kept)

        def hold() -> Mapping[str, FieldHolder]:
            return hold_changes(latest) if taken is None else hold_documents(taken.files, options.namespace)

        chosen = self.add_taken(self.add_ownership(kept, hold), latest)
        chosen = chosen if moves is None else replan(chosen, moves, hold, latest=latest)
        return chosen if taken is None else self.choose_hooks(chosen, taken)


class APIDigestForm(_TextForm):
    """The digest that the client read: anything else does not run."""

    digest = forms.CharField(max_length=80)


class _Moment(forms.Field):
    """A moment in ISO 8601 with its offset."""

    def clean(self, value: str | None) -> datetime | None:
        """Return the moment; None for none."""
        text = super().clean(value)
        if not text:
            return None
        try:
            found = datetime.fromisoformat(text)
        except ValueError:
            found = None
        if found is None or found.tzinfo is None:
            raise forms.ValidationError("must be a moment with its offset, such as 2026-11-23T22:00:00+00:00")
        return found


class APIScheduleForm(APIDigestForm):
    """The first and the last moment at which a run of this digest may start."""

    not_before = _Moment(required=False)
    not_after = _Moment()

    @property
    def times(self) -> tuple[datetime | None, datetime]:
        """Return both moments; the first one is None for as soon as possible."""
        chosen = dict(self.cleaned_data)
        return chosen["not_before"], chosen["not_after"]


class ApiRetryForm(_TextForm):
    """The attempt that the client read, and the positions of the objects to retry; without them, all that can be."""

    extra = frozenset({"attempt", "objects"})

    def __init__(self, given: JSONObject) -> None:
        super().__init__(given)
        self._attempt, self._objects = given.get("attempt"), given.get("objects", [])

    def clean(self) -> Cleaned:
        """Check the two values that are no text."""
        chosen = super().clean()
        if type(self._attempt) is not int or self._attempt < 1:
            self.add_error(None, "attempt must be the attempt that you read, a number from 1")
        objects = self._objects
        if not isinstance(objects, list) or len(objects) > MOST_RETRIED or any(type(one) is not int for one in objects):
            self.add_error(None, f"objects must be a list of at most {MOST_RETRIED} positions")
        return {**chosen, "attempt": self._attempt, "objects": objects}


class FollowingForm(_SeenForm):
    """What to do with following."""

    act = forms.ChoiceField(choices=[("start", "start"), ("stop", "stop"), ("check", "check")])


class RequestForm(_TextForm):
    """The names of the people who are asked for a review, in place of those that were."""

    extra = frozenset({"reviewers"})

    def __init__(self, given: JSONObject) -> None:
        super().__init__(given)
        self._names = given.get("reviewers")

    def clean(self) -> dict[str, object]:
        """Check that the names are a list of texts."""
        chosen, found = super().clean(), self._names
        if not isinstance(found, list) or len(found) > MOST_REQUESTED or any(type(one) is not str for one in found):
            self.add_error(None, f"reviewers must be a list of at most {MOST_REQUESTED} names")
        return {**chosen, "reviewers": found}


class APIAdoptForm(_TextForm):
    """The live objects of one review, each as `core/ConfigMap/shop/settings`, and how they are applied."""

    extra = frozenset({"objects"})
    title = forms.CharField(max_length=200)
    reason = forms.CharField(required=False, max_length=5000)
    mode = forms.ChoiceField(choices=MODES, required=False)
    field_manager = forms.RegexField(r"^[!-~]+$", required=False, max_length=128)

    def __init__(self, given: JSONObject) -> None:
        super().__init__(given)
        self._objects = given.get("objects")

    def clean(self) -> dict[str, object]:
        """Read the names; each that names no object is a problem."""
        chosen, found = super().clean(), self._objects
        if (
            not isinstance(found, list)
            or not 0 < len(found) <= MOST_ADOPTED
            or any(type(one) is not str for one in found)
        ):
            self.add_error(None, f"objects must be a list of 1 to {MOST_ADOPTED} names: [group/kind/namespace/name]")
            return chosen
        names = []
        for text in dict.fromkeys(found):
            try:
                names.append(read_name(text))
            except NotValidError as error:
                self.add_error(None, str(error))
        return {**chosen, "objects": names}

    @property
    def options(self) -> ApplyOptions:
        """Return the options for the engine."""
        chosen = self.cleaned_data
        mode, manager = ApplyMode(chosen["mode"] or ApplyMode.SERVER), chosen["field_manager"] or PRODUCT_MANAGER
        return ApplyOptions(mode=mode, field_manager=manager, namespace="default")


class NothingForm(_TextForm):
    """An empty body."""


class WaitForm(forms.Form):
    """The fields of a waiting read: how long to wait for a change, and the page of objects."""

    wait = forms.IntegerField(required=False, min_value=0, max_value=60)
    seen = forms.CharField(required=False, max_length=80)
    start = forms.IntegerField(required=False, min_value=0, max_value=1_000_000)
    count = forms.IntegerField(required=False, min_value=0, max_value=500)
