package rls

import "github.com/envoy-rls/envoy-rls/pkg/descriptors"

// Request is one call to decide. Strings are bytes: any content is decided.
type Request struct {
	Domain      string
	Descriptors []Descriptor
	HitsAddend  uint32 // cost where a descriptor has none of its own; 0 means 1

	// Look asks what the answer would be: nothing is charged, given back or
	// counted. No message of Envoy's says so; it is for those who look on.
	Look bool
	// Renew makes the buckets of all limits as new, whatever they hold: an
	// operator's wish, that no message of Envoy's says either.
	Renew bool
}

// Descriptor is a list of entries that is looked up in the rules, and what the
// caller says about its cost and limit.
type Descriptor struct {
	Entries []descriptors.Entry

	HasLimit bool // Limit is set
	Limit    Override

	HasHits    bool // Hits is set
	Hits       uint64
	IsNegative bool // Hits are given back
}

// Override is the limit that a descriptor brings along.
type Override struct {
	RequestsPerUnit uint32
	Unit            int32  // number of envoy.type.v3.RateLimitUnit; 7 is taken as WEEK
	Multiplier      uint32 // the window is that many units; 0 is not given, which means 1
}

// Reset empties r for reuse; the capacity of its slices is kept.
func (r *Request) Reset() {
	for i := range r.Descriptors {
		r.Descriptors[i].reset()
	}
	*r = Request{Descriptors: r.Descriptors[:0]}
}

func (d *Descriptor) reset() {
	clear(d.Entries)
	*d = Descriptor{Entries: d.Entries[:0]}
}

// AddDescriptor appends an empty descriptor, reusing what Reset kept.
func (r *Request) AddDescriptor() *Descriptor {
	if n := len(r.Descriptors); n < cap(r.Descriptors) {
		r.Descriptors = r.Descriptors[:n+1]
		r.Descriptors[n].reset()
	} else {
		r.Descriptors = append(r.Descriptors, Descriptor{})
	}
	return &r.Descriptors[len(r.Descriptors)-1]
}
