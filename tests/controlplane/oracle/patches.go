package main

import (
	"encoding/json"
	"slices"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/apimachinery/pkg/util/mergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/kube-openapi/pkg/validation/spec"
	kubectlscheme "k8s.io/kubectl/pkg/scheme"
)

// Patched is the answer to a three-way patch.
type Patched struct {
	Patch       json.RawMessage `json:"patch,omitempty"`
	Result      json.RawMessage `json:"result,omitempty"`
	ResultError string          `json:"resultError,omitempty"`
	Source      string          `json:"source,omitempty"`
	Warnings    []string        `json:"warnings,omitempty"`
	Error       string          `json:"error,omitempty"`
}

// attempt is one place where kubectl looks for merge rules; without rules it is passed over in silence.
type attempt struct {
	source, warning string
	rules           strategicpatch.LookupPatchMeta
}

// overwrites is kubectl's --overwrite, which is on unless somebody turns it off.
func overwrites(in Input) bool { return in.Overwrite == nil || *in.Overwrite }

func orNothing(raw json.RawMessage) []byte {
	if !isGiven(raw) {
		return nil
	}
	return raw
}

// strategicPatch asks OpenAPI v3, then v2, then the Go type; an error in one leads to the next, with a warning.
func strategicPatch(s *schemas, in Input) Patched {
	gvk := in.GVK.gvk()
	answer := Patched{}
	attempts := []attempt{
		{"openapi-v3", "error calculating patch from openapi v3 spec: ", rulesFromV3(s, gvk)},
		{"openapi-v2", "error calculating patch from openapi spec: ", nil},
	}
	for _, each := range attempts {
		if each.source == "openapi-v2" {
			each.rules = rulesFromV2(s, gvk)
		}
		if each.rules == nil {
			continue
		}
		patch, err := strategicpatch.CreateThreeWayMergePatch(orNothing(in.Original), in.Modified, in.Current, each.rules, overwrites(in))
		if err == nil {
			answer.Patch, answer.Source = patch, each.source
			return withResult(answer, in)
		}
		answer.Warnings = append(answer.Warnings, each.warning+err.Error())
	}
	return fromGoType(answer, in)
}

func fromGoType(answer Patched, in Input) Patched {
	object, err := kubectlscheme.Scheme.New(in.GVK.gvk())
	if runtime.IsNotRegisteredError(err) {
		if len(answer.Warnings) == 0 {
			answer.Error = err.Error()
			return answer
		}
		merged := mergePatch(in)
		merged.Warnings, merged.Source = answer.Warnings, "json-merge"
		return merged
	}
	must(err)
	rules, err := strategicpatch.NewPatchMetaFromStruct(object)
	must(err)
	patch, err := strategicpatch.CreateThreeWayMergePatch(orNothing(in.Original), in.Modified, in.Current, rules, overwrites(in))
	if err != nil {
		answer.Error = err.Error()
		return answer
	}
	answer.Patch, answer.Source = patch, "builtin"
	return withResult(answer, in)
}

// withResult applies the patch as the API server does: by the Go type.
func withResult(answer Patched, in Input) Patched {
	if in.PatchAlone {
		return answer
	}
	object, err := goTypes.New(in.GVK.gvk())
	must(err)
	result, err := strategicpatch.StrategicMergePatch(in.Current, answer.Patch, object)
	if err != nil {
		answer.ResultError = err.Error()
		return answer
	}
	answer.Result = result
	return answer
}

// threeWayOrAlone answers a case that brings its patch with what becomes of the live object.
func threeWayOrAlone(in Input, threeWay func(Input) Patched) Patched {
	if isGiven(in.Patch) {
		return applyPatch(in)
	}
	return threeWay(in)
}

// applyPatch applies a patch as the API server does: a list is a JSON patch, a map with a kind a strategic merge
// patch, and without one a JSON merge patch.
func applyPatch(in Input) Patched {
	result, err := patched(in)
	if err != nil {
		return Patched{Error: err.Error()}
	}
	return Patched{Result: result}
}

func patched(in Input) ([]byte, error) {
	if operations, err := jsonpatch.DecodePatch(in.Patch); err == nil {
		return operations.Apply(in.Current)
	}
	if in.GVK.Kind == "" {
		return jsonpatch.MergePatch(in.Current, in.Patch)
	}
	object, err := goTypes.New(in.GVK.gvk())
	must(err)
	return strategicpatch.StrategicMergePatch(in.Current, in.Patch, object)
}

// rulesFromV3 gives rules for a kind whose PATCH takes a strategic merge patch.
func rulesFromV3(s *schemas, gvk schema.GroupVersionKind) strategicpatch.LookupPatchMeta {
	document := s.document(gvk.GroupVersion())
	if document == nil || document.Paths == nil || document.Components == nil {
		return nil
	}
	for _, path := range document.Paths.Paths {
		if path.Patch == nil || !speaksOf(path.Patch.Extensions, gvk) {
			continue
		}
		if path.Patch.RequestBody == nil {
			return nil
		}
		if _, takes := path.Patch.RequestBody.Content[string(types.StrategicMergePatchType)]; !takes {
			return nil
		}
		for _, each := range document.Components.Schemas {
			if speaksOf(each.Extensions, gvk) {
				return strategicpatch.PatchMetaFromOpenAPIV3{Schema: each, SchemaList: document.Components.Schemas}
			}
		}
	}
	return nil
}

// speaksOf reads the kind from an extension, which holds one kind or a list of them.
func speaksOf(extensions spec.Extensions, gvk schema.GroupVersionKind) bool {
	const name = "x-kubernetes-group-version-kind"
	var one Kind
	if extensions.GetObject(name, &one) == nil && one.gvk() == gvk {
		return true
	}
	var several []Kind
	return extensions.GetObject(name, &several) == nil && slices.Contains(several, Kind(gvk))
}

func rulesFromV2(s *schemas, gvk schema.GroupVersionKind) strategicpatch.LookupPatchMeta {
	if !slices.Contains(s.v2().GetConsumes(gvk, "PATCH"), string(types.StrategicMergePatchType)) {
		return nil
	}
	found := s.v2().LookupResource(gvk)
	if found == nil {
		return nil
	}
	return strategicpatch.PatchMetaFromOpenAPI{Schema: found}
}

// mergePatch is what kubectl computes for a kind without merge rules.
func mergePatch(in Input) Patched {
	patch, err := jsonmergepatch.CreateThreeWayJSONMergePatch(orNothing(in.Original), in.Modified, in.Current,
		mergepatch.RequireKeyUnchanged("apiVersion"), mergepatch.RequireKeyUnchanged("kind"),
		mergepatch.RequireMetadataKeyUnchanged("name"))
	if mergepatch.IsPreconditionFailed(err) {
		return Patched{Error: "At least one of apiVersion, kind and name was changed"}
	}
	if err != nil {
		return Patched{Error: err.Error()}
	}
	answer := Patched{Patch: patch}
	result, err := jsonpatch.MergePatch(in.Current, patch)
	if err != nil {
		answer.ResultError = err.Error()
		return answer
	}
	answer.Result = result
	return answer
}
