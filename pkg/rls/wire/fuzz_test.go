package wire_test

import (
	"math/rand/v2"
	"testing"

	rlsv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"pgregory.net/rapid"

	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
	"github.com/envoy-rls/envoy-rls/pkg/rls"
	"github.com/envoy-rls/envoy-rls/pkg/rls/wire"
)

// FuzzDecode holds DecodeRequest to protobuf's verdict on any bytes.
func FuzzDecode(f *testing.F) {
	for _, c := range decodeCases {
		f.Add([]byte(c.data))
	}
	f.Add(sample(4))
	oracle := newOracle(f)
	f.Fuzz(func(t *testing.T, data []byte) { checkDecode(t, oracle, data) })
}

// TestDecodeDamaged does the same on real messages with a few bytes changed,
// which random bytes seldom look like.
func TestDecodeDamaged(t *testing.T) {
	t.Parallel()
	oracle := newOracle(t)
	rapid.Check(t, func(r *rapid.T) {
		data := sample(rapid.IntRange(0, 3).Draw(r, "descriptors"))
		for range rapid.IntRange(0, 4).Draw(r, "changes") {
			if len(data) > 0 {
				data[rapid.IntRange(0, len(data)-1).Draw(r, "at")] = rapid.Byte().Draw(r, "byte")
			}
		}
		checkDecode(t, oracle, data[:rapid.IntRange(0, len(data)).Draw(r, "length")])
	})
}

// FuzzEncode reads back what AppendAnswer writes and compares it with the
// message that is built field by field.
func FuzzEncode(f *testing.F) {
	for seed := range byte(8) {
		choices := make([]byte, 1<<17) // what rapid draws from
		rand.NewChaCha8([32]byte{seed}).Read(choices)
		f.Add(choices)
	}
	f.Fuzz(rapid.MakeFuzz(checkEncode))
}

func TestEncodeRandomAnswers(t *testing.T) {
	t.Parallel()
	rapid.Check(t, checkEncode)
}

func checkEncode(r *rapid.T) {
	ans := answers(r)
	var got rlsv3.RateLimitResponse
	if err := proto.Unmarshal(wire.AppendAnswer(nil, ans), &got); err != nil {
		r.Fatal(err)
	}
	if diff := cmp.Diff(toProto(r, ans), &got, protocmp.Transform()); diff != "" {
		r.Fatalf("answer (-want +got):\n%s", diff)
	}
}

// answers draws an answer of any numbers and texts.
func answers(r *rapid.T) *rls.Answer {
	limits := rapid.Custom(func(r *rapid.T) *descriptors.Limit {
		return &descriptors.Limit{
			Amount:     rapid.Uint32().Draw(r, "amount"),
			Unit:       descriptors.Unit(rapid.Uint8Range(0, 7).Draw(r, "unit")),
			Multiplier: rapid.Uint32().Draw(r, "multiplier"),
			WireName:   text.Draw(r, "name"),
		}
	})
	statuses := rapid.Custom(func(r *rapid.T) rls.Status {
		return rls.Status{
			Code:         rls.Code(rapid.Uint8Range(0, 2).Draw(r, "code")),
			Limit:        rapid.OneOf(rapid.Just[*descriptors.Limit](nil), limits).Draw(r, "limit"),
			Remaining:    rapid.Uint32().Draw(r, "remaining"),
			HasReset:     rapid.Bool().Draw(r, "has reset"),
			ResetSeconds: rapid.Int64().Draw(r, "reset"),
		}
	})
	headers := rapid.SliceOfN(rapid.Custom(func(r *rapid.T) rls.Header {
		return rls.Header{Name: text.Draw(r, "name"), Value: text.Draw(r, "value")}
	}), 0, 4)
	ans := &rls.Answer{
		Code:            rls.Code(rapid.Uint8Range(0, 2).Draw(r, "overall")),
		Statuses:        rapid.SliceOfN(statuses, 0, 4).Draw(r, "statuses"),
		ResponseHeaders: headers.Draw(r, "response headers"),
		RequestHeaders:  headers.Draw(r, "request headers"),
	}
	if rapid.Bool().Draw(r, "has metadata") {
		ans.Metadata = structs(r, 3)
	}
	return ans
}

var text = rapid.OneOf(rapid.String(), rapid.StringN(120, 140, -1))

// structs draws metadata that is at most depth levels deep.
func structs(r *rapid.T, depth int) map[string]any {
	m := map[string]any{}
	for range rapid.IntRange(0, 3).Draw(r, "size") {
		m[text.Draw(r, "key")] = value(r, depth-1)
	}
	return m
}

func value(r *rapid.T, depth int) any {
	kinds := 4
	if depth > 0 {
		kinds = 6
	}
	switch rapid.IntRange(1, kinds).Draw(r, "kind") {
	case 1:
		return text.Draw(r, "string")
	case 2:
		return rapid.Bool().Draw(r, "bool")
	case 3:
		return rapid.Float64().Draw(r, "number")
	case 4:
		return nil
	case 5:
		return structs(r, depth)
	}
	list := make([]any, 0, 3)
	for range rapid.IntRange(0, 3).Draw(r, "length") {
		list = append(list, value(r, depth-1))
	}
	return list
}
