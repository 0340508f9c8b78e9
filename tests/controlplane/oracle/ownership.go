package main

import (
	"encoding/json"
	"errors"
	"regexp"
	"sort"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/csaupgrade"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// presentTime stands wherever the libraries wrote the time of the operation.
const presentTime = "2026-06-01T00:00:00Z"

// Owned is the answer to an apply, an update or an upgrade.
type Owned struct {
	Result    any        `json:"result,omitempty"`
	Conflicts []Conflict `json:"conflicts,omitempty"`
	Message   string     `json:"message,omitempty"`
	Error     string     `json:"error,omitempty"`
	Code      int        `json:"code,omitempty"`
}

// Conflict is one cause of a 409.
type Conflict struct {
	Manager     string `json:"manager"`
	Subresource string `json:"subresource,omitempty"`
	APIVersion  string `json:"apiVersion,omitempty"`
	Field       string `json:"field"`
	Message     string `json:"message"`
}

// oneVersion handles objects at a single version: nothing is converted, another version does not exist.
type oneVersion struct{}

func (oneVersion) Convert(_, _, _ any) error { return errors.New("nothing is converted here") }
func (oneVersion) ConvertFieldLabel(schema.GroupVersionKind, string, string) (string, string, error) {
	return "", "", errors.New("nothing is converted here")
}
func (oneVersion) ConvertToVersion(in runtime.Object, target runtime.GroupVersioner) (runtime.Object, error) {
	gvk := in.GetObjectKind().GroupVersionKind()
	if gvk.Empty() {
		return in, nil
	}
	if to, ok := target.KindForGroupVersionKinds([]schema.GroupVersionKind{gvk}); !ok || to != gvk {
		return nil, runtime.NewNotRegisteredErrForTarget("oracle", nil, target)
	}
	return in, nil
}

type nothingDefaulted struct{}

func (nothingDefaulted) Default(runtime.Object) {}

// zeroObjects makes the object that a create is compared with: the empty Go value, or apiVersion and kind alone.
type zeroObjects struct{ isCustom bool }

func (z zeroObjects) New(gvk schema.GroupVersionKind) (runtime.Object, error) {
	if z.isCustom {
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(gvk)
		return object, nil
	}
	object, err := goTypes.New(gvk)
	if err == nil {
		object.GetObjectKind().SetGroupVersionKind(gvk)
	}
	return object, err
}

// withStatus lists the kinds whose status is a subresource, and what a write to `status` leaves out beside `spec`.
var withStatus = map[schema.GroupKind][][]any{
	{Group: "apps", Kind: "Deployment"}:                     {{"metadata", "labels"}},
	{Group: "apps", Kind: "StatefulSet"}:                    nil,
	{Group: "apps", Kind: "DaemonSet"}:                      nil,
	{Group: "apps", Kind: "ReplicaSet"}:                     nil,
	{Group: "batch", Kind: "Job"}:                           nil,
	{Group: "batch", Kind: "CronJob"}:                       nil,
	{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}: nil,
	{Group: "policy", Kind: "PodDisruptionBudget"}:          nil,
	{Group: "networking.k8s.io", Kind: "Ingress"}:           nil,
	{Kind: "Pod"}:                   {{"metadata", "deletionTimestamp"}, {"metadata", "ownerReferences"}},
	{Kind: "Service"}:               nil,
	{Kind: "PersistentVolumeClaim"}: nil,
	{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}: nil,
}

func leftOut(paths ...[]any) *fieldpath.Set {
	set := fieldpath.NewSet()
	for _, path := range paths {
		set.Insert(fieldpath.MakePathOrDie(path...))
	}
	return set
}

func fieldManager(s *schemas, in Input) (*managedfields.FieldManager, error) {
	if isGiven(in.CRD) {
		return customFieldManager(s, in)
	}
	gvk := in.GVK.gvk()
	types, err := s.converter(gvk.GroupVersion())
	if err != nil {
		return nil, err
	}
	reset := map[fieldpath.APIVersion]*fieldpath.Set{}
	if more, has := withStatus[gvk.GroupKind()]; has {
		version := fieldpath.APIVersion(gvk.GroupVersion().String())
		switch in.Subresource {
		case "":
			reset[version] = leftOut([]any{"status"})
		case "status":
			reset[version] = leftOut(append([][]any{{"spec"}}, more...)...)
		}
	}
	return managedfields.NewDefaultFieldManager(types, oneVersion{}, nothingDefaulted{}, zeroObjects{}, gvk,
		gvk.GroupVersion(), in.Subresource, fieldpath.NewExcludeFilterSetMap(reset))
}

func customFieldManager(s *schemas, in Input) (*managedfields.FieldManager, error) {
	made, err := s.custom(in.CRD)
	if err != nil {
		return nil, err
	}
	gvk := in.GVK.gvk()
	reset := map[fieldpath.APIVersion]*fieldpath.Set{}
	for _, version := range made.definition.Spec.Versions {
		if version.Subresources == nil || version.Subresources.Status == nil {
			continue
		}
		name := fieldpath.APIVersion(made.definition.Spec.Group + "/" + version.Name)
		switch {
		case in.Subresource == "status":
			reset[name] = leftOut([]any{"metadata"}, []any{"spec"})
		case in.Subresource == "" && version.Name == gvk.Version:
			reset[name] = leftOut([]any{"status"})
		}
	}
	return managedfields.NewDefaultCRDFieldManager(made.types, made.versions, nothingDefaulted{}, zeroObjects{true}, gvk,
		gvk.GroupVersion(), in.Subresource, fieldpath.NewExcludeFilterSetMap(reset))
}

func parse(raw json.RawMessage) (*unstructured.Unstructured, error) {
	content := map[string]any{}
	err := kjson.Unmarshal(raw, &content)
	return &unstructured.Unstructured{Object: content}, err
}

// before is the live object, or nothing as the API server sees it.
func before(in Input) (runtime.Object, error) {
	if isGiven(in.Live) {
		return parse(in.Live)
	}
	return zeroObjects{isGiven(in.CRD)}.New(in.GVK.gvk())
}

func serverSideApply(s *schemas, in Input) Owned {
	return withManager(s, in, in.Applied, func(manager *managedfields.FieldManager, live, given runtime.Object) (map[string]any, error) {
		object, err := manager.Apply(live, given, in.Manager, in.Force)
		if err != nil {
			return nil, err
		}
		return contentOf(object)
	}, func(content map[string]any) any { return content })
}

// update answers the managed fields alone: the object is the new one.
func update(s *schemas, in Input) Owned {
	return withManager(s, in, in.New, func(manager *managedfields.FieldManager, live, given runtime.Object) (map[string]any, error) {
		object, err := manager.Update(live, given, in.Manager)
		if err != nil {
			return nil, err
		}
		return contentOf(object)
	}, managedFieldsOf)
}

type change func(manager *managedfields.FieldManager, live, given runtime.Object) (map[string]any, error)

func withManager(s *schemas, in Input, raw json.RawMessage, run change, show func(map[string]any) any) Owned {
	manager, err := fieldManager(s, in)
	if err != nil {
		return refused(err)
	}
	live, err := before(in)
	if err != nil {
		return refused(err)
	}
	given, err := parse(raw)
	if err != nil {
		return refused(err)
	}
	content, err := run(manager, live, given)
	if err != nil {
		return refused(err)
	}
	return Owned{Result: show(content)}
}

// upgrade moves fields from client-side to server-side apply, as kubectl does before it applies.
func upgrade(in Input) Owned {
	live, err := parse(in.Live)
	if err != nil {
		return refused(err)
	}
	names := sets.New(in.CSAManagers...)
	if in.CSAManagers == nil {
		annotation := fieldpath.MakePathOrDie("metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration")
		for _, entry := range csaupgrade.FindFieldsOwners(
			live.GetManagedFields(), metav1.ManagedFieldsOperationUpdate, fieldpath.NewSet(annotation)) {
			names.Insert(entry.Manager)
		}
	}
	if err := csaupgrade.UpgradeManagedFields(live, names, in.Manager); err != nil {
		return refused(err)
	}
	return Owned{Result: managedFieldsOf(live.Object)}
}

func contentOf(object runtime.Object) (map[string]any, error) {
	if free, ok := object.(*unstructured.Unstructured); ok {
		return withPresentTime(free.Object), nil
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	return withPresentTime(content), err
}

func managedFieldsOf(content map[string]any) any {
	entries, _, _ := unstructured.NestedSlice(content, "metadata", "managedFields")
	if entries == nil {
		return []any{}
	}
	return entries
}

// withPresentTime replaces every time after the fixed one, which only this run can have written.
func withPresentTime(content map[string]any) map[string]any {
	entries, _, _ := unstructured.NestedSlice(content, "metadata", "managedFields")
	if entries == nil {
		return content
	}
	for _, entry := range entries {
		if fields, ok := entry.(map[string]any); ok {
			if at, err := time.Parse(time.RFC3339, asText(fields["time"])); err == nil && at.Format(time.RFC3339) > presentTime {
				fields["time"] = presentTime
			}
		}
	}
	must(unstructured.SetNestedSlice(content, entries, "metadata", "managedFields"))
	return content
}

func asText(value any) string {
	text, _ := value.(string)
	return text
}

var conflictText = regexp.MustCompile(`^conflict with ("(?:[^"\\]|\\.)*")(?: with subresource ("(?:[^"\\]|\\.)*"))?(?: using (\S+))?$`)

// refused tells a conflict by its causes and every other error by its text, both in one fixed order.
func refused(err error) Owned {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return Owned{Error: inOrder(err.Error()), Code: 500}
	}
	said := status.Status()
	if said.Reason != metav1.StatusReasonConflict {
		return Owned{Error: inOrder(said.Message), Code: int(said.Code)}
	}
	answer := Owned{Code: int(said.Code), Message: said.Message}
	for _, cause := range said.Details.Causes {
		parts := conflictText.FindStringSubmatch(cause.Message)
		conflict := Conflict{Field: cause.Field, Message: cause.Message, APIVersion: parts[3]}
		must(json.Unmarshal([]byte(parts[1]), &conflict.Manager))
		if parts[2] != "" {
			must(json.Unmarshal([]byte(parts[2]), &conflict.Subresource))
		}
		answer.Conflicts = append(answer.Conflicts, conflict)
	}
	sort.SliceStable(answer.Conflicts, func(i, j int) bool {
		return answer.Conflicts[i].Message < answer.Conflicts[j].Message
	})
	return answer
}

func inOrder(message string) string {
	head, tail, several := strings.Cut(message, "errors:\n")
	if !several {
		return message
	}
	lines := strings.Split(tail, "\n")
	sort.Strings(lines)
	return head + "errors:\n" + strings.Join(lines, "\n")
}
