package xdssource

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	rlsconfig "github.com/envoyproxy/go-control-plane/ratelimit/config/ratelimit/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/structpb"
	"pgregory.net/rapid"

	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
)

// TestUnits holds the numbers of units in xDS to ours.
func TestUnits(t *testing.T) {
	t.Parallel()
	for number, name := range rlsconfig.RateLimitUnit_name {
		if got := descriptors.Unit(number).String(); got != strings.ToLower(name) {
			t.Errorf("unit %d is %s in xDS, %s here", number, name, got)
		}
	}
}

// TestRoundTrip compiles the same rules from a message and from a file.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		message := &rlsconfig.RateLimitConfig{Name: "r", Domain: "d", Descriptors: drawRules(t, 3)}
		text, err := json.Marshal(map[string]any{"domain": "d", "descriptors": written(message.Descriptors)})
		must(t, err)
		packed, err := anypb.New(message)
		must(t, err)
		file := descriptors.File{Name: "r", Data: text}
		for _, opt := range []descriptors.Options{{}, {Algorithm: 2, DeniedHits: descriptors.DeniedCharged, Unbounded: true}} {
			fromFile, problems := descriptors.Compile([]descriptors.File{file}, nil, opt)
			fromXDS, xdsProblems := descriptors.Compile([]descriptors.File{decode(packed)}, nil, opt)
			if diff := cmp.Diff(listing(fromFile), listing(fromXDS)); diff != "" {
				t.Fatalf("%s\n-file +xDS:\n%s\n%v\n%v", text, diff, problems, xdsProblems)
			}
		}
	})
}

// listing is all that a ruleset says, but for places.
func listing(rs *descriptors.Ruleset) string {
	var b strings.Builder
	for _, d := range rs.Domains() {
		fmt.Fprintf(&b, "domain %s rejected=%t\n", d.Name, d.Rejected)
		for r := range d.Rules() {
			fmt.Fprintf(&b, "  %s shadow=%t quota=%t detailed=%t metadata=%#v\n", r.Path, r.Shadow, r.Quota, r.DetailedMetric, r.Metadata)
			for _, l := range r.Limits {
				fmt.Fprintf(&b, "    %d %s: %+v %d/%d %s unlimited=%t name=%q replaces=%q %s %s\n",
					l.Index, l.Label, l.Bucket, l.Amount, l.Multiplier, l.Unit, l.Unlimited, l.Name, l.Replaces, l.DeniedHits, l.OnStoreError)
			}
		}
	}
	return b.String()
}

func drawRules(t *rapid.T, depth int) []*rlsconfig.RateLimitDescriptor {
	if depth == 0 {
		return nil
	}
	var all []*rlsconfig.RateLimitDescriptor
	for range rapid.IntRange(0, 3).Draw(t, "rules") {
		d := &rlsconfig.RateLimitDescriptor{
			Key:            rapid.SampledFrom([]string{"a", "b", "c*"}).Draw(t, "key"),
			Value:          rapid.SampledFrom([]string{"", "x", "x*", "*", `\*`, "a|b", "ü", "yes", "1.10"}).Draw(t, "value"),
			Descriptors:    drawRules(t, depth-1),
			ShadowMode:     rapid.Bool().Draw(t, "shadow"),
			QuotaMode:      rapid.Bool().Draw(t, "quota"),
			DetailedMetric: rapid.Bool().Draw(t, "detailed"),
		}
		if rapid.Bool().Draw(t, "limited") {
			d.RateLimit = drawLimit(t)
		}
		if rapid.Bool().Draw(t, "metadata") {
			var err error
			d.Metadata, err = structpb.NewStruct(rapid.SampledFrom([]map[string]any{
				{}, {"a": nil, "b": true, "c": 1.5, "d": "yes"}, {"list": []any{"x", map[string]any{"y": -2e9}}},
			}).Draw(t, "struct"))
			must(t, err)
		}
		all = append(all, d)
	}
	return all
}

func drawLimit(t *rapid.T) *rlsconfig.RateLimitPolicy {
	p := &rlsconfig.RateLimitPolicy{
		Name:            rapid.SampledFrom([]string{"", "one", "two"}).Draw(t, "name"),
		Unit:            rlsconfig.RateLimitUnit(rapid.IntRange(0, 8).Draw(t, "unit")),
		RequestsPerUnit: rapid.SampledFrom([]uint32{0, 1, 100, 1<<32 - 1}).Draw(t, "amount"),
	}
	if rapid.IntRange(0, 3).Draw(t, "unlimited") == 0 {
		p.Unlimited, p.Unit, p.RequestsPerUnit = true, rlsconfig.RateLimitUnit(rapid.IntRange(0, 1).Draw(t, "unit beside unlimited")), 0
	}
	for range rapid.IntRange(0, 2).Draw(t, "replaces") {
		p.Replaces = append(p.Replaces, &rlsconfig.RateLimitReplace{Name: rapid.SampledFrom([]string{"", "one", "two"}).Draw(t, "replaced")})
	}
	return p
}

// written is how people write what a message says.
func written(rules []*rlsconfig.RateLimitDescriptor) []any {
	all := []any{}
	for _, d := range rules {
		m := map[string]any{"key": d.Key}
		put := func(name string, value any, is bool) {
			if is {
				m[name] = value
			}
		}
		put("value", d.Value, d.Value != "")
		put("shadow_mode", true, d.ShadowMode)
		put("quota_mode", true, d.QuotaMode)
		put("detailed_metric", true, d.DetailedMetric)
		put("metadata", d.Metadata.AsMap(), d.Metadata != nil)
		put("descriptors", written(d.Descriptors), len(d.Descriptors) > 0)
		if d.RateLimit != nil {
			m["rate_limit"] = writtenLimit(d.RateLimit)
		}
		all = append(all, m)
	}
	return all
}

func writtenLimit(p *rlsconfig.RateLimitPolicy) map[string]any {
	m := map[string]any{}
	if p.Unlimited {
		m["unlimited"] = true
	} else {
		m["requests_per_unit"] = p.RequestsPerUnit
	}
	if p.Unit != 0 {
		m["unit"] = p.Unit.String()
	}
	if p.Name != "" {
		m["name"] = p.Name
	}
	if len(p.Replaces) > 0 {
		names := []any{}
		for _, r := range p.Replaces {
			names = append(names, map[string]any{"name": r.Name})
		}
		m["replaces"] = names
	}
	return m
}
