package wire_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	rlsv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
	"github.com/envoy-rls/envoy-rls/pkg/rls"
	"github.com/envoy-rls/envoy-rls/pkg/rls/wire"
)

// sub is a length-prefixed field made of parts.
func sub(number protowire.Number, parts ...string) string {
	b := protowire.AppendTag(nil, number, protowire.BytesType)
	return string(protowire.AppendString(b, strings.Join(parts, "")))
}

// num is a varint field.
func num(number protowire.Number, v uint64) string {
	b := protowire.AppendTag(nil, number, protowire.VarintType)
	return string(protowire.AppendVarint(b, v))
}

// group is a group of parts.
func group(number protowire.Number, parts ...string) string {
	b := protowire.AppendTag(nil, number, protowire.StartGroupType)
	b = append(b, strings.Join(parts, "")...)
	return string(protowire.AppendTag(b, number, protowire.EndGroupType))
}

func request(ds ...rls.Descriptor) *rls.Request { return &rls.Request{Descriptors: ds} }

// decodeCases are messages and what they say; nil is an error.
var decodeCases = []struct {
	name string
	data string
	want *rls.Request
}{
	{"empty", "", &rls.Request{}},
	{"domain and hits", sub(1, "shop") + num(3, 7), &rls.Request{Domain: "shop", HitsAddend: 7}},
	{"entries in order", sub(2, sub(1, sub(1, "a"), sub(2, "b")), sub(1, sub(2, "d"), sub(1, "c"))),
		request(rls.Descriptor{Entries: []descriptors.Entry{{Key: "a", Value: "b"}, {Key: "c", Value: "d"}}})},
	{"empty descriptors count", sub(2) + sub(2), request(rls.Descriptor{}, rls.Descriptor{})},
	{"an empty entry counts", sub(2, sub(1)), request(rls.Descriptor{Entries: []descriptors.Entry{{}}})},
	{"no hits differ from hits of 0", sub(2, sub(3)) + sub(2, sub(3, num(1, 0))),
		request(rls.Descriptor{HasHits: true}, rls.Descriptor{HasHits: true})},
	{"hits of 64 bits", sub(2, sub(3, num(1, 1<<64-1))), request(rls.Descriptor{HasHits: true, Hits: 1<<64 - 1})},
	{"refund", sub(2, num(4, 1)), request(rls.Descriptor{IsNegative: true})},
	{"any number but 0 is true", sub(2, num(4, 1<<40)), request(rls.Descriptor{IsNegative: true})},
	{"the last bool counts", sub(2, num(4, 1), num(4, 0)), request(rls.Descriptor{})},
	{"override", sub(2, sub(2, num(1, 5), num(2, 3), sub(3, num(1, 10)))),
		request(rls.Descriptor{HasLimit: true, Limit: rls.Override{RequestsPerUnit: 5, Unit: 3, Multiplier: 10}})},
	{"empty override", sub(2, sub(2)), request(rls.Descriptor{HasLimit: true})},
	{"unknown and negative units stay", sub(2, sub(2, num(2, 99))) + sub(2, sub(2, num(2, 1<<64-1))),
		request(rls.Descriptor{HasLimit: true, Limit: rls.Override{Unit: 99}},
			rls.Descriptor{HasLimit: true, Limit: rls.Override{Unit: -1}})},
	{"32 bits are kept of a longer number", num(3, 1<<32+5), &rls.Request{HitsAddend: 5}},
	{"not UTF-8", sub(1, "\xff") + sub(2, sub(1, sub(1, "k\xfe"), sub(2, "\xff\xfe\x00"))),
		&rls.Request{Domain: "\xff", Descriptors: []rls.Descriptor{
			{Entries: []descriptors.Entry{{Key: "k\xfe", Value: "\xff\xfe\x00"}}}}}},

	{"the last scalar counts", sub(1, "a") + num(3, 1) + sub(1, "b") + num(3, 2),
		&rls.Request{Domain: "b", HitsAddend: 2}},
	{"the last string counts, also an empty one", sub(1, "a") + sub(1), &rls.Request{}},
	{"overrides merge", sub(2, sub(2, num(1, 5)), sub(2, num(2, 3)), sub(2, sub(3, num(1, 4))), sub(2, sub(3))),
		request(rls.Descriptor{HasLimit: true, Limit: rls.Override{RequestsPerUnit: 5, Unit: 3, Multiplier: 4}})},
	{"hits merge", sub(2, sub(3, num(1, 5)), sub(3)), request(rls.Descriptor{HasHits: true, Hits: 5})},

	{"unknown fields", num(9, 1) + sub(10, "x") + "\x5d1234" + "\x5912345678" + sub(1, "d"), &rls.Request{Domain: "d"}},
	{"unknown groups", group(9, num(1, 1), group(2, sub(1, "x"))) + sub(1, "d"), &rls.Request{Domain: "d"}},
	{"another wire type is unknown", num(1, 5) + sub(3, "x") + group(2) + sub(2, num(1, 1), num(2, 2), num(3, 3), sub(4)),
		request(rls.Descriptor{})},
	{"a tag in more bytes than needed", "\x8a\x80\x00\x01d", &rls.Request{Domain: "d"}},
	{"a length in more bytes than needed", "\x0a\x81\x00d", &rls.Request{Domain: "d"}},

	{"truncated tag", "\x80", nil},
	{"truncated string", "\x0a\x02d", nil},
	{"truncated number", "\x18\x80", nil},
	{"number of 11 bytes", "\x18" + strings.Repeat("\x80", 10) + "\x01", nil},
	{"number over 64 bits", "\x18" + strings.Repeat("\xff", 9) + "\x02", nil},
	{"length of 2^63", "\x0a" + strings.Repeat("\x80", 9) + "\x01d", nil},
	{"field 0", "\x02\x00", nil},
	{"field over 2^29", "\x80\x80\x80\x80\x10\x00", nil},
	{"wire type 6", "\x0e", nil},
	{"a group that does not end", "\x4b", nil},
	{"a group that another ends", "\x4b\x54", nil},
	{"a group end without a group", "\x4c", nil},
	{"groups too deep", strings.Repeat("\x4b", 20_000) + strings.Repeat("\x4c", 20_000), nil},
	{"a part that ends outside its message", "\x12\x02\x0a\x05hello", nil},
	{"an entry cut short", sub(2, sub(1, "\x0a\x05a")), nil},
	{"an override cut short", sub(2, sub(2, "\x08")), nil},
	{"a multiplier cut short", sub(2, sub(2, sub(3, "\x08"))), nil},
	{"hits cut short", sub(2, sub(3, "\x08")), nil},
}

