package explain_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
	"github.com/envoy-rls/envoy-rls/pkg/buckets/memstore"
	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
	"github.com/envoy-rls/envoy-rls/pkg/rls"
	"github.com/envoy-rls/envoy-rls/pkg/rls/explain"
)

// at is the time at which all tests happen.
var at = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

func compile(t rapid.TB, text string) *descriptors.Ruleset {
	t.Helper()
	set, found := descriptors.Compile([]descriptors.File{{Name: "rules.yaml", Data: []byte(text)}}, nil, descriptors.Options{})
	for _, d := range found {
		if d.Severity == descriptors.Error {
			t.Fatalf("%s\n%s", d, text)
		}
	}
	return set
}

func newLimiter(set *descriptors.Ruleset, keyer buckets.Keyer) (*rls.Limiter, *memstore.Store) {
	store := memstore.New(memstore.Options{Now: at.UnixMicro, MaxBuckets: 1000})
	l := rls.NewLimiter(rls.Options{
		Store: store, Keyer: keyer, Metadata: true,
		Headers: rls.HeaderOptions{RateLimit: true, Rule: true},
		Now:     func() time.Time { return at },
	})
	l.Install(set)
	return l, store
}

var algorithms = []string{"token_bucket", "fixed_window", "sliding_window_log", "sliding_window_counter", "leaky_bucket", "gcra"}

// drawRules makes rules of two levels over few keys and values.
func drawRules(t *rapid.T) string {
	var b strings.Builder
	b.WriteString("domain: d\n")
	if rapid.Bool().Draw(t, "fallback") {
		b.WriteString("match: fallback\n")
	}
	b.WriteString("descriptors:\n")
	limit := func(indent string) {
		switch rapid.IntRange(0, 4).Draw(t, "limit") {
		case 0:
		case 1:
			fmt.Fprintf(&b, "%srate_limit: {unlimited: true}\n", indent)
		default:
			fmt.Fprintf(&b, "%srate_limit: {unit: minute, requests_per_unit: %d, algorithm: %s}\n%sshadow_mode: %v\n", indent,
				rapid.IntRange(0, 3).Draw(t, "amount"), rapid.SampledFrom(algorithms).Draw(t, "algorithm"), indent, rapid.Bool().Draw(t, "shadow"))
		}
	}
	selectors := []string{"", "value: x", "value: x*", "value: '*y'", "cidr: 10.0.0.0/8", "regex: '^[xyz]+$'"}
	level := func(indent string, below func(indent string)) {
		for _, key := range []string{"a", "b"} {
			for _, selector := range rapid.SliceOfNDistinct(rapid.SampledFrom(selectors), 1, 4, rapid.ID[string]).Draw(t, "selectors of "+key) {
				fmt.Fprintf(&b, "%s- key: %s\n", indent, key)
				if selector != "" {
					fmt.Fprintf(&b, "%s  %s\n", indent, selector)
				}
				limit(indent + "  ")
				if below != nil && rapid.Bool().Draw(t, "below") {
					fmt.Fprintf(&b, "%s  descriptors:\n", indent)
					below(indent + "    ")
				}
			}
		}
	}
	level("  ", func(indent string) { level(indent, nil) })
	return b.String()
}

func drawRequest(t *rapid.T) *rls.Request {
	req := &rls.Request{
		Domain:     rapid.SampledFrom([]string{"d", "d", "d", "e"}).Draw(t, "domain"),
		HitsAddend: uint32(rapid.IntRange(0, 3).Draw(t, "hits")),
	}
	for range rapid.IntRange(1, 3).Draw(t, "descriptors") {
		d := req.AddDescriptor()
		for range rapid.IntRange(0, 3).Draw(t, "entries") {
			d.Entries = append(d.Entries, descriptors.Entry{
				Key:   rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "key"),
				Value: rapid.SampledFrom([]string{"x", "xy", "z", "10.1.1.1", "192.0.2.1", "\xff"}).Draw(t, "value"),
			})
		}
		d.HasHits = rapid.IntRange(0, 3).Draw(t, "own") == 0
		d.Hits = uint64(rapid.IntRange(0, 3).Draw(t, "own hits"))
		d.IsNegative = d.HasHits && rapid.Bool().Draw(t, "refund")
		if rapid.IntRange(0, 4).Draw(t, "override") == 0 {
			d.HasLimit, d.Limit = true, rls.Override{RequestsPerUnit: 2, Unit: int32(rapid.IntRange(0, 3).Draw(t, "unit"))}
		}
	}
	return req
}

