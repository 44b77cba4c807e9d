package live

import "time"

// Snapshot is what was decided in a span of time. Lists are bounded, the worst first.
type Snapshot struct {
	Seconds      float64  `json:"seconds"`
	Allowed      uint64   `json:"allowed"`       // verdicts of limits
	Denied       uint64   `json:"denied"`        // of limits that are enforced
	ShadowDenied uint64   `json:"shadow_denied"` // of limits that deny nobody
	ByPolicy     uint64   `json:"by_policy"`     // of all: verdicts that the store had no part in
	Rules        []Rule   `json:"rules"`         // by denials, then by hits
	Hot          []Bucket `json:"hot"`           // by hits
	Denials      []Denial `json:"denials"`       // newest first
}

// Rule is what a limit said.
type Rule struct {
	Domain  string `json:"domain"`
	Rule    string `json:"rule"`  // its label, as in metrics
	Place   string `json:"place"` // file:line:col
	Hits    uint64 `json:"hits"`
	Allowed uint64 `json:"allowed"`
	Denied  uint64 `json:"denied"`
	Shadow  bool   `json:"shadow,omitempty"`
}

// Bucket is one value of a limit, as its last verdict left it.
type Bucket struct {
	Domain      string `json:"domain"`
	Rule        string `json:"rule"`
	Value       string `json:"value"`
	Hits        uint64 `json:"hits"`
	Denied      uint64 `json:"denied"` // calls
	Remaining   uint64 `json:"remaining"`
	Capacity    uint64 `json:"capacity"`
	ResetMicros int64  `json:"reset_micros"`
}

// Denial is a verdict that was no.
type Denial struct {
	At          time.Time `json:"at"`
	Domain      string    `json:"domain"`
	Rule        string    `json:"rule"`
	Place       string    `json:"place"`
	Value       string    `json:"value"`
	Hits        uint64    `json:"hits"`
	Remaining   uint64    `json:"remaining"`
	Capacity    uint64    `json:"capacity"`
	ResetMicros int64     `json:"reset_micros"`
	Shadow      bool      `json:"shadow,omitempty"`
	Policy      string    `json:"policy,omitempty"` // on_store_error, where it gave the verdict
}
