package rls_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
	"github.com/envoy-rls/envoy-rls/pkg/rls"
)

// TestWhoWaitsAsToldIsLetThrough: with nobody else around, a denied caller who
// waits the seconds of Retry-After passes, whatever its limits.
func TestWhoWaitsAsToldIsLetThrough(t *testing.T) {
	t.Parallel()
	denials := 0
	rapid.Check(t, func(rt *rapid.T) {
		text := "domain: d\ndescriptors:\n"
		cost := rapid.Uint64Range(1, 3).Draw(rt, "cost")
		for _, key := range []string{"a", "b"} {
			l := plainLimit{
				algorithm:  rapid.SampledFrom(buckets.Algorithms()).Draw(rt, "algorithm"),
				amount:     rapid.Uint64Range(cost, 20).Draw(rt, "amount"),
				unit:       rapid.SampledFrom([]string{"second", "minute"}).Draw(rt, "unit"),
				deniedHits: "free",
			}
			if l.algorithm.HasBurst() {
				l.burst = rapid.Uint64Range(cost, 20).Draw(rt, "burst")
			}
			text += plainRule{key: key, limits: []plainLimit{l}}.yaml()
		}
		w := newWorld(t, text, func(o *rls.Options, _ *descriptors.Options) { o.Headers.RateLimit = true })
		defer w.close()
		line := fmt.Sprintf("[a=1] [b=1] hits=%d", cost)
		for range 30 {
			w.wait(time.Duration(rapid.Int64Range(0, 150_000).Draw(rt, "pause")) * time.Microsecond)
			ans := w.answer(line)
			if ans.Code == rls.OK {
				continue
			}
			denials++
			retry := ans.ResponseHeaders[len(ans.ResponseHeaders)-1]
			seconds, err := strconv.Atoi(retry.Value)
			if retry.Name != "Retry-After" || err != nil || seconds < 1 {
				rt.Fatalf("%s\n%s", text, describe(ans))
			}
			w.wait(time.Duration(seconds) * time.Second)
			if again := w.answer(line); again.Code != rls.OK {
				rt.Fatalf("%s\ndenied after waiting as told: %s\nthen %s", text, describe(ans), describe(again))
			}
		}
	})
	if denials == 0 {
		t.Error("nobody was denied")
	}
}
