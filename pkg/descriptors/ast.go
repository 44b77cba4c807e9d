package descriptors

import (
	"time"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
)

// The model between a rule source and the compiler: what was written, typed and
// with places, before anything of it is merged or judged. YAML is decoded into
// it; another source only has to build it.

// setting is a field that may be left out. A field in error has a place and is
// not set.
type setting[T any] struct {
	value T
	at    mark
	set   bool
}

// or is the value, or what stands in for one left out.
func (s setting[T]) or(fallback T) T {
	if s.set {
		return s.value
	}
	return fallback
}

// written tells whether the field is there, sound or not.
func (s setting[T]) written() bool { return s.set || s.at.src != 0 }

// document is the rules of one domain in one file.
type document struct {
	at          mark
	domain      setting[string]
	fallback    setting[bool] // match: fallback
	defaults    *defaults
	descriptors []*descriptor
	listed      bool // descriptors is there
	errors      bool // something in it is in error
	decoded     bool // it is a Config: nobody wrote it by hand, and its defaults are the domain's
}

// defaults are for all limits of a document.
type defaults struct {
	at           mark
	algorithm    setting[buckets.Algorithm]
	onStoreError setting[StorePolicy]
	deniedHits   setting[DeniedHits]
	burstPercent setting[uint32]
}

// descriptor is one node of the rules as written.
type descriptor struct {
	at       mark
	key      setting[string]
	selector selector
	selects  bool // a selector is written, sound or not
	limits   []*limit
	limited  mark // where the limits stand
	children []*descriptor

	shadow        setting[bool]
	quota         setting[bool]
	share         setting[bool]
	detailed      setting[bool]
	valueToMetric setting[bool]
	sensitive     setting[bool]
	metadata      setting[map[string]any]

	document *document
}

// limit is one limit of a node as written.
type limit struct {
	at           mark
	unit         setting[Unit]
	amount       setting[uint32]
	multiplier   setting[uint32]
	algorithm    setting[buckets.Algorithm]
	burst        setting[uint32]
	refill       setting[time.Duration]
	align        setting[buckets.Align]
	zone         setting[string]
	deniedHits   setting[DeniedHits]
	onStoreError setting[StorePolicy]
	name         setting[string]
	replaces     []setting[string]
	unlimited    setting[bool]
}
