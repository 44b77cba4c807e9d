package rls

import (
	"strings"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
)

// Seen is what one limit said of a call that was decided.
type Seen struct {
	Domain  string
	Limit   *descriptors.Limit
	Value   string // the entries as key=value,key=value; see Watcher
	Hits    uint64
	Shadow  bool // it denies nobody
	Policy  bool // a store policy gave the verdict
	Verdict buckets.Verdict
}

// Watcher is told of each limit of each call, by the caller's goroutine: See must
// be quick, and keep nothing but what it copies. Values of sensitive rules are
// hashed; Hashed does so with all, Hidden shows keys only.
type Watcher struct {
	See            func(*Seen)
	Hashed, Hidden bool
}

// Watch has w told from now on; nil ends it. Without a watcher a call pays for one
// look at a pointer.
func (l *Limiter) Watch(w *Watcher) { l.watcher.Store(w) }

// show tells w what the limits of the call said. Looks and refunds are nobody's
// traffic.
func (d *decision) show(w *Watcher) {
	for i := range d.picks {
		p := &d.picks[i]
		if p.limit.Unlimited || p.bare && !p.policy || p.op != buckets.Take {
			continue
		}
		w.See(&Seen{
			Domain: d.req.Domain, Limit: p.limit, Value: d.entriesFor(w, p), Hits: p.hits,
			Shadow: p.role == buckets.Shadow, Policy: p.policy, Verdict: p.verdict,
		})
	}
}

// entriesFor are the entries that name the bucket, as the watcher may see them.
func (d *decision) entriesFor(w *Watcher, p *pick) string {
	var b strings.Builder
	var marks []buckets.Mark
	if p.descriptor < len(d.marks) {
		marks = d.marks[p.descriptor]
	}
	for i, e := range d.req.Descriptors[p.descriptor].Entries {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(shown(e.Key))
		if w.Hidden {
			continue
		}
		b.WriteByte('=')
		switch {
		case i < len(marks) && marks[i].Kind == buckets.Shared:
			b.WriteString(shown(marks[i].Text))
		case w.Hashed || i < len(marks) && marks[i].Kind == buckets.Sensitive:
			b.Write(d.limiter.opt.Keyer.AppendHashed(nil, e.Value))
		default:
			b.WriteString(shown(e.Value))
		}
	}
	return b.String()
}
