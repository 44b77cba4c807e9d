package service_test

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
	"github.com/envoy-rls/envoy-rls/pkg/rls"
	"github.com/envoy-rls/envoy-rls/pkg/rls/service"
)

func TestDecodeJSON(t *testing.T) {
	t.Parallel()
	whole := rls.Request{Domain: "shop", HitsAddend: 2, Descriptors: []rls.Descriptor{{
		Entries:  []descriptors.Entry{{Key: "path", Value: "/é"}, {Key: "ip"}},
		HasLimit: true, Limit: rls.Override{RequestsPerUnit: 5, Unit: 3, Multiplier: 2},
		HasHits: true, Hits: 1<<64 - 1, IsNegative: true,
	}}}
	tests := []struct {
		name string
		body string
		want rls.Request
	}{
		{"camelCase", `{"domain":"shop","hitsAddend":2,"descriptors":[{"entries":[{"key":"path","value":"/é"},{"key":"ip"}],
			"limit":{"requestsPerUnit":5,"unit":"HOUR","unitMultiplier":2},"hitsAddend":"18446744073709551615","isNegativeHits":true}]}`, whole},
		{"snake_case", `{"domain":"shop","hits_addend":2,"descriptors":[{"entries":[{"key":"path","value":"/\u00e9"},{"key":"ip"}],
			"limit":{"requests_per_unit":5,"unit":3,"unit_multiplier":2},"hits_addend":18446744073709551615,"is_negative_hits":true}]}`, whole},
		{"empty object", ` {} `, rls.Request{}},
		{"null means absent", `{"domain":null,"descriptors":[{"hitsAddend":null,"limit":null}]}`, rls.Request{Descriptors: []rls.Descriptor{{}}}},
		{"a unit that only the answer names", `{"descriptors":[{"limit":{"unit":7}}]}`, rls.Request{Descriptors: []rls.Descriptor{{HasLimit: true, Limit: rls.Override{Unit: 7}}}}},
	}
	req := rls.Request{Domain: "of the last call", Descriptors: []rls.Descriptor{{HasHits: true}}}
	for _, c := range tests {
		if err := service.DecodeJSON([]byte(c.body), &req); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if diff := cmp.Diff(c.want, req, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestDecodeJSONErrors(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, body, want string }{
		{"nothing", " \n", "the body is empty: send"},
		{"not JSON", "domain=shop", "in JSON: syntax error (line 1:1): invalid value domain"},
		{"not an object", "[]", "unexpected token ["},
		{"two values", "{} {}", "unexpected token {"},
		{"cut short", `{"domain":`, "unexpected EOF"},
		{"unknown field", "{\"domain\":\"d\",\n\"descriptor\":[]}", `(line 2:1): unknown field "descriptor"`},
		{"unknown field below", `{"descriptors":[{"entry":[]}]}`, `unknown field "entry"`},
		{"twice", `{"hitsAddend":1,"hits_addend":2}`, `duplicate field "hits_addend"`},
		{"negative hits", `{"hitsAddend":-1}`, "invalid value for uint32 field hitsAddend: -1"},
		{"hits over 32 bits", `{"hitsAddend":4294967296}`, "invalid value for uint32 field hitsAddend"},
		{"unknown unit", `{"descriptors":[{"limit":{"unit":"FORTNIGHT"}}]}`, `FORTNIGHT`},
		{"not UTF-8", "{\"domain\":\"\xff\"}", "UTF-8"},
		{"deeper than is followed", strings.Repeat(`{"descriptors":[`, 20_000), "JSON"},
	}
	for _, c := range tests {
		var req rls.Request
		err := service.DecodeJSON([]byte(c.body), &req)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "proto:") {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
	}
}

func TestAppendJSON(t *testing.T) {
	t.Parallel()
	ans := rls.Answer{
		Code: rls.OverLimit,
		Statuses: []rls.Status{
			{Code: rls.OverLimit, HasReset: true, ResetSeconds: 9,
				Limit: &descriptors.Limit{Amount: 60, Unit: descriptors.Week, Multiplier: 2, WireName: "per-path"}},
			{Code: rls.OK, Remaining: math.MaxUint32},
		},
		ResponseHeaders: []rls.Header{{Name: "retry-after", Value: "9\xff"}},
		Metadata:        map[string]any{"a": math.NaN(), "b": []any{nil, true}},
	}
	got, err := service.AppendJSON([]byte("before "), &ans)
	if err != nil {
		t.Fatal(err)
	}
	const want = `before {"overallCode":"OVER_LIMIT",` +
		`"statuses":[{"code":"OVER_LIMIT","currentLimit":{"name":"per-path","requestsPerUnit":60,"unit":"WEEK","unitMultiplier":2},"durationUntilReset":"9s"},` +
		`{"code":"OK","limitRemaining":4294967295}],` +
		`"responseHeadersToAdd":[{"key":"retry-after","value":"9\\xff"}],` +
		`"dynamicMetadata":{"a":"NaN","b":[null,true]}}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Any answer that package rls can give has a JSON form, and a duration that it
// cannot is an error, not a panic.
func TestAppendJSONOutOfRange(t *testing.T) {
	t.Parallel()
	got, err := service.AppendJSON(nil, &rls.Answer{Statuses: []rls.Status{{HasReset: true, ResetSeconds: math.MaxInt64}}})
	if err == nil || len(got) != 0 {
		t.Errorf("got %s, error %v", got, err)
	}
}

func FuzzDecodeJSON(f *testing.F) {
	f.Add([]byte(`{"domain":"shop","descriptors":[{"entries":[{"key":"k","value":"v"}],"limit":{"unit":"DAY"},"hitsAddend":"3"}]}`))
	f.Add([]byte(`{"hits_addend":4294967295,"descriptors":[{},{"is_negative_hits":true}]}`))
	f.Add([]byte(`{"domain":"\ud800"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		used := rls.Request{Domain: "left over", HitsAddend: 1, Descriptors: []rls.Descriptor{{HasHits: true}}}
		var fresh rls.Request
		err, freshErr := service.DecodeJSON(body, &used), service.DecodeJSON(body, &fresh)
		if (err == nil) != (freshErr == nil) {
			t.Fatalf("error %v, in a fresh request %v", err, freshErr)
		}
		if diff := cmp.Diff(fresh, used, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("a used request differs (-fresh +used):\n%s", diff)
		}
	})
}
