// Command oracle answers merge cases with the published Kubernetes libraries: one JSON line in, one JSON line out.
//
// A line is {"op": …, "input": …}, as in the recorded corpora; the answer is {"expected": …}, or {"panic": …} when a
// library broke down. Schemas are the OpenAPI documents that a real API server served, in the folder -openapi.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
)

// Question is one line of input.
type Question struct {
	Op    string `json:"op"`
	Input Input  `json:"input"`
}

// Input holds the fields of all operations; each uses its own.
type Input struct {
	GVK         Kind            `json:"gvk"`
	CRD         json.RawMessage `json:"crd,omitempty"`
	Original    json.RawMessage `json:"original,omitempty"`
	Modified    json.RawMessage `json:"modified,omitempty"`
	Current     json.RawMessage `json:"current,omitempty"`
	Live        json.RawMessage `json:"live,omitempty"`
	Applied     json.RawMessage `json:"applied,omitempty"`
	New         json.RawMessage `json:"new,omitempty"`
	Manager     string          `json:"manager,omitempty"`
	Subresource string          `json:"subresource,omitempty"`
	Force       bool            `json:"force,omitempty"`
	CSAManagers []string        `json:"csaManagers,omitempty"`
}

// Reply is one line of output.
type Reply struct {
	Expected any    `json:"expected,omitempty"`
	Panic    string `json:"panic,omitempty"`
}

func main() {
	folder := flag.String("openapi", "", "folder of OpenAPI documents (v2.json and v3/*.json)")
	flag.Parse()
	schemas := newSchemas(*folder)
	operations := map[string]func(Input) any{
		"smp3":       func(in Input) any { return strategicPatch(schemas, in) },
		"jmp3":       func(in Input) any { return mergePatch(in) },
		"ssa":        func(in Input) any { return serverSideApply(schemas, in) },
		"update":     func(in Input) any { return update(schemas, in) },
		"csaupgrade": func(in Input) any { return upgrade(in) },
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(make([]byte, 1<<20), 64<<20)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for lines.Scan() {
		out.Write(compact(answer(operations, lines.Bytes())))
		out.WriteByte('\n')
		out.Flush()
	}
	if err := lines.Err(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// answer turns a panic of a library into an answer: the driver leaves such cases out.
func answer(operations map[string]func(Input) any, line []byte) (reply Reply) {
	defer func() {
		if broken := recover(); broken != nil {
			reply = Reply{Panic: fmt.Sprint(broken)}
		}
	}()
	var question Question
	if err := json.Unmarshal(line, &question); err != nil {
		return Reply{Panic: err.Error()}
	}
	operation, known := operations[question.Op]
	if !known {
		return Reply{Panic: "unknown operation " + question.Op}
	}
	return Reply{Expected: operation(question.Input)}
}
