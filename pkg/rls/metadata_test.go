package rls_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
	"github.com/envoy-rls/envoy-rls/pkg/rls"
)

const withMetadata = `
domain: d
descriptors:
- {key: a, metadata: {m: {a: 1, deep: {a: [1, {x: y}]}}, only_a: 1}, rate_limit: {unit: minute, requests_per_unit: 4000000000}}
- {key: b, metadata: {m: {b: 2, deep: {b: [2]}}, only_b: 2}, rate_limit: {unit: minute, requests_per_unit: 4000000000}}
- {key: q, quota_mode: true, detailed_metric: true, metadata: {q: 1}, rate_limit: {unit: minute, requests_per_unit: 9}}
- {key: v, value_to_metric: true, metadata: {v: 1}, rate_limit: {unit: minute, requests_per_unit: 9}}
`

// TestMetadataOfRulesIsReadOnly: calls side by side neither change the rules'
// maps nor see each other's metadata, whatever a reader does to an answer. The
// race detector looks on.
func TestMetadataOfRulesIsReadOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withMetadata, func(o *rls.Options, _ *descriptors.Options) { o.Metadata = true })
	before := rulesMetadata(t, w.Ruleset())
	wants := map[string]string{
		"[a=1]":       `{"m":{"a":1,"deep":{"a":[1,{"x":"y"}]}},"only_a":1}`,
		"[b=1]":       `{"m":{"b":2,"deep":{"b":[2]}},"only_b":2}`,
		"[a=1] [b=1]": `{"m":{"a":1,"b":2,"deep":{"a":[1,{"x":"y"}],"b":[2]}},"only_a":1,"only_b":2}`,
		"[b=1] [a=1]": `{"m":{"a":1,"b":2,"deep":{"a":[1,{"x":"y"}],"b":[2]}},"only_a":1,"only_b":2}`,
	}
	var done sync.WaitGroup
	for range 32 {
		done.Go(func() {
			for range 20 {
				for line, want := range wants {
					var ans rls.Answer
					if err := w.Decide(context.Background(), parseCall(t, line), &ans); err != nil {
						t.Errorf("%s: %v", line, err)
						return
					}
					if got := toJSON(t, ans.Metadata["metadata"]); got != want {
						t.Errorf("%s: %s, want %s", line, got, want)
					}
					scribble(ans.Metadata)
				}
			}
		})
	}
	done.Wait()
	if diff := cmp.Diff(before, rulesMetadata(t, w.Ruleset())); diff != "" {
		t.Errorf("the rules' metadata changed:\n%s", diff)
	}
}

// rulesMetadata is the metadata of all rules as text.
func rulesMetadata(t *testing.T, set *descriptors.Ruleset) []string {
	var all []string
	for _, l := range set.Limits() {
		all = append(all, toJSON(t, l.Rule.Metadata))
	}
	return all
}

// scribble writes into everything that can be written.
func scribble(value any) {
	switch value := value.(type) {
	case map[string]any:
		for _, item := range value {
			scribble(item)
		}
		value["scribbled"] = true
	case []any:
		for i, item := range value {
			scribble(item)
			value[i] = "scribbled"
		}
	}
}

func toJSON(t testing.TB, value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestH8Metadata: rules with metrics by value keep their metadata, and so does an
// override.
func TestH8Metadata(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withMetadata, func(o *rls.Options, _ *descriptors.Options) { o.Metadata = true })
	for line, want := range map[string]string{
		"[q=1]":                 `{"q":1}`,
		"[v=1]":                 `{"v":1}`,
		"[q=1] [v=1]":           `{"q":1,"v":1}`,
		"[q=2]{limit=5/day}":    `{"q":1}`,
		"[q=3]{limit=0/day}":    `null`, // over
		"[none=1]":              `null`,
		"[none=1]{limit=1/day}": `null`,
	} {
		if got := toJSON(t, w.answer(line).Metadata["metadata"]); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}

// TestK2Bytes: values that are not UTF-8 are decided as bytes, and shown as
// \xNN.
func TestK2Bytes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "domain: d\ndescriptors: [{key: a, rate_limit: {unit: minute, requests_per_unit: 1}}]\n",
		func(o *rls.Options, _ *descriptors.Options) { o.Metadata = true })
	call := func(value string) *rls.Answer {
		req := &rls.Request{Domain: "d", Descriptors: []rls.Descriptor{{Entries: []descriptors.Entry{{Key: "a", Value: value}}}}}
		ans := new(rls.Answer)
		if err := w.Decide(context.Background(), req, ans); err != nil {
			t.Fatal(err)
		}
		return ans
	}
	values := map[string]string{
		"\xff\xfex":              `a=\xff\xfex`,
		"\xff\xfey":              `a=\xff\xfey`,
		"\ufffd\ufffdx":          "a=\ufffd\ufffdx",
		"":                       "a=",
		"a\nb\x00c☃":             `a=a\x0ab\x00c☃`,
		"é":                      "a=é",
		"e\u0301":                "a=e\u0301", // another value than é
		strings.Repeat("x", 1e6): "a=" + strings.Repeat("x", 1e6),
	}
	for value, shown := range values {
		first, second := call(value), call(value)
		if first.Code != rls.OK || second.Code != rls.OverLimit {
			t.Errorf("%.20q: %v then %v, want OK then over", value, first.Code, second.Code)
		}
		entries := first.Metadata["descriptors"].([]any)[0].(map[string]any)["entries"]
		if diff := cmp.Diff([]any{shown}, entries); diff != "" {
			t.Errorf("%.20q:\n%.200s", value, diff)
		}
	}
}

// keyed keeps all keys that a store is asked for.
type keyed struct {
	buckets.Store
	keys []string
}

func (k *keyed) Decide(ctx context.Context, budget time.Duration, calls []*buckets.Call) {
	for _, call := range calls {
		for _, item := range call.Items {
			k.keys = append(k.keys, string(item.Key))
		}
	}
	k.Store.Decide(ctx, budget, calls)
}

// TestSensitiveValuesReachNoKey: also where an override meets the end of the
// rules, or looks none up.
func TestSensitiveValuesReachNoKey(t *testing.T) {
	t.Parallel()
	const text = `
domain: d
descriptors:
- key: token
  sensitive: true
  rate_limit: {unit: minute, requests_per_unit: 9}
  descriptors: [{key: path, value: /white}, {key: path, value: /free, rate_limit: {unlimited: true}}]
`
	for _, reference := range []bool{false, true} {
		store := new(keyed)
		w := newWorld(t, text, func(o *rls.Options, _ *descriptors.Options) {
			store.Store = o.Store
			o.Store, o.Reference, o.Keyer.HashKey = store, reference, []byte("k")
		})
		for _, line := range []string{
			"[token=s3cret]",
			"[token=s3cret]{limit=3/minute}",
			"[token=s3cret,path=/white]{limit=3/minute}",
			"[token=s3cret,path=/free]{limit=3/minute}",
			"[token=s3cret,path=/none]{limit=3/minute}",
			"[token=s3cret,none=/none]{limit=3/minute}",
		} {
			w.answer(line)
		}
		if len(store.keys) != 6 {
			t.Errorf("%d keys, want 6", len(store.keys))
		}
		for _, key := range store.keys {
			if strings.Contains(key, "s3cret") || !strings.Contains(key, "token=#") {
				t.Errorf("reference %v: key %s", reference, key)
			}
		}
	}
}
