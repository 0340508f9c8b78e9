package main

import (
	"reflect"
	"sort"
	"strings"
)

// listLike names, by OpenAPI definition, the fields for which a strategic patch takes a list although the schema has
// none: Go has a pointer or bytes there.
func listLike() map[string][]string {
	found := map[string][]string{}
	seen := map[reflect.Type]bool{}
	for _, known := range goTypes.AllKnownTypes() {
		visitType(known, seen, found)
	}
	return found
}

func visitType(t reflect.Type, seen map[reflect.Type]bool, found map[string][]string) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || seen[t] {
		return
	}
	seen[t] = true
	if names := listLikeFields(t, seen, found); len(names) > 0 {
		sort.Strings(names)
		found[definitionName(t)] = names
	}
}

func listLikeFields(t reflect.Type, seen map[reflect.Type]bool, found map[string][]string) []string {
	var names []string
	for n := 0; n < t.NumField(); n++ {
		field := t.Field(n)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Anonymous && name == "" && field.Type.Kind() == reflect.Struct {
			names = append(names, listLikeFields(field.Type, seen, found)...)
			continue
		}
		visitType(field.Type, seen, found)
		isBytes := field.Type.Kind() == reflect.Slice && field.Type.Elem().Kind() == reflect.Uint8
		if name != "" && name != "-" && (field.Type.Kind() == reflect.Pointer || isBytes) {
			names = append(names, name)
		}
	}
	return names
}

// definitionName is a Go type as OpenAPI documents name it: the parts of the first step of its package reversed.
func definitionName(t reflect.Type) string {
	host, path, _ := strings.Cut(t.PkgPath(), "/")
	parts := strings.Split(host, ".")
	for i, j := 0, len(parts)-1; i < j; i, j = i+1, j-1 {
		parts[i], parts[j] = parts[j], parts[i]
	}
	return strings.Join(parts, ".") + "." + strings.ReplaceAll(path, "/", ".") + "." + t.Name()
}
