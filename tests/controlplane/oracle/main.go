// Command oracle answers merge cases with the published Kubernetes libraries: one JSON line in, one JSON line out.
//
// A line is {"op": …, "input": …}, as in the recorded corpora; the answer is {"expected": …}, or {"panic": …} when a
// library broke down. With "repeat": n the case is answered n times more, and "nanoseconds" is the median of the
// processor time that they took. Schemas are the OpenAPI documents that a real API server served, in the folder -openapi.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

// Question is one line of input.
type Question struct {
	Op     string `json:"op"`
	Input  Input  `json:"input"`
	Repeat int    `json:"repeat,omitempty"`
}

// Input holds the fields of all operations; each uses its own.
type Input struct {
	GVK         Kind            `json:"gvk"`
	CRD         json.RawMessage `json:"crd,omitempty"`
	Original    json.RawMessage `json:"original,omitempty"`
	Modified    json.RawMessage `json:"modified,omitempty"`
	Current     json.RawMessage `json:"current,omitempty"`
	Patch       json.RawMessage `json:"patch,omitempty"`
	Overwrite   *bool           `json:"overwrite,omitempty"`
	PatchAlone  bool            `json:"patchAlone,omitempty"`
	Live        json.RawMessage `json:"live,omitempty"`
	Applied     json.RawMessage `json:"applied,omitempty"`
	New         json.RawMessage `json:"new,omitempty"`
	Manager     string          `json:"manager,omitempty"`
	Subresource string          `json:"subresource,omitempty"`
	Force       bool            `json:"force,omitempty"`
	CSAManagers []string        `json:"csaManagers,omitempty"`
	Data        []byte          `json:"data,omitempty"`
}

// Reply is one line of output.
type Reply struct {
	Expected    any    `json:"expected,omitempty"`
	Panic       string `json:"panic,omitempty"`
	Nanoseconds int64  `json:"nanoseconds,omitempty"`
}

// tables are what the bundled data of a minor takes from the Go types.
var tables = map[string]func() any{
	"golists":        func() any { return listLike() },
	"go_types":       func() any { return listGoTypes() },
	"internal_types": func() any { return listInternalTypes() },
	"zero_objects":   func() any { return listZeroObjects() },
}

func main() {
	folder := flag.String("openapi", "", "folder of OpenAPI documents (v2.json and v3/*.json)")
	table := flag.String("print", "", "print a table and end: "+strings.Join(slices.Sorted(maps.Keys(tables)), ", "))
	flag.Parse()
	if print, known := tables[*table]; known {
		os.Stdout.Write(compact(print()))
		return
	}
	schemas := newSchemas(*folder)
	operations := map[string]func(Input) any{
		"smp3": func(in Input) any {
			return threeWayOrAlone(in, func(in Input) Patched { return strategicPatch(schemas, in) })
		},
		"jmp3":       func(in Input) any { return threeWayOrAlone(in, mergePatch) },
		"ssa":        func(in Input) any { return serverSideApply(schemas, in) },
		"update":     func(in Input) any { return update(schemas, in) },
		"csaupgrade": func(in Input) any { return upgrade(in) },
		"reading":    func(in Input) any { return readManifests(in) },
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
	return Reply{Expected: operation(question.Input), Nanoseconds: medianTime(question.Repeat, func() { operation(question.Input) })}
}

// processorTime is what this process has used so far, its garbage collector included: other load does not count.
func processorTime() int64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return usage.Utime.Nano() + usage.Stime.Nano()
}

// medianTime runs work that often on one core; 0 when it is not to be run at all.
func medianTime(times int, work func()) int64 {
	if times <= 0 {
		return 0
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	taken := make([]int64, times)
	for n := range taken {
		begin := processorTime()
		work()
		taken[n] = processorTime() - begin
	}
	slices.Sort(taken)
	return taken[times/2]
}
