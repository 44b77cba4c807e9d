package descriptors

import (
	"fmt"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
)

// Entry is one key and value of a request's descriptor.
type Entry = buckets.Entry

// Place is where something stands in a rule file.
type Place struct {
	File string `json:"file"`           // as given to Compile
	Line int    `json:"line,omitempty"` // from 1; 0 = unknown
	Col  int    `json:"col,omitempty"`  // from 1, in characters
}

// String is file:line:col, or the file alone where there are no lines.
func (p Place) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col)
}

// Ruleset is a compiled, immutable set of rules. It is safe for concurrent use.
type Ruleset struct {
	domains map[string]*Domain
	limits  []*Limit
	files   map[string][]string // the domains of each file

	// Hash is equal for rule sets compiled from the same files and options.
	Hash string
	// UnknownUnavailable says that a file was rejected whose domain cannot be
	// told: any unknown domain might be its.
	UnknownUnavailable bool
}

// Domain finds a domain by name; nil if there is none.
func (rs *Ruleset) Domain(name string) *Domain { return rs.domains[name] }

// Limits lists all limits of all domains: limit i has Index i.
func (rs *Ruleset) Limits() []*Limit { return rs.limits }

// Domain is the rules of one domain.
type Domain struct {
	Name string
	// Rejected says that the newest rules of the domain are in error. If Kept,
	// the last good ones are in force; else the domain has no rules and calls
	// of it cannot be decided.
	Rejected bool
	Kept     bool

	root     *node
	fallback bool    // match: fallback
	defaults Options // for rules of another source, and overrides
	override *Limit  // see Ruleset.DefaultLimit
}

// Unit is the unit of a limit; the numbers are those of Envoy's
// RateLimitResponse.RateLimit.Unit.
type Unit uint8

const (
	UnknownUnit Unit = iota
	Second
	Minute
	Hour
	Day
	Month
	Year
	Week
)

var units = [...]struct {
	name    string
	seconds int64
}{
	{"unknown", 0}, {"second", 1}, {"minute", 60}, {"hour", 3600}, {"day", 86400},
	{"month", 30 * 86400}, {"year", 365 * 86400}, {"week", 7 * 86400},
}

// ParseUnit finds a unit by its lower-case name in rule files.
func ParseUnit(name string) (Unit, bool) {
	for i := range units {
		if i > 0 && units[i].name == name {
			return Unit(i), true
		}
	}
	return UnknownUnit, false
}

// String is the name in rule files.
func (u Unit) String() string {
	if int(u) >= len(units) {
		return units[0].name
	}
	return units[u].name
}

// Micros is the length of the unit in µs: a month is 30 days, a year 365. It is
// 0 for an unknown unit.
func (u Unit) Micros() int64 {
	if int(u) >= len(units) {
		return 0
	}
	return units[u].seconds * 1_000_000
}

// DeniedHits says whether a limit records the cost of a denied call.
type DeniedHits uint8

const (
	DeniedAuto    DeniedHits = iota // charged if the descriptor states a cost of its own
	DeniedFree                      // never
	DeniedCharged                   // always
)

// StorePolicy is what a limit answers when the store cannot decide.
type StorePolicy uint8

const (
	PolicyError StorePolicy = iota // fail the call: Envoy's failure_mode_deny decides
	PolicyAllow                    // OK
	PolicyDeny                     // over the limit
	PolicyLocal                    // the embedded store decides, with a share of the amount
)

var (
	deniedHitsNames  = [...]string{"auto", "free", "charged"}
	storePolicyNames = [...]string{"error", "allow", "deny", "local"}
)

func (d DeniedHits) String() string  { return deniedHitsNames[d] }
func (p StorePolicy) String() string { return storePolicyNames[p] }

// ParseDeniedHits finds a value by its name.
func ParseDeniedHits(name string) (DeniedHits, bool) {
	return parseName[DeniedHits](deniedHitsNames[:], name)
}

// ParseStorePolicy finds a policy by its name.
func ParseStorePolicy(name string) (StorePolicy, bool) {
	return parseName[StorePolicy](storePolicyNames[:], name)
}

func parseName[T ~uint8](names []string, name string) (T, bool) {
	for i, n := range names {
		if n == name {
			return T(i), true
		}
	}
	return 0, false
}

// Limit is one limit of a rule. It is immutable.
type Limit struct {
	// Bucket is what the store enforces: prepared. If Unlimited, only what
	// Override needs is set.
	Bucket buckets.Limit

	Amount     uint32 // requests_per_unit
	Unit       Unit
	Multiplier uint32 // 1 if the rule names none
	Unlimited  bool

	Name     string   // "" if the rule gives none
	WireName string   // Name as it may stand in a header: other signs are _
	Replaces []string // names of limits that this one takes the place of

	DeniedHits   DeniedHits
	OnStoreError StorePolicy
	Shadow       bool // of the rule
	Quota        bool // of the rule

	Rule  *Rule // nil for an override where no rule matches
	Place Place
	// Index numbers the limits of a ruleset from 0; handles made per limit (for
	// metrics) are found by it. An override has that of the limit it stands in
	// for, or -1.
	Index int
	// Label names the limit in metrics and logs: its name, else the path of its
	// rule, with #2 and on for further limits of one rule. Unique in a domain as
	// far as names are.
	Label string
}

// Rule is a node of the rule tree that a request's descriptor can end at. It is
// immutable.
type Rule struct {
	// Path is the domain and the entries down to the node, such as
	// shop/path=/login/remote_address.
	Path   string
	Domain string
	// Entries are those of Path: keys, and values as written, where "" is any.
	// Only rules with limits have them.
	Entries []Entry
	Place   Place
	// Limits are empty where the rule lets everything pass (a whitelist), and a
	// single Unlimited one where it says so.
	Limits []*Limit
	// Marks say how each entry is named in bucket keys; nil if all are plain.
	Marks []buckets.Mark

	Shadow         bool
	Quota          bool
	DetailedMetric bool
	ValueToMetric  []bool // for each entry; nil if none
	// Buckets is how many buckets each limit of the rule has at most; 0 where an
	// entry takes any value, and it is up to traffic.
	Buckets  uint64
	Metadata map[string]any // of string, bool, float64, nil, []any, map[string]any; never written
}

// Reason says how a match ended; it is a metric label.
type Reason uint8

const (
	Matched     Reason = iota // Rule is set and has limits
	Whitelisted               // Rule is set and has none
	NoKey                     // no rule of that level has the entry's key
	NoValue                   // rules have the key, but none takes the value
	TooDeep                   // the descriptor goes on below the last rule
	TooShort                  // the descriptor ends above any limit
)

var reasonNames = [...]string{"matched", "whitelisted", "key", "value", "depth", "short"}

func (r Reason) String() string { return reasonNames[r] }

// Match is where a descriptor ended in the rule tree.
type Match struct {
	Rule   *Rule // nil unless Matched or Whitelisted
	Reason Reason
}
