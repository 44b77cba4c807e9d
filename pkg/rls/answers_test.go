package rls_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
	"github.com/envoy-rls/envoy-rls/pkg/rls"
)

// TestAnswers runs testdata/answers: rules, calls, and the answers to them. The
// commands are
//
//	rules OPTION…   a fresh limiter with these rules
//	call            calls, one a line; also wait 1s, and used [k=v]
//	metadata        calls, of which the dynamic metadata is shown
//	store           fails KIND, or works
//
// What a line of a call looks like, parseCall says. With -rewrite the files are
// written anew: read what changed.
func TestAnswers(t *testing.T) {
	datadriven.Walk(t, "testdata/answers", func(t *testing.T, path string) {
		t.Parallel()
		var w *world
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "rules":
				w = newWorld(t, d.Input, func(o *rls.Options, r *descriptors.Options) { parseOptions(t, d, o, r) })
				return ""
			case "call":
				return eachLine(d.Input, w.line)
			case "metadata":
				return eachLine(d.Input, func(line string) string {
					ans := w.answer(line)
					text, err := json.MarshalIndent(ans.Metadata, "", " ")
					if err != nil {
						t.Fatal(err)
					}
					return describe(ans) + "\n" + string(text)
				})
			case "store":
				w.fails.recover()
				if d.HasArg("fails") {
					w.fails.fail(buckets.KindTimeout)
				}
				return ""
			}
			t.Fatalf("%s: unknown command %s", d.Pos, d.Cmd)
			return ""
		})
	})
}

func eachLine(input string, f func(string) string) string {
	var b strings.Builder
	for line := range strings.Lines(input) {
		b.WriteString(f(strings.TrimSpace(line)) + "\n")
	}
	return b.String()
}

// line runs a line of the command call.
func (w *world) line(line string) string {
	w.t.Helper()
	name, rest, _ := strings.Cut(line, " ")
	switch name {
	case "wait":
		d, err := time.ParseDuration(rest)
		if err != nil {
			w.t.Fatal(err)
		}
		w.wait(d)
		return "…"
	case "used":
		req := parseCall(w.t, rest)
		return "used " + strings.Trim(fmt.Sprint(w.used(req.Domain, &req.Descriptors[0])), "[]")
	}
	before := w.fails.calls.Load()
	answer := w.call(line)
	if w.fails.calls.Load() == before {
		answer += " (no store call)"
	}
	return answer
}

func parseOptions(t *testing.T, d *datadriven.TestData, o *rls.Options, r *descriptors.Options) {
	for _, arg := range d.CmdArgs {
		value := strings.Join(arg.Vals, ",")
		switch arg.Key {
		case "reference":
			o.Reference = true
		case "shadow":
			o.Shadow = true
		case "quota":
			o.Quota = true
		case "metadata":
			o.Metadata = true
		case "no-local":
			o.Local = nil
		case "replicas":
			n, err := strconv.Atoi(value)
			if err != nil {
				t.Fatal(err)
			}
			o.Replicas = n
		case "headers":
			parseHeaders(value, &o.Headers)
		case "on_store_error":
			r.OnStoreError, _ = descriptors.ParseStorePolicy(value)
		case "algorithm":
			r.Algorithm, _ = buckets.ParseAlgorithm(value)
		default:
			t.Fatalf("%s: unknown option %s", d.Pos, arg.Key)
		}
	}
}

func parseHeaders(list string, h *rls.HeaderOptions) {
	h.RateLimit = strings.Contains(","+list, ",ratelimit")
	h.XRateLimit = strings.Contains(list, "x-ratelimit")
	h.Rule = strings.Contains(list, "rule")
	if strings.Contains(list, "named") {
		h.Limit, h.Remaining, h.Reset = "L", "R", "T"
	}
}
