package admin

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/envoy-rls/envoy-rls/internal/playground"
	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
)

// State is what an operator asks first.
type State struct {
	Version  string     `json:"version"`
	Revision string     `json:"revision"`
	Started  time.Time  `json:"started"`
	State    string     `json:"state"` // starting, ready, draining, stopped
	Ready    bool       `json:"ready"`
	Reasons  []string   `json:"reasons"`  // why it is not ready
	Problems []string   `json:"problems"` // what does not end readiness
	Store    StoreState `json:"store"`
	Rules    RulesState `json:"rules"`
	LogLevel string     `json:"log_level"`
}

// StoreState is how the store is.
type StoreState struct {
	URL         string `json:"url"` // with passwords masked
	Answers     bool   `json:"answers"`
	Error       string `json:"error,omitempty"`
	BreakerOpen bool   `json:"breaker_open"` // calls are answered by on_store_error at once
}

// RulesState is which rules are in force.
type RulesState struct {
	Generation uint64    `json:"generation"` // 0: none yet
	Hash       string    `json:"hash"`
	Domains    int       `json:"domains"`
	Limits     int       `json:"limits"`
	Rejected   []string  `json:"rejected"` // domains whose newest rules are in error
	Loaded     time.Time `json:"loaded"`   // the newest look that found a change
	Result     string    `json:"result"`   // success, partial or failure
}

// Rules are the limits in force, and what the newest load found.
type Rules struct {
	RulesState
	InForce     []LimitRow               `json:"in_force"`
	Diagnostics []descriptors.Diagnostic `json:"diagnostics"`
	Held        []string                 `json:"held"` // places whose emptiness waits for a forced reload
}

// LimitRow is one limit.
type LimitRow struct {
	Domain       string  `json:"domain"`
	Rule         string  `json:"rule"` // its label, as in metrics
	Path         string  `json:"path"`
	Entries      []Entry `json:"entries"` // keys, and values as written; "" is any
	Place        string  `json:"place"`   // file:line:col
	Name         string  `json:"name,omitempty"`
	Unlimited    bool    `json:"unlimited,omitempty"`
	Amount       uint32  `json:"requests_per_unit"`
	Unit         string  `json:"unit,omitempty"`
	Multiplier   uint32  `json:"unit_multiplier,omitempty"`
	Algorithm    string  `json:"algorithm,omitempty"`
	Burst        uint64  `json:"burst,omitempty"`
	Shadow       bool    `json:"shadow_mode,omitempty"`
	Quota        bool    `json:"quota_mode,omitempty"`
	DeniedHits   string  `json:"denied_hits,omitempty"`
	OnStoreError string  `json:"on_store_error,omitempty"`
}

// Entry is one level of a rule.
type Entry struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// LimitRows are the limits of a ruleset, which may be nil.
func LimitRows(set *descriptors.Ruleset) []LimitRow {
	rows := []LimitRow{}
	if set == nil {
		return rows
	}
	for _, l := range set.Limits() {
		row := LimitRow{Rule: l.Label, Place: l.Place.String(), Name: l.Name, Unlimited: l.Unlimited, Entries: []Entry{}}
		if l.Rule != nil {
			row.Domain, row.Path = l.Rule.Domain, l.Rule.Path
			for _, e := range l.Rule.Entries {
				row.Entries = append(row.Entries, Entry{e.Key, e.Value})
			}
		}
		if !l.Unlimited {
			row.Amount, row.Unit, row.Multiplier = l.Amount, l.Unit.String(), l.Multiplier
			row.Algorithm, row.Burst = l.Bucket.Algorithm.String(), l.Bucket.Capacity()
			row.Shadow, row.Quota = l.Shadow, l.Quota
			row.DeniedHits, row.OnStoreError = l.DeniedHits.String(), l.OnStoreError.String()
		}
		rows = append(rows, row)
	}
	return rows
}

func (a *API) state(w http.ResponseWriter, _ *http.Request) {
	s := a.State()
	s.LogLevel = a.Level.Level().String()
	s.Reasons, s.Problems = append([]string{}, s.Reasons...), append([]string{}, s.Problems...) // lists, not null
	writeJSON(w, http.StatusOK, s)
}

func (a *API) rules(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, a.Rules()) }

func (a *API) reload(w http.ResponseWriter, r *http.Request) {
	a.Log.Info("reloading rules", "by", "the admin API", "client", r.RemoteAddr)
	a.Reload()
	writeJSON(w, http.StatusAccepted, map[string]string{"reload": "begun; see /api/rules"})
}

func (a *API) logLevel(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]string{"level": a.Level.Level().String()})
}

func (a *API) setLogLevel(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Level string `json:"level"`
	}
	err := readJSON(w, r, &body)
	var level slog.Level
	if err == nil {
		err = level.UnmarshalText([]byte(body.Level))
	}
	if err != nil {
		writeError(w, http.StatusBadRequest, fmt.Sprintf(`want {"level": "debug"}, or info, warn, error: %v`, err))
		return
	}
	a.Level.Set(level)
	a.Log.Warn("the log level was changed by the admin API", "level", level.String(), "client", r.RemoteAddr)
	a.logLevel(w, r)
}

// playground runs a simulation: it touches no bucket of the server's.
func (a *API) playground(w http.ResponseWriter, r *http.Request) {
	var c playground.Config
	err := readJSON(w, r, &c)
	if err == nil {
		var result *playground.Result
		if result, err = playground.Run(c); err == nil {
			writeJSON(w, http.StatusOK, result)
			return
		}
	}
	writeError(w, http.StatusBadRequest, err.Error())
}

// readJSON reads one value, of fields that are known.
func readJSON(w http.ResponseWriter, r *http.Request, to any) error {
	dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBodyBytes))
	dec.DisallowUnknownFields()
	if err := dec.Decode(to); err != nil {
		return err
	}
	if dec.Decode(new(any)) != io.EOF {
		return errors.New("more than one value")
	}
	return nil
}