func TestDecodeRequest(t *testing.T) {
	t.Parallel()
	oracle := newOracle(t)
	for _, c := range decodeCases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var got rls.Request
			err := wire.DecodeRequest([]byte(c.data), &got)
			if (err == nil) != (c.want != nil) {
				t.Fatalf("error %v", err)
			}
			if c.want != nil {
				if diff := cmp.Diff(*c.want, got, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("request (-want +got):\n%s", diff)
				}
			}
			checkDecode(t, oracle, []byte(c.data))
		})
	}
}

// checkDecode compares DecodeRequest with protobuf's own decoder: the same
// verdict, the same content, whatever the bytes.
func checkDecode(t *testing.T, oracle oracle, data []byte) {
	t.Helper()
	var got rls.Request
	err := wire.DecodeRequest(data, &got)

	want, wantErr := oracle.decode(data)
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("error %v, protobuf without the UTF-8 rule: %v", err, wantErr)
	}
	if err == nil {
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("differs from protobuf without the UTF-8 rule (-protobuf +ours):\n%s", diff)
		}
	}
	var m rlsv3.RateLimitRequest
	if proto.Unmarshal(data, &m) != nil {
		return
	}
	if err != nil {
		t.Fatalf("protobuf accepts what gave %v", err)
	}
	if diff := cmp.Diff(fromProto(&m), got, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("differs from protobuf (-protobuf +ours):\n%s", diff)
	}
}

