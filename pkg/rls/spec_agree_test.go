package rls_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
	"github.com/envoy-rls/envoy-rls/pkg/rls"
)

// TestDecisionsAgreeWithTheContract holds Decide to plainSpec for random rules
// and calls: the overall code, each descriptor's code, what remains and when it
// resets, and the state of every bucket after each call.
func TestDecisionsAgreeWithTheContract(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		spec := &plainSpec{
			rules:      map[string]plainRule{},
			shadowMode: rapid.IntRange(0, 9).Draw(rt, "SHADOW_MODE") == 0,
			quotaMode:  rapid.IntRange(0, 5).Draw(rt, "QUOTA_MODE") == 0,
			done:       map[string][]deed{},
		}
		text := "domain: d\ndescriptors:\n"
		for _, key := range []string{"a", "b", "c", "e"} {
			rule := drawRule(rt, key)
			spec.rules[key] = rule
			text += rule.yaml()
		}
		rt.Log(text)
		w := newWorld(t, text, func(o *rls.Options, _ *descriptors.Options) {
			o.Shadow, o.Quota = spec.shadowMode, spec.quotaMode
		})
		for range rapid.IntRange(1, 12).Draw(rt, "calls") {
			w.wait(time.Duration(rapid.SampledFrom([]int{0, 0, 1, 200_000, 999_999, 1_000_000, 12_000_000}).Draw(rt, "wait")) * time.Microsecond)
			spec.nowMicros = w.nowMicros()
			line := drawCall(rt)
			rt.Log(line)
			agree(rt, w, spec, line)
		}
		w.close()
	})
}

func agree(t *rapid.T, w *world, spec *plainSpec, line string) {
	req := parseCall(w.t, line)
	var ans rls.Answer
	if err := w.Decide(context.Background(), req, &ans); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	code, descriptors := spec.decide(req)
	if ans.Code != code {
		t.Fatalf("%s: got %s, want overall %s, %+v", line, describe(&ans), codeName(code), descriptors)
	}
	for i, want := range descriptors {
		s := ans.Statuses[i]
		got := told{s.Code, want.limits, uint64(s.Remaining), s.ResetSeconds}
		if want.limits > 1 { // which of them is told is not for here
			want.remaining, want.reset = got.remaining, got.reset
		}
		if got != want {
			t.Fatalf("%s: got %s, want of descriptor %d %+v", line, describe(&ans), i, want)
		}
	}
	world := spec.world()
	for key, deeds := range spec.done {
		want := world.Value([]byte(key))
		state, there := w.store.Peek([]byte(key))
		got := buckets.AppendState(nil, deeds[0].item.Limit.Algorithm, state)
		dropped := !there && (want == nil || world.FreshAtMicros([]byte(key)) <= spec.nowMicros)
		if diff := cmp.Diff(want, got); diff != "" && !dropped {
			t.Fatalf("%s: got %s, but state of %s:\n%s", line, describe(&ans), key, diff)
		}
	}
}

func drawRule(t *rapid.T, key string) plainRule {
	r := plainRule{key: key}
	switch rapid.IntRange(0, 9).Draw(t, "role") {
	case 0, 1:
		r.shadow = true
	case 2, 3, 4:
		r.quota = true
	}
	switch rapid.IntRange(0, 9).Draw(t, "limits") {
	case 0:
		return r // a whitelist
	case 1:
		r.limits = []plainLimit{{unlimited: true}}
	case 2:
		r.limits = []plainLimit{drawLimit(t, "second"), drawLimit(t, "minute")}
	default:
		r.limits = []plainLimit{drawLimit(t, rapid.SampledFrom([]string{"second", "minute", "minute"}).Draw(t, "unit"))}
	}
	if rapid.IntRange(0, 3).Draw(t, "named") == 0 {
		r.limits[0].name = "name-" + key
	}
	if target := rapid.SampledFrom([]string{"", "", "", "name-a", "name-b"}).Draw(t, "replaces"); target != "name-"+key && (key == "c" || key == "e") {
		r.limits[0].replaces = target
	}
	return r
}

func drawLimit(t *rapid.T, unit string) plainLimit {
	l := plainLimit{
		algorithm:  rapid.SampledFrom(buckets.Algorithms()).Draw(t, "algorithm"),
		amount:     rapid.SampledFrom([]uint64{0, 1, 1, 2, 3, 5}).Draw(t, "amount"),
		unit:       unit,
		deniedHits: rapid.SampledFrom([]string{"auto", "auto", "free", "charged"}).Draw(t, "denied_hits"),
	}
	if l.algorithm.HasBurst() {
		l.burst = rapid.SampledFrom([]uint64{0, 0, 1, 4}).Draw(t, "burst")
	}
	l.firstHit = l.algorithm == buckets.FixedWindow && rapid.Bool().Draw(t, "first_hit")
	return l
}

// drawCall makes a call as parseCall reads it.
func drawCall(t *rapid.T) string {
	var words []string
	for range rapid.IntRange(1, 4).Draw(t, "descriptors") {
		word := fmt.Sprintf("[%s=%s]",
			rapid.SampledFrom([]string{"a", "b", "c", "e", "e", "none"}).Draw(t, "key"),
			rapid.SampledFrom([]string{"x", "x", "x", "y"}).Draw(t, "value"))
		var own []string
		if rapid.IntRange(0, 2).Draw(t, "own hits") == 0 {
			hits := rapid.SampledFrom([]uint64{0, 0, 1, 2, 3, 9, 1<<32 - 1, 1 << 53, 1<<64 - 1}).Draw(t, "hits")
			own = append(own, fmt.Sprintf("hits=%d", hits))
		}
		if rapid.IntRange(0, 7).Draw(t, "refund") == 0 {
			own = append(own, "refund")
		}
		if rapid.IntRange(0, 7).Draw(t, "override") == 0 {
			own = append(own, fmt.Sprintf("limit=%d/%s", rapid.IntRange(0, 4).Draw(t, "amount"),
				rapid.SampledFrom([]string{"second", "minute"}).Draw(t, "unit")))
		}
		if len(own) > 0 {
			word += "{" + strings.Join(own, ",") + "}"
		}
		words = append(words, word)
	}
	if hits := rapid.SampledFrom([]int{0, 0, 0, 1, 2, 4}).Draw(t, "call's hits"); hits > 0 {
		words = append(words, fmt.Sprintf("hits=%d", hits))
	}
	return strings.Join(words, " ")
}
