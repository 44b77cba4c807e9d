package xdssource

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
)

// DefaultMaxMessageBytes is how large an answer may be by default.
const DefaultMaxMessageBytes = 64 << 20

// Options say where rules come from.
type Options struct {
	Server       string // host:port
	NodeID       string
	NodeMetadata map[string]string
	Headers      map[string]string // sent with each stream
	TLS          *TLS              // nil = plaintext
	// MaxMessageBytes bounds an answer; 0 = DefaultMaxMessageBytes.
	MaxMessageBytes int
	Backoff         Backoff
	// Defaults finds the rule files with defaults; nil = none.
	Defaults descriptors.Source
	Log      *slog.Logger // nil = none

	emptyDelay  time.Duration // until an empty first answer applies
	silentDelay time.Duration // until silence is logged
	refusePause time.Duration // before the second refusal of the same; doubled from then on
}

// How long things take where a test says nothing else.
const (
	emptyDelay  = 30 * time.Second
	silentDelay = 15 * time.Second
	refusePause = 100 * time.Millisecond
	// maxRefusePause bounds how late a corrected answer is asked for.
	maxRefusePause = 5 * time.Second
)

func (o Options) complete() Options {
	o.MaxMessageBytes = cmp.Or(o.MaxMessageBytes, DefaultMaxMessageBytes)
	o.Backoff = o.Backoff.complete()
	o.emptyDelay = cmp.Or(o.emptyDelay, emptyDelay)
	o.silentDelay = cmp.Or(o.silentDelay, silentDelay)
	o.refusePause = cmp.Or(o.refusePause, refusePause)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}