// TestExplainIsTheServersAnswer: on the same history, an explained call has the
// answer of a decided one, and the way ends at the rule that the matcher finds.
func TestExplainIsTheServersAnswer(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		set := compile(t, drawRules(t))
		server, store := newLimiter(set, buckets.Keyer{})
		defer store.Close()
		explained, other := newLimiter(set, buckets.Keyer{})
		defer other.Close()
		explainer := &explain.Explainer{Limiter: explained}
		for range 4 {
			req := drawRequest(t)
			var want, got rls.Answer
			wantErr := server.Decide(context.Background(), req, &want)
			x, gotErr := explainer.Call(context.Background(), req, &got)
			if fmt.Sprint(wantErr) != fmt.Sprint(gotErr) {
				t.Fatalf("explain fails with %v, the server with %v", gotErr, wantErr)
			}
			if wantErr != nil {
				continue
			}
			byLabel := cmp.Comparer(func(a, b *descriptors.Limit) bool {
				return (a == nil) == (b == nil) && (a == nil || a.Label == b.Label)
			})
			if diff := cmp.Diff(want, got, byLabel); diff != "" {
				t.Fatalf("answers (-server +explain):\n%s", diff)
			}
			if x.Code != map[rls.Code]string{rls.OK: "OK", rls.OverLimit: "OVER_LIMIT"}[want.Code] {
				t.Fatalf("code %s of an answer %v", x.Code, want.Code)
			}
			checkWays(t, set, req, x)
		}
	})
}

func checkWays(t *rapid.T, set *descriptors.Ruleset, req *rls.Request, x *explain.Explanation) {
	domain := set.Domain(req.Domain)
	for i := range req.Descriptors {
		if domain == nil {
			if x.Note == "" || x.Descriptors[i].Result != "unknown" {
				t.Fatalf("an unknown domain is explained as %+v", x)
			}
			continue
		}
		m := domain.Match(req.Descriptors[i].Entries)
		d := &x.Descriptors[i]
		if d.Result != m.Reason.String() || m.Rule != nil && d.Place != m.Rule.Place.String() {
			t.Fatalf("explained as %s at %s, matched as %v", d.Result, d.Place, m)
		}
		var text strings.Builder
		if err := x.WriteText(&text); err != nil || strings.Contains(text.String(), "\xff") {
			t.Fatalf("text %q, error %v", text.String(), err)
		}
	}
}

// A value that a rule calls sensitive is shown hashed, also at the candidates
// that do not take it, and so that it finds the bucket.
func TestSensitiveValuesAreHashed(t *testing.T) {
	t.Parallel()
	set := compile(t, `
domain: d
descriptors:
  - key: api_key
    value: public
    rate_limit: {unit: minute, requests_per_unit: 1}
  - key: api_key
    sensitive: true
    rate_limit: {unit: minute, requests_per_unit: 5}
`)
	keyer := buckets.Keyer{HashKey: []byte("key")}
	limiter, store := newLimiter(set, keyer)
	defer store.Close()
	req := &rls.Request{Domain: "d"}
	req.AddDescriptor().Entries = []descriptors.Entry{{Key: "api_key", Value: "sesame"}}
	x, err := (&explain.Explainer{Limiter: limiter, Keyer: keyer}).Call(context.Background(), req, new(rls.Answer))
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := x.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	hashed := string(keyer.AppendHashed(nil, "sesame"))
	if strings.Contains(text.String(), "sesame") || strings.Count(text.String(), hashed) < 3 {
		t.Errorf("want %s and no sesame in\n%s", hashed, &text)
	}
	if _, found := store.Peek([]byte(x.Descriptors[0].Limits[0].Key)); !found {
		t.Errorf("there is no bucket of the key %s", x.Descriptors[0].Limits[0].Key)
	}
}

// A branch that leads nowhere is left again: each candidate is named by what it
// says itself, not by the path to it.
func TestFallbackSteps(t *testing.T) {
	t.Parallel()
	set := compile(t, `
domain: d
match: fallback
descriptors:
  - key: a
    value: x
    descriptors: [{key: b, value: q, rate_limit: {unit: minute, requests_per_unit: 1}}]
  - key: a
    descriptors: [{key: b, value: 'y*', rate_limit: {unit: minute, requests_per_unit: 1}}]
`)
	limiter, store := newLimiter(set, buckets.Keyer{})
	defer store.Close()
	req := &rls.Request{Domain: "d"}
	req.AddDescriptor().Entries = []descriptors.Entry{{Key: "a", Value: "x"}, {Key: "b", Value: "yz"}}
	x, err := (&explain.Explainer{Limiter: limiter}).Call(context.Background(), req, new(rls.Answer))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range x.Descriptors[0].Steps {
		got = append(got, fmt.Sprint(s.Depth, " ", s.Rule, " ", s.Taken))
	}
	want := []string{"0 a=x true", "1 b=yz false", "0 a true", "1 b=y* true"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}
