package service

import (
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"

	"github.com/envoy-rls/envoy-rls/pkg/rls"
	"github.com/envoy-rls/envoy-rls/pkg/rls/wire"
)

// codec reads into a *call and writes a [mem.Buffer] that is encoded already;
// every other message is left to protobuf's own codec.
type codec struct{ others encoding.CodecV2 }

func newCodec() codec { return codec{encoding.GetCodecV2(proto.Name)} }

func (codec) Name() string { return proto.Name }

func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	if encoded, ok := v.(mem.Buffer); ok {
		return mem.BufferSlice{encoded}, nil
	}
	return c.others.Marshal(v)
}

// Unmarshal leaves the verdict on a rate limit request in the call: gRPC would
// answer an error from here with Internal, as if the server were at fault.
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	in, ok := v.(*call)
	if !ok {
		return c.others.Unmarshal(data, v)
	}
	buf := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer buf.Free()
	in.malformed = wire.DecodeRequest(buf.ReadOnlyData(), &in.req)
	return nil
}

// call is the memory of one call. It is pooled.
type call struct {
	req       rls.Request
	malformed error // why req could not be read
	ans       rls.Answer
	out       []byte // where the answer is encoded before it is copied to size
}

// Larger ones than these are left to the garbage collector, so that a few huge
// calls do not hold memory for ever. No caller that means well comes near.
const (
	maxPooledDescriptors = 64
	maxPooledEntries     = 256
	maxPooledBytes       = 16 << 10
)

func (c *call) worthKeeping() bool {
	kept := c.req.Descriptors
	if cap(kept) > maxPooledDescriptors || cap(c.ans.Statuses) > maxPooledDescriptors || cap(c.out) > maxPooledBytes {
		return false
	}
	entries := 0
	for _, d := range kept[:cap(kept)] {
		entries += cap(d.Entries)
	}
	return entries <= maxPooledEntries
}

func (c *call) reset() {
	c.req.Reset()
	c.ans.Reset()
	c.malformed = nil
}

// encode returns the answer as gRPC wants it, in memory of its own.
func (c *call) encode() mem.Buffer {
	c.out = wire.AppendAnswer(c.out[:0], &c.ans)
	return mem.Copy(c.out, mem.DefaultBufferPool())
}
