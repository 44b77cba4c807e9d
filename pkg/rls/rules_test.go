package rls_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
	"github.com/envoy-rls/envoy-rls/pkg/rls"
)

// TestWithoutRules: before the first Install, and for domains whose rules are in
// error and were never good.
func TestWithoutRules(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "domain: d\ndescriptors: []\n", nil)
	if rls.NewLimiter(w.opt).Ruleset() != nil {
		t.Error("a new limiter has a ruleset")
	}
	w.Limiter = rls.NewLimiter(w.opt)
	w.want("[a=1]", "UNAVAILABLE: no rules are loaded yet")
	w.want("domain=", "INVALID: the domain must not be empty")

	const good = "domain: d\ndescriptors: [{key: a, rate_limit: {unit: minute, requests_per_unit: 3}}]\n"
	const bad = "domain: d\ndescriptors: [{key: a, rate_limit: {unit: fortnight, requests_per_unit: 3}}]\n"
	const other = "domain: e\ndescriptors: [{key: a, rate_limit: {unit: minute, requests_per_unit: 3}}]\n"
	install := func(texts ...string) {
		var files []descriptors.File
		for i, text := range texts {
			files = append(files, descriptors.File{Name: fmt.Sprint(i, ".yaml"), Data: []byte(text)})
		}
		set, _ := descriptors.Compile(files, w.Ruleset(), descriptors.Options{})
		w.Install(set)
	}
	install(bad, other)
	w.want("[a=1]", "UNAVAILABLE: the rules of this domain are in error: see the server's log or `envoy-rls check`")
	w.want("domain=e [a=1]", "OK | OK of 3/minute left 2 reset 20s")
	w.want("domain=x [a=1]", "OK | OK")

	install(good, other)
	w.want("[a=1]", "OK | OK of 3/minute left 2 reset 20s")
	install(bad, other) // keeps the last good rules
	w.want("[a=1]", "OK | OK of 3/minute left 1 reset 40s")

	install(good, other, "\tnot: [yaml") // whose domain cannot be told
	w.want("domain=e [a=1]", "OK | OK of 3/minute left 1 reset 40s")
	w.want("domain=x [a=1]", "UNAVAILABLE: rule files are in error whose domain cannot be told, and it may be this one: see the server's log or `envoy-rls check`")
}

// TestInstallUnderLoad: a call sees one ruleset, the old or the new.
func TestInstallUnderLoad(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "domain: d\ndescriptors: []\n", func(o *rls.Options, _ *descriptors.Options) {
		o.Headers = rls.HeaderOptions{RateLimit: true, Rule: true}
	})
	sets := make([]*descriptors.Ruleset, 4)
	for i := range sets {
		limit := fmt.Sprintf("rate_limit: {unit: second, requests_per_unit: %d, name: gen%d", 1_000_000+i, i)
		sets[i] = w.compile("domain: d\ndescriptors: [{key: a, " + limit + "}}, {key: b, " + limit + "}}]\n")
	}
	w.Install(sets[0])
	stop := make(chan struct{})
	var installer, callers sync.WaitGroup
	installer.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				w.Install(sets[i%len(sets)])
			}
		}
	})
	for range 8 {
		callers.Go(func() {
			req := parseCall(t, "[a=1] [b=1] [a=1]")
			var ans rls.Answer
			for range 1000 {
				if err := w.Decide(context.Background(), req, &ans); err != nil {
					t.Error(err)
					return
				}
				name := ans.Statuses[0].Limit.Name
				rule := ans.ResponseHeaders[3]
				if name != ans.Statuses[1].Limit.Name || name != ans.Statuses[2].Limit.Name || rule.Value != name {
					t.Errorf("two rulesets in one call: %s", describe(&ans))
					return
				}
			}
		})
	}
	callers.Wait()
	close(stop)
	installer.Wait()
}

