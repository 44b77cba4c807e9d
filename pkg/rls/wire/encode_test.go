package wire_test

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	rlsv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
	"pgregory.net/rapid"

	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
	"github.com/envoy-rls/envoy-rls/pkg/rls"
	"github.com/envoy-rls/envoy-rls/pkg/rls/wire"
)

func status(s *rlsv3.RateLimitResponse_DescriptorStatus) *rlsv3.RateLimitResponse {
	return &rlsv3.RateLimitResponse{Statuses: []*rlsv3.RateLimitResponse_DescriptorStatus{s}}
}

func metadata(tb rapid.TB, m map[string]any) *rlsv3.RateLimitResponse {
	s, err := structpb.NewStruct(m)
	if err != nil {
		tb.Fatal(err)
	}
	return &rlsv3.RateLimitResponse{DynamicMetadata: s}
}

func TestAppendAnswer(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 300)
	tests := []struct {
		name string
		ans  rls.Answer
		want *rlsv3.RateLimitResponse
	}{
		{"nothing", rls.Answer{}, &rlsv3.RateLimitResponse{}},
		{"allowed", rls.Answer{Code: rls.OK}, &rlsv3.RateLimitResponse{OverallCode: rlsv3.RateLimitResponse_OK}},
		{"denied", rls.Answer{Code: rls.OverLimit}, &rlsv3.RateLimitResponse{OverallCode: rlsv3.RateLimitResponse_OVER_LIMIT}},
		{"bare status", rls.Answer{Statuses: []rls.Status{{Code: rls.OK}}},
			status(&rlsv3.RateLimitResponse_DescriptorStatus{Code: rlsv3.RateLimitResponse_OK})},
		{"unlimited", rls.Answer{Statuses: []rls.Status{{Code: rls.OK, Remaining: math.MaxUint32}}},
			status(&rlsv3.RateLimitResponse_DescriptorStatus{Code: rlsv3.RateLimitResponse_OK, LimitRemaining: math.MaxUint32})},
		{"a whole status", rls.Answer{Statuses: []rls.Status{{
			Code:  rls.OverLimit,
			Limit: &descriptors.Limit{Amount: 60, Unit: descriptors.Week, Multiplier: 1, Name: "per ip", WireName: "per_ip"}, Remaining: 5, HasReset: true, ResetSeconds: 42,
		}}}, status(&rlsv3.RateLimitResponse_DescriptorStatus{
			Code: rlsv3.RateLimitResponse_OVER_LIMIT,
			CurrentLimit: &rlsv3.RateLimitResponse_RateLimit{
				RequestsPerUnit: 60, Unit: rlsv3.RateLimitResponse_RateLimit_WEEK, Name: "per_ip",
			},
			LimitRemaining:     5,
			DurationUntilReset: durationpb.New(42e9),
		})},
		{"a limit of 0 is shown", rls.Answer{Statuses: []rls.Status{{Limit: &descriptors.Limit{}}}},
			status(&rlsv3.RateLimitResponse_DescriptorStatus{CurrentLimit: &rlsv3.RateLimitResponse_RateLimit{}})},
		{"a window of several units", rls.Answer{Statuses: []rls.Status{{Limit: &descriptors.Limit{Amount: 1, Unit: descriptors.Minute, Multiplier: 300}}}},
			status(&rlsv3.RateLimitResponse_DescriptorStatus{CurrentLimit: &rlsv3.RateLimitResponse_RateLimit{
				RequestsPerUnit: 1, Unit: rlsv3.RateLimitResponse_RateLimit_MINUTE, UnitMultiplier: wrapperspb.UInt32(300)}})},
		{"a reset of 0 is there", rls.Answer{Statuses: []rls.Status{{HasReset: true}}},
			status(&rlsv3.RateLimitResponse_DescriptorStatus{DurationUntilReset: &durationpb.Duration{}})},
		{"headers", rls.Answer{
			ResponseHeaders: []rls.Header{{Name: "retry-after", Value: "3"}, {Name: "x"}},
			RequestHeaders:  []rls.Header{{Name: "x-ratelimit-rule", Value: "per-ip"}, {}},
		}, &rlsv3.RateLimitResponse{
			ResponseHeadersToAdd: []*corev3.HeaderValue{{Key: "retry-after", Value: "3"}, {Key: "x"}},
			RequestHeadersToAdd:  []*corev3.HeaderValue{{Key: "x-ratelimit-rule", Value: "per-ip"}, {}},
		}},
		{"text that is not UTF-8", rls.Answer{
			ResponseHeaders: []rls.Header{{Name: "n\xff", Value: "é\xc3"}},
			Statuses:        []rls.Status{{Limit: &descriptors.Limit{WireName: "\xfe"}}},
		}, &rlsv3.RateLimitResponse{
			ResponseHeadersToAdd: []*corev3.HeaderValue{{Key: `n\xff`, Value: `é\xc3`}},
			Statuses:             []*rlsv3.RateLimitResponse_DescriptorStatus{{CurrentLimit: &rlsv3.RateLimitResponse_RateLimit{Name: `\xfe`}}},
		}},
		{"empty metadata is there", rls.Answer{Metadata: map[string]any{}}, metadata(t, nil)},
		{"metadata of all kinds", rls.Answer{Metadata: map[string]any{
			"": nil, "b": true, "no": false, "n": -1.5, "zero": 0.0, "s": "é", "empty": "", "long": long,
			"m": map[string]any{"k": map[string]any{}}, "l": []any{"a", 1.0, nil, []any{}, map[string]any{"x": long}},
		}}, metadata(t, map[string]any{
			"": nil, "b": true, "no": false, "n": -1.5, "zero": 0.0, "s": "é", "empty": "", "long": long,
			"m": map[string]any{"k": map[string]any{}}, "l": []any{"a", 1.0, nil, []any{}, map[string]any{"x": long}},
		})},
		{"metadata that JSON or UTF-8 lacks", rls.Answer{Metadata: map[string]any{
			"nan": math.NaN(), "inf": []any{math.Inf(1), math.Inf(-1)}, "k\xff": "v\x80", "other": int64(7)}},
			metadata(t, map[string]any{"nan": "NaN", "inf": []any{"Infinity", "-Infinity"}, `k\xff`: `v\x80`, "other": "7"})},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			data := wire.AppendAnswer([]byte("before"), &c.ans)
			data, ok := bytes.CutPrefix(data, []byte("before"))
			if !ok {
				t.Fatal("what stood in dst is gone")
			}
			var got rlsv3.RateLimitResponse
			if err := proto.Unmarshal(data, &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, &got, protocmp.Transform()); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}

