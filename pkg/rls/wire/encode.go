package wire

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
	"github.com/envoy-rls/envoy-rls/pkg/rls"
)

// Tags of the fields that are written. All are one byte long.
const (
	// RateLimitResponse
	responseCode            = byte(1<<3 | varint)
	responseStatuses        = byte(2<<3 | bytes)
	responseResponseHeaders = byte(3<<3 | bytes)
	responseRequestHeaders  = byte(4<<3 | bytes)
	responseMetadata        = byte(6<<3 | bytes)

	// RateLimitResponse.DescriptorStatus
	statusCode      = byte(1<<3 | varint)
	statusLimit     = byte(2<<3 | bytes)
	statusRemaining = byte(3<<3 | varint)
	statusReset     = byte(4<<3 | bytes) // Duration

	// RateLimitResponse.RateLimit
	limitAmount     = byte(1<<3 | varint)
	limitUnit       = byte(2<<3 | varint)
	limitName       = byte(3<<3 | bytes)
	limitMultiplier = byte(4<<3 | bytes) // UInt32Value

	// config.core.v3.HeaderValue
	headerKey   = byte(1<<3 | bytes)
	headerValue = byte(2<<3 | bytes)

	// Duration
	durationSeconds = byte(1<<3 | varint)
)

// AppendAnswer appends ans to dst as a RateLimitResponse. Equal answers give
// equal bytes. Without metadata it allocates only where dst is too small.
func AppendAnswer(dst []byte, ans *rls.Answer) []byte {
	dst = appendVarint(dst, responseCode, uint64(ans.Code))
	for i := range ans.Statuses {
		dst = appendStatus(dst, &ans.Statuses[i])
	}
	dst = appendHeaders(dst, responseResponseHeaders, ans.ResponseHeaders)
	dst = appendHeaders(dst, responseRequestHeaders, ans.RequestHeaders)
	if ans.Metadata != nil {
		var start int
		dst, start = open(dst, responseMetadata)
		dst = appendStruct(dst, ans.Metadata, 1)
		dst = shut(dst, start)
	}
	return dst
}

func appendStatus(dst []byte, s *rls.Status) []byte {
	dst, start := open(dst, responseStatuses)
	dst = appendVarint(dst, statusCode, uint64(s.Code))
	if s.Limit != nil {
		dst = appendLimit(dst, s.Limit)
	}
	dst = appendVarint(dst, statusRemaining, uint64(s.Remaining))
	if s.HasReset {
		var reset int
		dst, reset = open(dst, statusReset)
		dst = appendVarint(dst, durationSeconds, uint64(s.ResetSeconds))
		dst = shut(dst, reset)
	}
	return shut(dst, start)
}

func appendLimit(dst []byte, l *descriptors.Limit) []byte {
	dst, start := open(dst, statusLimit)
	dst = appendVarint(dst, limitAmount, uint64(l.Amount))
	dst = appendVarint(dst, limitUnit, uint64(l.Unit))
	if l.WireName != "" {
		dst = appendString(dst, limitName, l.WireName)
	}
	if l.Multiplier > 1 {
		var multiplier int
		dst, multiplier = open(dst, limitMultiplier)
		dst = appendVarint(dst, byte(wrapperValue), uint64(l.Multiplier))
		dst = shut(dst, multiplier)
	}
	return shut(dst, start)
}

func appendHeaders(dst []byte, tag byte, headers []rls.Header) []byte {
	for _, h := range headers {
		var start int
		dst, start = open(dst, tag)
		if h.Name != "" {
			dst = appendString(dst, headerKey, h.Name)
		}
		if h.Value != "" {
			dst = appendString(dst, headerValue, h.Value)
		}
		dst = shut(dst, start)
	}
	return dst
}

// appendVarint appends a number; zero is what an absent field means.
func appendVarint(dst []byte, tag byte, v uint64) []byte {
	if v == 0 {
		return dst
	}
	return protowire.AppendVarint(append(dst, tag), v)
}

// open begins a sub-message, whose length shut fills in. Most are shorter than
// 128 bytes, so one byte is kept for it.
func open(dst []byte, tag byte) (_ []byte, start int) {
	dst = append(dst, tag, 0)
	return dst, len(dst)
}

// shut ends the sub-message that began at start. A length of more than one byte
// moves the content up.
func shut(dst []byte, start int) []byte {
	n := len(dst) - start
	if n < 0x80 {
		dst[start-1] = byte(n)
		return dst
	}
	var length [10]byte
	more := protowire.AppendVarint(length[:0], uint64(n))
	dst = append(dst, more[1:]...)
	copy(dst[start+len(more)-1:], dst[start:start+n])
	copy(dst[start-1:], more)
	return dst
}
