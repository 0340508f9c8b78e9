package main

import (
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/kubectl/pkg/validation"
)

// Read is how kubectl reads one file: its objects, and what is wrong with the others.
type Read struct {
	Objects []any  `json:"objects"`
	Error   string `json:"error,omitempty"`
}

// serverValidates is a server that checks fields itself, so that kubectl leaves all but the kind of an object to it.
type serverValidates struct{}

func (serverValidates) HasSupport(schema.GroupVersionKind) error { return nil }

// readManifests reads a file with kubectl's own visitors; nothing is asked of a server.
func readManifests(in Input) Read {
	folder, err := os.MkdirTemp("", "oracle")
	must(err)
	defer os.RemoveAll(folder)
	file := filepath.Join(folder, "case.yaml")
	must(os.WriteFile(file, in.Data, 0o600))
	answer := Read{Objects: []any{}}
	checks := validation.NewParamVerifyingSchema(nil, serverValidates{}, "Strict")
	visitor := resource.NewLocalBuilder().Unstructured().Schema(checks).ContinueOnError().
		FilenameParam(false, &resource.FilenameOptions{Filenames: []string{file}}).Flatten().Do()
	err = visitor.Visit(func(info *resource.Info, err error) error {
		if err != nil {
			return err
		}
		if free, ok := info.Object.(*unstructured.Unstructured); ok {
			answer.Objects = append(answer.Objects, free.Object)
		}
		return nil
	})
	if err != nil {
		answer.Error = err.Error()
	}
	return answer
}
