package rls_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
	"github.com/envoy-rls/envoy-rls/pkg/rls"
)

// H7: what headers there are is a limiter's own, from the first call on: another
// limiter beside it and a reload change nothing, either way.
func TestH7HeadersFollowTheirLimiter(t *testing.T) {
	t.Parallel()
	const rules = "domain: d\ndescriptors: [{key: a, rate_limit: {unit: minute, requests_per_unit: 9}}]\n"
	with := newWorld(t, rules, func(o *rls.Options, _ *descriptors.Options) { o.Headers.RateLimit = true })
	without := newWorld(t, rules, nil)
	for range 2 {
		if ans := with.answer("[a=1]"); len(ans.ResponseHeaders) == 0 {
			t.Error("no headers though they are on")
		}
		if ans := without.answer("[a=1]"); len(ans.ResponseHeaders) > 0 {
			t.Errorf("headers though they are off: %v", ans.ResponseHeaders)
		}
		with.Install(with.compile(rules))
		without.Install(without.compile(rules))
	}
}

// H10: a denial is an answer and never an error. A store that fails is never a
// silent OK: it is an error, or an answer that names the policy which gave it.
func TestH10DenialsAndFailuresDiffer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, onePolicyEach, func(o *rls.Options, _ *descriptors.Options) { o.Metadata = true })
	for range 9 {
		w.answer("[error=1]")
	}
	if ans := w.answer("[error=1]"); ans.Code != rls.OverLimit || policyOf(ans) != "" {
		t.Errorf("the tenth of nine: %s, policy %q", describe(ans), policyOf(ans))
	}
	w.fails.fail(buckets.KindConnection)
	err := w.Decide(context.Background(), parseCall(t, "[error=1]"), new(rls.Answer))
	if failed, ok := errors.AsType[*rls.Error](err); !ok || failed.Kind != rls.Unavailable {
		t.Errorf("on_store_error: error made %v", err)
	}
	for policy, code := range map[string]rls.Code{"allow": rls.OK, "deny": rls.OverLimit, "local": rls.OK} {
		if ans := w.answer("[" + policy + "=1]"); ans.Code != code || policyOf(ans) != policy {
			t.Errorf("on_store_error: %s answered %s, and names %q", policy, describe(ans), policyOf(ans))
		}
	}
}

func policyOf(ans *rls.Answer) string {
	policy, _ := ans.Metadata["store_policy"].(string)
	return policy
}

// M6: no error of a call names what the call carries.
func TestM6ErrorsNameNoValues(t *testing.T) {
	t.Parallel()
	w := newWorld(t, onePolicyEach, nil)
	for _, line := range []string{"[error=s3cret]{limit=1/99}", "[s3cret=s3cret]{limit=1/99}", "[error=s3cret]"} {
		w.fails.fail(buckets.KindScript)
		err := w.Decide(context.Background(), parseCall(t, line), new(rls.Answer))
		if err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// M7: hits are counted with the decision that they led to. A store that fails
// decides nothing: its calls are counted as the policy's, by the reason.
func TestM7FailuresCountNoHits(t *testing.T) {
	t.Parallel()
	r := newRecorder()
	w := newWorld(t, onePolicyEach, func(o *rls.Options, _ *descriptors.Options) { o.Metrics = r })
	w.answer("[allow=1]")
	if got := strings.Join(r.take(), ", "); got != "d d/allow hits 1, d d/allow ok 1" {
		t.Errorf("a decision counted %q", got)
	}
	w.fails.fail(buckets.KindTimeout)
	w.answer("[allow=1]")
	w.call("[error=1]")
	if got := strings.Join(r.take(), ", "); got != "d policy allow timeout 1, d policy error timeout 1" {
		t.Errorf("two failures counted %q", got)
	}
}

// A9: while the store of a fleet is away, on_store_error: local admits what each
// server's share of the amount is, rounded up, and no more, whatever the outages:
// what a server counted stays with it. With what the store admitted before, that
// is the bound that docs/guides/redis.md names.
func TestA9LocalBoundOfAFleet(t *testing.T) {
	t.Parallel()
	const amount, servers, share = 10, 3, 4
	for _, a := range buckets.Algorithms() {
		shared := newWorld(t, "domain: d\ndescriptors: []\n", nil)
		var fleet []*world
		for range servers {
			w := newWorld(t, fmt.Sprintf("domain: d\ndescriptors: [{key: a, rate_limit: {unit: day, requests_per_unit: %d, algorithm: %s, on_store_error: local%s}}]\n",
				amount, a, map[bool]string{true: ", burst: 10"}[a.HasBurst()]),
				func(o *rls.Options, _ *descriptors.Options) {
					o.Replicas = servers
					o.Store = shared.fails
				})
			fleet = append(fleet, w)
		}
		admitted := func() (n int) {
			for i := range 30 * servers {
				if fleet[i%servers].answer("[a=1]").Code == rls.OK {
					n++
				}
			}
			return n
		}
		if n := admitted(); n != amount {
			t.Errorf("%v: the store admitted %d, want %d", a, n, amount)
		}
		shared.fails.fail(buckets.KindConnection)
		if n := admitted(); n != servers*share {
			t.Errorf("%v: the fleet admitted %d without its store, want %d", a, n, servers*share)
		}
		shared.fails.recover()
		if n := admitted(); n != 0 {
			t.Errorf("%v: the store admitted %d on its return", a, n)
		}
		shared.fails.fail(buckets.KindConnection)
		if n := admitted(); n != 0 {
			t.Errorf("%v: a second outage admitted %d more", a, n)
		}
	}
}