// TestManyLimits: up to a bound they are decided at once; beyond it the call is
// refused, and charges nothing.
func TestManyLimits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "domain: d\ndescriptors: [{key: a, rate_limits: [{unit: minute, requests_per_unit: 5}, {unit: day, requests_per_unit: 9}]}]\n", nil)
	line := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, " [a=%d]", i)
		}
		return b.String()
	}
	for range 5 {
		if ans := w.answer(line(rls.MaxLimitsPerCall / 2)); ans.Code != rls.OK || len(ans.Statuses) != rls.MaxLimitsPerCall/2 {
			t.Fatalf("%v with %d statuses", ans.Code, len(ans.Statuses))
		}
	}
	if ans := w.answer(line(rls.MaxLimitsPerCall / 2)); ans.Code != rls.OverLimit {
		t.Error("the sixth call passed limits of 5")
	}
	w.want(line(rls.MaxLimitsPerCall/2+1), "INVALID: more limits apply to this call than can be decided at once")
	w.want("[a=500]", "OK | OK of 5/minute left 4 reset 12s")
}

// TestManyDescriptors: up to a bound all are answered; beyond it the call is
// refused, before memory goes with it.
func TestManyDescriptors(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "domain: d\ndescriptors: [{key: a, rate_limit: {unit: minute, requests_per_unit: 4000000000}}]\n", nil)
	req := &rls.Request{Domain: "d"}
	for i := range rls.MaxDescriptorsPerCall {
		desc := req.AddDescriptor()
		if i%100 == 0 {
			desc.Entries = []descriptors.Entry{{Key: "a", Value: "1"}}
		}
	}
	var ans rls.Answer
	if err := w.Decide(context.Background(), req, &ans); err != nil {
		t.Fatal(err)
	}
	if len(ans.Statuses) != rls.MaxDescriptorsPerCall || ans.Statuses[900].Limit == nil || ans.Statuses[901].Limit != nil {
		t.Errorf("%d statuses", len(ans.Statuses))
	}
	req.AddDescriptor()
	if got := w.decide(req); got != "INVALID: a call has at most 1000 descriptors" {
		t.Errorf("one more: %s", got)
	}
}

// TestN4CheckThenIncrement: 400 callers who all see the last token.
func TestN4CheckThenIncrement(t *testing.T) {
	t.Parallel()
	w := newWorld(t, `
domain: d
descriptors:
- {key: a, rate_limit: {unit: day, requests_per_unit: 100}}
- {key: b, rate_limit: {unit: day, requests_per_unit: 300, algorithm: sliding_window_log}}
`, nil)
	passed := make(chan bool, 400)
	var done sync.WaitGroup
	for i := range 400 {
		line := []string{"[a=1] [b=1]", "[b=1] [a=1]"}[i%2]
		done.Go(func() {
			var ans rls.Answer
			if err := w.Decide(context.Background(), parseCall(t, line), &ans); err != nil {
				t.Error(err)
			}
			passed <- ans.Code == rls.OK
		})
	}
	done.Wait()
	close(passed)
	n := 0
	for ok := range passed {
		if ok {
			n++
		}
	}
	if n != 100 {
		t.Errorf("%d passed a limit of 100", n)
	}
	w.want("[b=1]{hits=0}", "OK | OK of 300/day left 200 reset 86400s")
}

// TestOptionsDefaults: what is left out of Options is sensible.
func TestOptionsDefaults(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "domain: d\ndescriptors: [{key: a, rate_limit: {unit: day, requests_per_unit: 5, algorithm: fixed_window, align: calendar}}]\n", nil)
	w.Limiter = rls.NewLimiter(rls.Options{Store: w.store})
	w.Install(w.compile("domain: d\ndescriptors: [{key: a, rate_limit: {unit: day, requests_per_unit: 5}}]\n"))
	w.want("[a=1] [none=1] [a=2]{limit=1/hour}", "OK | OK of 5/day left 4 reset 17280s | OK | OK of 1/hour left 0 reset 3600s")
}