// Nothing of one request may show in the next one that takes its place.
func TestDecodeIntoUsedRequest(t *testing.T) {
	t.Parallel()
	var reused rls.Request
	for _, c := range slices.Concat(decodeCases, decodeCases) {
		var fresh rls.Request
		err, freshErr := wire.DecodeRequest([]byte(c.data), &reused), wire.DecodeRequest([]byte(c.data), &fresh)
		if (err == nil) != (freshErr == nil) {
			t.Fatalf("%s: error %v, in a fresh request %v", c.name, err, freshErr)
		}
		if diff := cmp.Diff(fresh, reused, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: a used request differs (-fresh +used):\n%s", c.name, diff)
		}
	}
}

// The buffer is the transport's: it is overwritten as soon as decoding ends.
func TestDecodeKeepsNothingOfTheBuffer(t *testing.T) {
	t.Parallel()
	data := []byte(sub(1, "shop") + sub(2, sub(1, sub(1, "path"), sub(2, "/api"))))
	var req rls.Request
	if err := wire.DecodeRequest(data, &req); err != nil {
		t.Fatal(err)
	}
	clear(data)
	want := rls.Request{Domain: "shop", Descriptors: []rls.Descriptor{
		{Entries: []descriptors.Entry{{Key: "path", Value: "/api"}}}}}
	if diff := cmp.Diff(want, req); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDecodeErrorTellsPlaceNotContent(t *testing.T) {
	t.Parallel()
	err := wire.DecodeRequest([]byte(sub(1, "secret")+"\x12\x09secret"), new(rls.Request))
	if err == nil || !strings.Contains(err.Error(), "byte 8") || strings.Contains(err.Error(), "secret") {
		t.Errorf("error %q", err)
	}
}

func TestDecodeAllocations(t *testing.T) {
	data := sample(4)
	var req rls.Request
	got := testing.AllocsPerRun(100, func() {
		if err := wire.DecodeRequest(data, &req); err != nil {
			t.Fatal(err)
		}
	})
	if got > 1 {
		t.Errorf("%v allocations, want 1: the copy that the strings share", got)
	}
}

// sample is a request as Envoy sends it, with n descriptors.
func sample(n int) []byte {
	m := &rlsv3.RateLimitRequest{Domain: "shop"}
	for i := range n {
		d := &ratelimitv3.RateLimitDescriptor{Entries: []*ratelimitv3.RateLimitDescriptor_Entry{
			{Key: "path", Value: fmt.Sprintf("/api/v1/items/%d", i)},
			{Key: "remote_address", Value: "192.0.2.17"},
		}}
		if i == 1 {
			d.HitsAddend = wrapperspb.UInt64(3)
			d.Limit = &ratelimitv3.RateLimitDescriptor_RateLimitOverride{
				RequestsPerUnit: 10, Unit: typev3.RateLimitUnit_HOUR, UnitMultiplier: wrapperspb.UInt32(2),
			}
		}
		m.Descriptors = append(m.Descriptors, d)
	}
	data, err := proto.Marshal(m)
	if err != nil {
		panic(err) // a message of the test's own
	}
	return data
}

// What costs memory before any rule is asked is bounded: descriptors of a call,
// and entries of a descriptor.
func TestTooManyParts(t *testing.T) {
	t.Parallel()
	const descriptor, entry = "\x12\x00", "\x0a\x00"
	head := "\x0a\x01d"
	full := func(entries int) string {
		body := strings.Repeat(entry, entries)
		return head + "\x12" + string(protowire.AppendVarint(nil, uint64(len(body)))) + body
	}
	for name, test := range map[string]struct {
		message string
		fits    bool
	}{
		"descriptors":          {head + strings.Repeat(descriptor, rls.MaxDescriptorsPerCall), true},
		"too many descriptors": {head + strings.Repeat(descriptor, rls.MaxDescriptorsPerCall+1), false},
		"two million":          {head + strings.Repeat(descriptor, 2_000_000), false},
		"entries":              {full(rls.MaxEntries), true},
		"too many entries":     {full(rls.MaxEntries + 1), false},
	} {
		var req rls.Request
		if err := wire.DecodeRequest([]byte(test.message), &req); (err == nil) != test.fits {
			t.Errorf("%s: %v", name, err)
		}
	}
}
