package wire_test

import (
	"fmt"
	"testing"

	rlsv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/protobuf/proto"

	"github.com/envoy-rls/envoy-rls/pkg/rls"
	"github.com/envoy-rls/envoy-rls/pkg/rls/wire"
)

var benchSizes = []int{1, 4}

func BenchmarkDecode(b *testing.B) {
	for _, n := range benchSizes {
		data := sample(n)
		b.Run(fmt.Sprintf("wire/descriptors=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			var req rls.Request
			for b.Loop() {
				if err := wire.DecodeRequest(data, &req); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("proto/descriptors=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := proto.Unmarshal(data, new(rlsv3.RateLimitRequest)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkEncode includes, for protobuf, making the message from the answer.
func BenchmarkEncode(b *testing.B) {
	for _, n := range benchSizes {
		ans := sampleAnswer(n)
		b.Run(fmt.Sprintf("wire/descriptors=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			var dst []byte
			for b.Loop() {
				dst = wire.AppendAnswer(dst[:0], ans)
			}
		})
		b.Run(fmt.Sprintf("proto/descriptors=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			var dst []byte
			for b.Loop() {
				var err error
				if dst, err = (proto.MarshalOptions{}).MarshalAppend(dst[:0], toProto(b, ans)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
