package descriptors

import (
	"cmp"
	"slices"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
)

// File is one rule file as read: JSON or YAML, with any number of documents. Or
// it is the resource of a source that decodes by itself.
type File struct {
	Name string // shown in diagnostics
	Data []byte
	// Config, if set, takes the place of what Data would be decoded to. Data then
	// only tells whether it has changed: it is what Config was decoded from.
	Config *Config
	// DefaultsOnly says that rules come from elsewhere: descriptors are warned of
	// and passed over.
	DefaultsOnly bool
	// Err says why the file could not be read; Data is unset then. The domains
	// that the file held before are rejected, as if it could not be parsed.
	Err error
}

// Options are what rules mean where they say nothing.
type Options struct {
	Algorithm    buckets.Algorithm // 0 = token_bucket
	OnStoreError StorePolicy
	DeniedHits   DeniedHits
	BurstPercent uint32 // of the amount; 0 leaves it to the algorithm
	Unbounded    bool   // see buckets.Limit
	Strict       bool   // any error keeps the whole set from loading
	Notes        bool   // report notes, too: for people who look at rules, not for a log
}

func (o Options) algorithm() buckets.Algorithm {
	if o.Algorithm == 0 {
		return buckets.TokenBucket
	}
	return o.Algorithm
}

// Compile makes a ruleset of rule files and reports every problem of every
// file, sorted by place. The order of files has no meaning.
//
// An error rejects its domain only. The domain keeps the rules it has in last,
// the ruleset now in force, which may be nil; without those it is there, but
// has no rules. A file that cannot be read or parsed rejects the domains that
// it names as far as can be told, and those it held in last; where neither says
// anything, Ruleset.UnknownUnavailable is set.
//
// The ruleset is nil only under Options.Strict with an error. Compile never
// panics, whatever the files hold, and bounds what they can make it use.
func Compile(files []File, last *Ruleset, opt Options) (*Ruleset, []Diagnostic) {
	files = slices.Clone(files)
	slices.SortStableFunc(files, func(a, b File) int { return cmp.Compare(a.Name, b.Name) })
	log := &report{}
	return gather(files, last, log).compile(files, last, opt, log)
}

// compile makes the ruleset of files that have been gathered.
func (s *fileSet) compile(files []File, last *Ruleset, opt Options, log *report) (*Ruleset, []Diagnostic) {
	rs := &Ruleset{
		domains:            make(map[string]*Domain, len(s.domains)),
		Hash:               hash(files, opt),
		UnknownUnavailable: s.unknown,
		files:              s.files,
	}
	for _, name := range sortedKeys(s.domains) {
		rs.domains[name] = s.domains[name].compile(last, opt, log)
	}
	failed := log.errors > 0
	diagnostics := log.sorted()
	if opt.Strict && failed {
		return nil, diagnostics
	}
	rs.number()
	return rs, diagnostics
}

// compile makes one domain, or finds its last good rules.
func (u *unit) compile(last *Ruleset, opt Options, log *report) *Domain {
	before := log.errors
	domain := build(u, merge(u, log), opt, log)
	if u.rejected || log.errors > before {
		domain = &Domain{Name: u.name, Rejected: true, root: &node{}, defaults: opt}
		if kept := last.find(u.name); kept != nil && kept.Usable() {
			domain.keep(kept)
		}
	}
	domain.override = overrideTemplate(domain.defaults)
	return domain
}