// Lengths on both sides of where their varint grows.
func TestAppendAnswerLengths(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 100, 120, 127, 128, 129, 16_370, 16_383, 16_384, 2_097_140, 2_097_151, 2_097_152} {
		value := strings.Repeat("v", n)
		ans := rls.Answer{
			Statuses:        []rls.Status{{Limit: &descriptors.Limit{WireName: value}}, {Code: rls.OK}},
			ResponseHeaders: []rls.Header{{Name: "n", Value: value}},
		}
		var got rlsv3.RateLimitResponse
		if err := proto.Unmarshal(wire.AppendAnswer(nil, &ans), &got); err != nil {
			t.Errorf("length %d: %v", n, err)
			continue
		}
		if got.GetStatuses()[0].GetCurrentLimit().GetName() != value || got.GetResponseHeadersToAdd()[0].GetValue() != value {
			t.Errorf("length %d: the text differs", n)
		}
	}
}

// Envoy refuses messages that are nested more than 100 deep.
func TestMetadataDepth(t *testing.T) {
	t.Parallel()
	for _, wrap := range []func(any) any{
		func(v any) any { return map[string]any{"k": v} },
		func(v any) any { return []any{v} },
	} {
		var deep any = "end"
		for range 100 {
			deep = wrap(deep)
		}
		var got rlsv3.RateLimitResponse
		data := wire.AppendAnswer(nil, &rls.Answer{Metadata: map[string]any{"top": deep}})
		if err := (proto.UnmarshalOptions{RecursionLimit: 100}).Unmarshal(data, &got); err != nil {
			t.Fatal(err)
		}
		levels, v := 1, got.GetDynamicMetadata().GetFields()["top"]
		for v.GetStructValue() != nil || v.GetListValue() != nil {
			levels++
			if s := v.GetStructValue(); s != nil {
				v = s.GetFields()["k"]
			} else {
				v = v.GetListValue().GetValues()[0]
			}
		}
		if _, null := v.GetKind().(*structpb.Value_NullValue); levels != wire.MaxMetadataDepth || !null {
			t.Errorf("%d levels, then %v; want %d, then null", levels, v, wire.MaxMetadataDepth)
		}
	}
}

