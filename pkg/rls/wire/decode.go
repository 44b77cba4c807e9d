package wire

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
	"github.com/envoy-rls/envoy-rls/pkg/rls"
)

// Tags of the fields that are read: number<<3 | wire type.
const (
	varint = uint64(protowire.VarintType)
	bytes  = uint64(protowire.BytesType)

	// RateLimitRequest
	requestDomain      = 1<<3 | bytes
	requestDescriptors = 2<<3 | bytes
	requestHits        = 3<<3 | varint

	// RateLimitDescriptor
	descriptorEntries  = 1<<3 | bytes
	descriptorLimit    = 2<<3 | bytes
	descriptorHits     = 3<<3 | bytes // UInt64Value
	descriptorNegative = 4<<3 | varint

	// RateLimitDescriptor.Entry
	entryKey   = 1<<3 | bytes
	entryValue = 2<<3 | bytes

	// RateLimitDescriptor.RateLimitOverride
	overrideAmount     = 1<<3 | varint
	overrideUnit       = 2<<3 | varint
	overrideMultiplier = 3<<3 | bytes // UInt32Value

	// UInt32Value, UInt64Value
	wrapperValue = 1<<3 | varint
)

// DecodeRequest resets req and reads a RateLimitRequest into it. After an error
// req holds what was read before it.
//
// The strings of req share one copy of data, which lives as long as any of
// them; data itself is not kept.
func DecodeRequest(data []byte, req *rls.Request) error {
	req.Reset()
	d := decoder{data: data, text: string(data)}
	return d.request(req)
}

// decoder reads one message. Positions are indexes into data, and so into text.
type decoder struct {
	data []byte
	text string // a copy of data, for substrings
}

// field is one field as it stands on the wire.
type field struct {
	tag        uint64
	number     uint64 // the value of a varint
	start, end int    // the content of a string or sub-message
	next       int    // where the next field begins
}

func (d *decoder) request(req *rls.Request) error {
	for pos := 0; pos < len(d.data); {
		f, err := d.field(pos, len(d.data))
		if err != nil {
			return err
		}
		pos = f.next
		switch f.tag {
		case requestDomain:
			req.Domain = d.text[f.start:f.end]
		case requestHits:
			req.HitsAddend = uint32(f.number)
		case requestDescriptors:
			if len(req.Descriptors) == rls.MaxDescriptorsPerCall {
				return fmt.Errorf("a call has at most %d descriptors", rls.MaxDescriptorsPerCall)
			}
			if err := d.descriptor(f.start, f.end, req.AddDescriptor()); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *decoder) descriptor(pos, end int, to *rls.Descriptor) error {
	for pos < end {
		f, err := d.field(pos, end)
		if err != nil {
			return err
		}
		pos = f.next
		switch f.tag {
		case descriptorEntries:
			if len(to.Entries) == rls.MaxEntries {
				return fmt.Errorf("a descriptor has at most %d entries", rls.MaxEntries)
			}
			var e descriptors.Entry
			e, err = d.entry(f.start, f.end)
			to.Entries = append(to.Entries, e)
		case descriptorLimit:
			to.HasLimit = true
			err = d.override(f.start, f.end, &to.Limit)
		case descriptorHits:
			to.HasHits = true
			to.Hits, err = d.wrapper(f.start, f.end, to.Hits)
		case descriptorNegative:
			to.IsNegative = f.number != 0
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (d *decoder) entry(pos, end int) (e descriptors.Entry, err error) {
	for pos < end {
		f, err := d.field(pos, end)
		if err != nil {
			return e, err
		}
		pos = f.next
		switch f.tag {
		case entryKey:
			e.Key = d.text[f.start:f.end]
		case entryValue:
			e.Value = d.text[f.start:f.end]
		}
	}
	return e, nil
}

func (d *decoder) override(pos, end int, to *rls.Override) error {
	for pos < end {
		f, err := d.field(pos, end)
		if err != nil {
			return err
		}
		pos = f.next
		switch f.tag {
		case overrideAmount:
			to.RequestsPerUnit = uint32(f.number)
		case overrideUnit:
			to.Unit = int32(f.number)
		case overrideMultiplier:
			n, err := d.wrapper(f.start, f.end, uint64(to.Multiplier))
			if err != nil {
				return err
			}
			to.Multiplier = uint32(n)
		}
	}
	return nil
}

// wrapper reads a UInt32Value or UInt64Value; value is what an earlier
// occurrence of it said.
func (d *decoder) wrapper(pos, end int, value uint64) (uint64, error) {
	for pos < end {
		f, err := d.field(pos, end)
		if err != nil {
			return value, err
		}
		pos = f.next
		if f.tag == wrapperValue {
			value = f.number
		}
	}
	return value, nil
}

// field reads the field at pos of a message that ends at end. What is neither a
// varint nor bytes is stepped over.
func (d *decoder) field(pos, end int) (f field, err error) {
	tag, n := protowire.ConsumeVarint(d.data[pos:end])
	if n < 0 {
		return f, malformed(pos)
	}
	number, kind := protowire.DecodeTag(tag)
	if !number.IsValid() {
		return f, malformed(pos)
	}
	f.tag = tag
	rest := d.data[pos+n : end]
	switch kind {
	case protowire.VarintType:
		f.number, f.next = protowire.ConsumeVarint(rest)
	case protowire.BytesType:
		var content []byte
		content, f.next = protowire.ConsumeBytes(rest)
		f.end = pos + n + f.next
		f.start = f.end - len(content)
	default:
		f.next = protowire.ConsumeFieldValue(number, kind, rest)
	}
	if f.next < 0 {
		return f, malformed(pos)
	}
	f.next += pos + n
	return f, nil
}

// malformed is an error that tells where, and nothing of the content.
func malformed(pos int) error {
	return fmt.Errorf("not a RateLimitRequest: malformed protobuf at byte %d", pos)
}
