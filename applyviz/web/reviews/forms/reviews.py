"""The forms of a review: opening one, re-planning, approving a named digest."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.core.validators import RegexValidator
from django.db.models import Model
from django.http import QueryDict
from django.utils.datastructures import MultiValueDict
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _

from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.requests.options import PRODUCT_MANAGER, ApplyMode, ApplyOptions, Prune, PruneMode
from applyviz.engine.risks.model import KINDS
from applyviz.records.enums import Applier
from applyviz.records.models import Cluster, Plan, Preset
from applyviz.web.components.forms import Cleaned, offer_clusters
from applyviz.web.reviews.forms.manifests import SourceFields, SourceForm
from applyviz.web.reviews.forms.patches import PatchFields
from applyviz.web.reviews.forms.prune import PruneFields
from applyviz.web.reviews.forms.set_options import ActionForm, DeletionForm
from applyviz.web.reviews.pages.available_actions import ReplanHow
from applyviz.web.reviews.pages.object_list import TREE, ListChoice, ViewFilter
from applyviz.web.reviews.pane.fields import FieldFilter
from applyviz.web.reviews.pane.object_content import AloneChoice, ObjectView
from applyviz.web.reviews.pane.yaml_document import VERSION_WORDS
from applyviz.workflow.clusters import states
from applyviz.workflow.clusters.registration import list_usable
from applyviz.workflow.foundation import sentences
from applyviz.workflow.foundation.access import Person
from applyviz.workflow.foundation.errors import NotPossibleError, NotVisibleError
from applyviz.workflow.live.external_apply import as_tool
from applyviz.workflow.plans import object_choices, presets
from applyviz.workflow.plans.intake import ReviewInput
from applyviz.workflow.plans.presets import CLUSTER, FIELDS, UsedPreset
from applyviz.workflow.plans.source_runs.same_source import ComparedSource

MODES = [
    (ApplyMode.SERVER.value, _("Server-side")),
    (ApplyMode.CLIENT.value, _("Client-side")),
]


class OptionFields(PruneFields, SourceFields, ActionForm, DeletionForm, PatchFields):
    """Every option of a new review, which a preset may fill."""

    namespace = forms.CharField(
        label=_("Namespace"),
        max_length=63,
        initial="default",
        validators=[RegexValidator(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", _("Use lowercase letters, digits and dashes."))],
    )
    applied_by = forms.ChoiceField(label=_("Applied by"), choices=Applier.choices, required=False)
    follow = forms.BooleanField(label=_("Follow the branch: each push creates the next plan"), required=False)
    mode = forms.ChoiceField(label=_("How to apply"), choices=MODES, initial=ApplyMode.SERVER.value)
    field_manager = forms.CharField(
        label=_("Field manager"),
        max_length=128,
        initial=PRODUCT_MANAGER,
        validators=[RegexValidator(r"^[!-~]+$", _("Use printable characters without spaces."))],
    )
    takes_client_side = forms.BooleanField(
        label=_("Migrate field ownership between client-side and server-side apply"), required=False, initial=True
    )
    takes_from = forms.CharField(
        label=_("Also migrate ownership from these field managers"),
        max_length=1000,
        required=False,
        validators=[RegexValidator(r"^[ -~]*$", _("Field managers, separated by spaces or commas."))],
    )

    def clean(self) -> dict[str, object]:
        """Check the parts of an entered patch together."""
        given = super().clean() or self.cleaned_data
        for field, text in self.find_patch_errors(given):
            self.add_error(field, text)
        return given

    @property
    def texts(self) -> dict[str, str]:
        """Return the text of each option of a valid form, as a preset holds it."""
        return {name: write_text(value) for name, value in self.cleaned_data.items() if name in (CLUSTER, *FIELDS)}


def write_text(value: object) -> str:
    """Return a cleaned value as the text that a field of the form takes."""
    if isinstance(value, bool):
        return "on" if value else ""
    if isinstance(value, (tuple, list)):
        return "\n".join(map(str, value))
    if isinstance(value, Cluster):
        return value.slug
    return "" if value is None else str(value)


class _PlannableClusterField(forms.ModelChoiceField):  # type: ignore[type-arg]  # the class of Django takes none
    """The choice of a cluster for a plan, which marks paused clusters before files are chosen for them."""

    def label_from_instance(self, obj: Model) -> str:
        """Return the name, with the pause if there is one."""
        is_paused = isinstance(obj, Cluster) and obj.paused_at is not None
        return _now("%(cluster)s (paused)") % {"cluster": obj} if is_paused else str(obj)


class NewReviewForm(OptionFields, SourceForm):
    """The input for a new review."""

    preset = forms.SlugField(required=False, max_length=63, widget=forms.HiddenInput)
    title = forms.CharField(label=_("Title"), max_length=200)
    reason = forms.CharField(label=_("Why"), required=False, max_length=5000, widget=forms.Textarea(attrs={"rows": 3}))
    ticket = forms.CharField(label=_("Ticket or pull request"), required=False, max_length=400)
    cluster = _PlannableClusterField(Cluster.objects.none(), label=_("Cluster"), to_field_name="slug", empty_label=None)

    def __init__(
        self,
        data: QueryDict | None,
        files: MultiValueDict[str, UploadedFile[bytes]] | None,
        *,
        initial: dict[str, object],
        for_user: Person,
    ) -> None:
        """Offer only the clusters on which this person may open a review somewhere."""
        super().__init__(data, files, initial=initial)
        self._person = for_user
        offer_clusters(self, list_usable(for_user=for_user))

    def clean_cluster(self) -> Cluster:
        """Return the cluster; one where no plan can be made now is refused here, so that the form keeps its input."""
        cluster: Cluster = self.cleaned_data["cluster"]
        if stops := states.find_stop(cluster):
            raise forms.ValidationError(sentences.describe(stops[0]))
        return cluster

    def clean_preset(self) -> Preset | None:
        """Return the preset that filled the form."""
        slug = self.cleaned_data["preset"]
        try:
            return presets.get_usable(slug, for_user=self._person) if slug else None
        except NotVisibleError:
            raise forms.ValidationError(_("The preset is no longer offered to you. Choose another one.")) from None

    @property
    def used_preset(self) -> UsedPreset | None:
        """Return the preset that filled the form, and what was changed from it."""
        preset = self.cleaned_data["preset"]
        return None if preset is None else UsedPreset(preset, presets.find_changes(preset, self.texts))

    def add_patch(self, found: ReviewInput) -> ReviewInput:
        """Return the input with the entered patch as one more file."""
        return replace(found, files=(*found.files, *self.patch_files))

    @property
    def options(self) -> ApplyOptions:
        """Return the options for the engine."""
        chosen = self.cleaned_data
        selector, prune = self.read_prune()
        options = ApplyOptions(
            mode=ApplyMode(chosen["mode"]),
            field_manager=chosen["field_manager"],
            takes_client_side=chosen["takes_client_side"],
            takes_from=tuple(dict.fromkeys(chosen["takes_from"].replace(",", " ").split())),
            namespace=chosen["namespace"],
            selector=selector,
            prune=prune,
        )
        options = self.add_action(self.add_deletion(options))
        return as_tool(options, self.applier, is_manager_given=chosen["field_manager"] != PRODUCT_MANAGER)

    @property
    def applier(self) -> Applier:
        """Return who applies the review: applyviz or another tool."""
        return Applier(self.cleaned_data["applied_by"])


class ApprovalAct(StrEnum):
    """The action of a person on a plan that awaits approval."""

    APPROVE = "wait"
    APPLY = "apply"
    SCHEDULE = "schedule"
    CHANGES = "changes"
    COMMENT = "comment"


class ApprovalForm(forms.Form):
    """Approval of the plan with a named digest."""

    digest = forms.CharField(max_length=80)
    note = forms.CharField(
        label=_("Comment"), required=False, max_length=2000, widget=forms.Textarea(attrs={"rows": 3})
    )
    then = forms.ChoiceField(choices=[(act.value, act.value) for act in ApprovalAct])
    applies = forms.BooleanField(label=_("Apply when approved"), required=False)
    start = forms.ChoiceField(choices=[("now", "now"), ("scheduled", "scheduled")], required=False)
    waits = forms.BooleanField(label=_("Wait until workloads are ready"), required=False)
    password = forms.CharField(
        label=_("Your password"), required=False, max_length=400, strip=False, widget=forms.PasswordInput
    )

    def clean(self) -> Cleaned:
        """Ask for a comment where the act consists of it."""
        given = super().clean() or self.cleaned_data
        act = given.get("then")
        if act == ApprovalAct.CHANGES and not given.get("note", "").strip():
            self.add_error("note", _("Say what needs to change."))
        if act == ApprovalAct.COMMENT and not given.get("note", "").strip():
            self.add_error("note", _("Write a comment."))
        return given

    @property
    def act(self) -> ApprovalAct:
        """The act that is asked for; an approval with the tick applies at once, or is scheduled as the page said."""
        act = ApprovalAct(self.cleaned_data["then"])
        if act is not ApprovalAct.APPROVE or not self.cleaned_data["applies"]:
            return act
        return ApprovalAct.SCHEDULE if self.cleaned_data["start"] == "scheduled" else ApprovalAct.APPLY


class EmergencyApplyForm(forms.Form):
    """An emergency apply."""

    digest = forms.CharField(max_length=80, widget=forms.HiddenInput)
    reason = forms.CharField(
        label=_("Reason for the emergency"), max_length=2000, widget=forms.Textarea(attrs={"rows": 3})
    )
    ticket = forms.CharField(label=_("Ticket or incident"), max_length=400)
    password = forms.CharField(label=_("Your password"), max_length=400, strip=False, widget=forms.PasswordInput)


class DigestForm(forms.Form):
    """The digest that the page of a button showed; an outdated page names another one."""

    digest = forms.CharField(max_length=80)
    waits = forms.BooleanField(label=_("Wait until workloads are ready"), required=False)


class ReplanForm(forms.Form):
    """The changes of the next plan from the latest."""

    takes_over = forms.BooleanField(required=False)
    how = forms.ChoiceField(choices=[(how.value, how.value) for how in ReplanHow], required=False)

    def read_options(self, latest: Plan) -> ApplyOptions | None:
        """Return the options of the latest plan with the requested changes; None for no changes."""
        if not self.is_valid():
            return None
        options = options_from_json(latest.options)
        match self.cleaned_data["how"]:
            case ReplanHow.CLIENT_SIDE:
                return replace(options, mode=ApplyMode.CLIENT)
            case ReplanHow.SERVER_SIDE:
                if options.prune.mode is PruneMode.ALLOWLIST:
                    raise NotPossibleError(_("prune by allowlist needs client-side apply"))
                return replace(options, mode=ApplyMode.SERVER)
            case ReplanHow.KEEP_OBJECTS:
                return replace(options, prune=Prune())
            case ReplanHow.KEEP_KINDS:
                return object_choices.keep_kinds(latest)
            case ReplanHow.KEEP_OWNERSHIP:
                return replace(options, takes_client_side=False, takes_from=(), taken_managers=())
            case ReplanHow.MOVE_OWNERSHIP:
                return replace(options, takes_client_side=True)
        return replace(options, takes_over=True) if self.cleaned_data["takes_over"] else None


class ObjectListForm(forms.Form):
    """The filters of the object list."""

    q = forms.CharField(required=False, max_length=200)
    op = forms.ChoiceField(choices=[(o.value, o.value) for o in Operation], required=False)
    kind = forms.CharField(required=False, max_length=253)
    ns = forms.CharField(required=False, max_length=253)
    manager = forms.CharField(required=False, max_length=253)
    risk = forms.ChoiceField(choices=[(slug, slug) for slug in KINDS], required=False)
    only = forms.ChoiceField(choices=[(o.value, o.value) for o in ViewFilter], required=False)
    layout = forms.ChoiceField(choices=[(TREE, TREE)], required=False)
    group = forms.CharField(required=False, max_length=600)
    start = forms.IntegerField(required=False, min_value=0, max_value=1_000_000)

    @classmethod
    def read_choice(cls, given: Mapping[str, object]) -> ListChoice:
        """Return the filters in an address; ignore invalid ones."""
        form = cls(given)
        form.is_valid()
        return ListChoice(**{name: value for name, value in form.cleaned_data.items() if value})


class ObjectForm(forms.Form):
    """The view, fields, displays and versions of an object shown alone."""

    view = forms.ChoiceField(choices=[(v.value, v.value) for v in ObjectView], required=False)
    show = forms.ChoiceField(choices=[(f.value, f.value) for f in FieldFilter], required=False)
    split = forms.ChoiceField(choices=[("0", "0"), ("1", "1")], required=False)
    complete = forms.BooleanField(required=False)
    raw = forms.BooleanField(required=False)
    compare = forms.BooleanField(required=False)
    version = forms.ChoiceField(choices=[(v, v) for v in VERSION_WORDS], required=False)
    start = forms.IntegerField(required=False, min_value=1, max_value=100_000_000)
    field = forms.IntegerField(required=False, min_value=0, max_value=1_000_000)
    find = forms.CharField(required=False, max_length=200)

    @classmethod
    def read_choice(cls, given: Mapping[str, object]) -> AloneChoice:
        """Return the choice in an address, with defaults for invalid parts."""
        form = cls(given)
        form.is_valid()
        found = form.cleaned_data
        return AloneChoice(
            ObjectView(found.get("view") or ObjectView.FIELDS),
            FieldFilter(found.get("show") or FieldFilter.CHANGES),
            found.get("version") or "after",
            start=found.get("start") or 1,
            field=found.get("field"),
            find=found.get("find") or "",
            is_split=found.get("split") == "1",
            has_server_managed=bool(found.get("complete")),
            is_raw=bool(found.get("raw")),
            is_aligned=bool(found.get("compare")),
        )


class CompareForm(forms.Form):
    """The two plans of a review to compare."""

    def __init__(self, data: QueryDict) -> None:
        super().__init__(data)
        for name in ("from", "to"):  # a Python keyword cannot be an attribute
            self.fields[name] = forms.IntegerField(required=False, min_value=1, max_value=1_000_000)


class ComparedSourceForm(forms.Form):
    """The source whose changes since its last run are shown."""

    of = forms.ChoiceField(choices=[(source.value, source.value) for source in ComparedSource], required=False)

    @classmethod
    def read_source(cls, given: QueryDict) -> ComparedSource | None:
        """Return the source in an address; None without a valid one."""
        form = cls(given)
        value = form.cleaned_data.get("of") if form.is_valid() else None
        return ComparedSource(value) if value else None