func TestAppendAnswerIsDeterministic(t *testing.T) {
	t.Parallel()
	m := map[string]any{}
	for i := range 50 {
		m["key"+strconv.Itoa(i)] = float64(i)
	}
	ans := rls.Answer{Metadata: m}
	first := wire.AppendAnswer(nil, &ans)
	for range 20 {
		if !bytes.Equal(first, wire.AppendAnswer(nil, &ans)) {
			t.Fatal("equal answers gave different bytes")
		}
	}
}

func TestAppendAnswerAllocations(t *testing.T) {
	ans := sampleAnswer(4)
	dst := make([]byte, 0, 1024)
	got := testing.AllocsPerRun(100, func() { dst = wire.AppendAnswer(dst[:0], ans) })
	if got != 0 {
		t.Errorf("%v allocations, want 0", got)
	}
}

// sampleAnswer is a denial with n statuses and the usual headers.
func sampleAnswer(n int) *rls.Answer {
	ans := &rls.Answer{Code: rls.OverLimit, ResponseHeaders: []rls.Header{
		{Name: "x-ratelimit-limit", Value: "60"}, {Name: "x-ratelimit-remaining", Value: "0"}, {Name: "retry-after", Value: "17"},
	}}
	limit := &descriptors.Limit{Amount: 60, Unit: descriptors.Minute, Multiplier: 5, WireName: "per-path"}
	for range n {
		ans.Statuses = append(ans.Statuses, rls.Status{Code: rls.OverLimit, Limit: limit, Remaining: 3, HasReset: true, ResetSeconds: 17})
	}
	return ans
}

// toProto is the obvious conversion to the generated message, for answers whose
// text is UTF-8 and whose metadata is what it may be.
func toProto(tb rapid.TB, ans *rls.Answer) *rlsv3.RateLimitResponse {
	tb.Helper()
	m := &rlsv3.RateLimitResponse{OverallCode: rlsv3.RateLimitResponse_Code(ans.Code)}
	for _, s := range ans.Statuses {
		ms := &rlsv3.RateLimitResponse_DescriptorStatus{
			Code: rlsv3.RateLimitResponse_Code(s.Code), LimitRemaining: s.Remaining,
		}
		if l := s.Limit; l != nil {
			ms.CurrentLimit = &rlsv3.RateLimitResponse_RateLimit{
				RequestsPerUnit: l.Amount, Unit: rlsv3.RateLimitResponse_RateLimit_Unit(l.Unit), Name: l.WireName,
			}
			if l.Multiplier > 1 {
				ms.CurrentLimit.UnitMultiplier = wrapperspb.UInt32(l.Multiplier)
			}
		}
		if s.HasReset {
			ms.DurationUntilReset = &durationpb.Duration{Seconds: s.ResetSeconds}
		}
		m.Statuses = append(m.Statuses, ms)
	}
	m.ResponseHeadersToAdd = headersToProto(ans.ResponseHeaders)
	m.RequestHeadersToAdd = headersToProto(ans.RequestHeaders)
	if ans.Metadata != nil {
		m.DynamicMetadata = metadata(tb, ans.Metadata).GetDynamicMetadata()
	}
	return m
}

func headersToProto(hs []rls.Header) (list []*corev3.HeaderValue) {
	for _, h := range hs {
		list = append(list, &corev3.HeaderValue{Key: h.Name, Value: h.Value})
	}
	return list
}
