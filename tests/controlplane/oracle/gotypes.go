package main

import (
	"reflect"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// goStruct is a struct as the sandbox reads it: its fields as [name, code, options, Go type, protobuf field], and the
// names of embedded structs by their protobuf field.
type goStruct struct {
	Fields   [][]any           `json:"f"`
	Name     string            `json:"go"`
	Embedded map[string]string `json:"in,omitempty"`
}

// goTable holds the struct of each kind and every struct that these reach.
type goTable struct {
	Kinds map[string]string   `json:"kinds"`
	Types map[string]goStruct `json:"types"`
}

// ownForms are types that write JSON of their own, each with its code.
var ownForms = map[string]string{
	"meta.Time":      "T",
	"meta.MicroTime": "M",
	"meta.Duration":  "D",
	"meta.FieldsV1":  "R",

	"api/resource.Quantity":                         "Q",
	"util/intstr.IntOrString":                       "I",
	"pkg/runtime.RawExtension":                      "R",
	"apiextensions/v1.JSON":                         "R",
	"apiextensions/v1.JSONSchemaPropsOrBool":        "B",
	"apiextensions/v1.JSONSchemaPropsOrArray":       "A",
	"apiextensions/v1.JSONSchemaPropsOrStringArray": "S",
}

var stableVersion = regexp.MustCompile(`^v\d+$`)

// aggregated knows the kinds that the aggregator serves beside the API server.
func aggregated() *runtime.Scheme {
	known := runtime.NewScheme()
	must(apiregistration.AddToScheme(known))
	return known
}

// listGoTypes gives the table of all kinds of stable versions; of options only those that clients send as a body.
func listGoTypes() goTable {
	table := goTable{map[string]string{}, map[string]goStruct{}}
	for _, known := range []*runtime.Scheme{goTypes, aggregated()} {
		for gvk, t := range known.AllKnownTypes() {
			if isBody(gvk) {
				table.Kinds[gvk.GroupVersion().String()+"/"+gvk.Kind] = goName(t)
				table.visit(t)
			}
		}
	}
	return table
}

func isBody(gvk schema.GroupVersionKind) bool {
	if gvk.Kind == "DeleteOptions" {
		return gvk.Group == "" && gvk.Version == "v1"
	}
	isPart := strings.HasSuffix(gvk.Kind, "List") || strings.HasSuffix(gvk.Kind, "Options") || gvk.Kind == "WatchEvent"
	return stableVersion.MatchString(gvk.Version) && !isPart
}

// goName is a type with the last two steps of its package, `core/v1.Container`; `meta.ObjectMeta` for those of metav1.
func goName(t reflect.Type) string {
	parts := strings.Split(t.PkgPath(), "/")
	name := strings.Join(parts[max(0, len(parts)-2):], "/")
	if name == "meta/v1" {
		name = "meta"
	}
	return name + "." + t.Name()
}

func (g goTable) visit(t reflect.Type) {
	name := goName(t)
	if _, seen := g.Types[name]; seen {
		return
	}
	g.Types[name] = goStruct{}
	found := goStruct{Fields: [][]any{}, Name: t.Name(), Embedded: map[string]string{}}
	g.addFields(&found, t, "")
	g.Types[name] = found
}

// addFields adds the fields of a struct; those of an embedded one stand in its place, below its protobuf field.
func (g goTable) addFields(found *goStruct, t reflect.Type, below string) {
	for n := 0; n < t.NumField(); n++ {
		field := t.Field(n)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		number := ""
		if parts := strings.Split(field.Tag.Get("protobuf"), ","); len(parts) > 1 {
			number = parts[1]
		}
		switch {
		case field.Anonymous && name == "" && number == "":
			g.addFields(found, field.Type, below)
		case field.Anonymous && name == "":
			found.Embedded[below+number] = field.Name
			g.addFields(found, field.Type, below+number+"/")
		case name != "" && name != "-":
			found.Fields = append(found.Fields,
				[]any{name, g.code(field.Type), shortOptions(options), field.Type.String(), below + number})
		}
	}
}

func shortOptions(options string) string {
	short, given := "", strings.Split(options, ",")
	if slices.Contains(given, "omitempty") {
		short += "e"
	}
	if slices.Contains(given, "omitzero") {
		short += "z"
	}
	return short
}

func (g goTable) code(t reflect.Type) any {
	if code, isOwn := ownForms[goName(t)]; isOwn {
		return code
	}
	switch t.Kind() {
	case reflect.Pointer:
		return []any{"*", g.code(t.Elem())}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "y"
		}
		return []any{"[", g.code(t.Elem())}
	case reflect.Map:
		return []any{"{", g.code(t.Elem()), t.String()}
	case reflect.Struct:
		g.visit(t)
		return goName(t)
	case reflect.String:
		return "s"
	case reflect.Bool:
		return "b"
	case reflect.Float64:
		return "f"
	default:
		return t.Kind().String()
	}
}

// listZeroObjects gives what Go writes for an empty object of each kind.
func listZeroObjects() map[string]runtime.Object {
	found := map[string]runtime.Object{}
	for _, known := range []*runtime.Scheme{goTypes, aggregated()} {
		for gvk := range known.AllKnownTypes() {
			object, err := known.New(gvk)
			if err == nil && stableVersion.MatchString(gvk.Version) {
				object.GetObjectKind().SetGroupVersionKind(gvk)
				found[gvk.GroupVersion().String()+"/"+gvk.Kind] = object
			}
		}
	}
	return found
}
