package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	openapi_v2 "github.com/google/gnostic-models/openapiv2"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/conversion"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kubectl/pkg/util/openapi"
)

// Kind is a group, version and kind as JSON.
type Kind struct {
	Group   string `json:"group"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
}

func (k Kind) gvk() schema.GroupVersionKind { return schema.GroupVersionKind(k) }

// goTypes knows the Go type of every built-in kind.
var goTypes = func() *runtime.Scheme {
	types := runtime.NewScheme()
	must(scheme.AddToScheme(types))
	must(apiextensions.AddToScheme(types))
	return types
}()

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// isGiven tells a value from an absent one and from null.
func isGiven(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// compact writes JSON as the recorded corpora hold it: no HTML escapes, no final newline.
func compact(value any) []byte {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	must(encoder.Encode(value))
	return bytes.TrimRight(buffer.Bytes(), "\n")
}

// custom is what the API server makes of a CustomResourceDefinition.
type custom struct {
	definition *apiextensions.CustomResourceDefinition
	types      managedfields.TypeConverter
	versions   runtime.ObjectConvertor
}

// schemas reads each document once.
type schemas struct {
	folder     string
	documents  map[schema.GroupVersion]*spec3.OpenAPI
	converters map[schema.GroupVersion]managedfields.TypeConverter
	customs    map[string]*custom
	older      openapi.Resources
}

func newSchemas(folder string) *schemas {
	return &schemas{
		folder:     folder,
		documents:  map[schema.GroupVersion]*spec3.OpenAPI{},
		converters: map[schema.GroupVersion]managedfields.TypeConverter{},
		customs:    map[string]*custom{},
	}
}

// document is nil when the server does not serve the version.
func (s *schemas) document(gv schema.GroupVersion) *spec3.OpenAPI {
	if found, ok := s.documents[gv]; ok {
		return found
	}
	name := "apis." + gv.Group + "." + gv.Version + ".json"
	if gv.Group == "" {
		name = "api." + gv.Version + ".json"
	}
	data, err := os.ReadFile(filepath.Join(s.folder, "v3", name))
	if os.IsNotExist(err) {
		s.documents[gv] = nil
		return nil
	}
	must(err)
	found := &spec3.OpenAPI{}
	must(json.Unmarshal(data, found))
	s.documents[gv] = found
	return found
}

// v2 is the document that kubectl falls back to.
func (s *schemas) v2() openapi.Resources {
	if s.older == nil {
		data, err := os.ReadFile(filepath.Join(s.folder, "v2.json"))
		must(err)
		document, err := openapi_v2.ParseDocument(data)
		must(err)
		s.older, err = openapi.NewOpenAPIData(document)
		must(err)
	}
	return s.older
}

// converter gives objects of a built-in version their types.
func (s *schemas) converter(gv schema.GroupVersion) (managedfields.TypeConverter, error) {
	if found, ok := s.converters[gv]; ok {
		return found, nil
	}
	document := s.document(gv)
	if document == nil {
		return nil, fmt.Errorf("no OpenAPI document for %s", gv)
	}
	made, err := managedfields.NewTypeConverter(document.Components.Schemas, false)
	if err == nil {
		s.converters[gv] = made
	}
	return made, err
}

// custom builds types and conversion of a custom resource: all its versions beside the server's own schemas.
func (s *schemas) custom(raw json.RawMessage) (*custom, error) {
	if found, ok := s.customs[string(raw)]; ok {
		return found, nil
	}
	definition := &apiextensions.CustomResourceDefinition{}
	if err := json.Unmarshal(raw, definition); err != nil {
		return nil, err
	}
	apiextensions.SetDefaults_CustomResourceDefinitionSpec(&definition.Spec)
	own := s.document(schema.GroupVersion{Group: "apiextensions.k8s.io", Version: "v1"})
	parts := []*spec3.OpenAPI{{
		Version:    "3.0.0",
		Info:       &spec.Info{InfoProps: spec.InfoProps{Title: "oracle", Version: "1"}},
		Components: &spec3.Components{Schemas: own.Components.Schemas},
	}}
	for _, version := range definition.Spec.Versions {
		part, err := builder.BuildOpenAPIV3(definition, version.Name, builder.Options{})
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	whole, err := builder.MergeSpecsV3(parts...)
	if err != nil {
		return nil, err
	}
	made := &custom{definition: definition}
	if made.types, err = managedfields.NewTypeConverter(whole.Components.Schemas, definition.Spec.PreserveUnknownFields); err != nil {
		return nil, err
	}
	factory, err := conversion.NewCRConverterFactory(nil, nil)
	if err != nil {
		return nil, err
	}
	if made.versions, _, err = factory.NewConverter(definition); err != nil {
		return nil, err
	}
	s.customs[string(raw)] = made
	return made, nil
}
