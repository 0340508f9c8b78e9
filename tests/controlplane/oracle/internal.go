package main

import (
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/apis/core"
)

// internalTable holds the structs that the server works with, by name: their fields as [name in Go, name in JSON, code].
// The name in Go is empty for metadata, whose fields are printed in the place of the struct.
type internalTable map[string][][]any

// listInternalTypes gives the structs of a pod template: an error that quotes one prints the fields of these, in their
// order, and not those of the API.
func listInternalTypes() internalTable {
	table := internalTable{}
	table.visit(reflect.TypeFor[core.PodTemplateSpec](), reflect.TypeFor[corev1.PodTemplateSpec]())
	return table
}

func (g internalTable) visit(t, served reflect.Type) {
	name := goName(t)
	if _, seen := g[name]; seen {
		return
	}
	g[name] = nil
	g[name] = g.list(t, served)
}

// list gives the fields of a struct; those of an embedded one stand in its place.
func (g internalTable) list(t, served reflect.Type) [][]any {
	found := [][]any{}
	for n := 0; n < t.NumField(); n++ {
		field := t.Field(n)
		twin, isServed := served.FieldByName(field.Name)
		name, _, _ := strings.Cut(twin.Tag.Get("json"), ",")
		switch {
		case field.Anonymous && field.Name == "ObjectMeta":
			found = append(found, []any{"", name, g.code(field.Type, twin.Type)})
		case field.Anonymous:
			found = append(found, g.list(field.Type, twin.Type)...)
		case !isServed: // the API has it in another struct
			name = strings.ToLower(field.Name[:1]) + field.Name[1:]
			found = append(found, []any{field.Name, name, g.code(field.Type, field.Type)})
		default:
			found = append(found, []any{field.Name, name, g.code(field.Type, twin.Type)})
		}
	}
	return found
}

// code is that of a type; `=` marks a struct that prints itself as the API does.
func (g internalTable) code(t, served reflect.Type) any {
	if code, isOwn := ownForms[goName(t)]; isOwn {
		return code
	}
	switch t.Kind() {
	case reflect.Pointer:
		return []any{"*", g.code(t.Elem(), served.Elem())}
	case reflect.Slice:
		return []any{"[", g.code(t.Elem(), served.Elem())}
	case reflect.Map:
		return []any{"{", g.code(t.Elem(), served.Elem())}
	case reflect.Struct:
		if t == served {
			return "=" + goName(t)
		}
		g.visit(t, served)
		return goName(t)
	case reflect.String:
		return "s"
	case reflect.Bool:
		return "b"
	}
	return t.Kind().String()
}
