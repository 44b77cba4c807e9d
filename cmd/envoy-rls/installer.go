package main

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/envoy-rls/envoy-rls/internal/lifecycle"
	"github.com/envoy-rls/envoy-rls/internal/telemetry"
	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
)

// installer puts loaded rules in force and tells the log, the metrics and the
// health how it went. It applies one load at a time.
type installer struct {
	install func(*descriptors.Ruleset)
	health  *lifecycle.Health
	metrics *telemetry.Metrics
	log     *slog.Logger

	newest     atomic.Pointer[loaded]
	generation uint64          // in force; 0 = none
	logged     map[string]bool // problems of the newest load
}

// loaded is a load, and when it was applied.
type loaded struct {
	descriptors.Load
	at time.Time
}

// apply puts a load in force, unless it is already, and tells of it.
func (n *installer) apply(load descriptors.Load) {
	changed := load.Generation != n.generation
	if changed {
		n.install(load.Ruleset)
		n.generation = load.Generation
	}
	n.logProblems(&load)
	n.logResult(&load, changed)
	n.newest.Store(&loaded{load, time.Now()})
	n.metrics.SetReload(reloadOutcome(&load, time.Now()))
	n.health.SetRules(rulesHealth(&load))
}

func reloadResult(load *descriptors.Load) telemetry.ReloadResult {
	switch {
	case load.Refused || load.Ruleset == nil:
		return telemetry.ReloadFailure
	case !load.Sound():
		return telemetry.ReloadPartial
	}
	return telemetry.ReloadSuccess
}

// reloadOutcome is a load for the metrics.
func reloadOutcome(load *descriptors.Load, now time.Time) telemetry.Reload {
	r := telemetry.Reload{At: now, Result: reloadResult(load), Rules: map[string]int{}}
	if load.Ruleset == nil {
		return r
	}
	r.Hash, r.Rejected = load.Ruleset.Hash, load.Ruleset.Rejected()
	for _, d := range load.Ruleset.Domains() {
		r.Rules[d.Name] = 0
	}
	for _, limit := range load.Ruleset.Limits() {
		r.Rules[limit.Rule.Domain]++
	}
	return r
}

// rulesHealth is what readiness hangs on, and what is wrong for those who ask.
func rulesHealth(load *descriptors.Load) lifecycle.Rules {
	h := lifecycle.Rules{}
	for _, held := range load.Held {
		h.Problems = append(h.Problems, holdText(held, load.Ruleset))
	}
	if load.Refused {
		h.Problems = append(h.Problems, "RULES_STRICT: the newest rules have errors and were not loaded")
	}
	if load.Ruleset == nil {
		return h
	}
	for _, d := range load.Ruleset.Domains() {
		h.Loaded = h.Loaded || d.Usable()
		switch {
		case d.Rejected && d.Kept:
			h.Problems = append(h.Problems, fmt.Sprintf("domain %q: its newest rules are in error, the last good ones stay in force", d.Name))
		case d.Rejected:
			h.Problems = append(h.Problems, fmt.Sprintf("domain %q: its rules are in error, its calls are answered UNAVAILABLE", d.Name))
		}
	}
	if load.Ruleset.UnknownUnavailable {
		h.Problems = append(h.Problems, "a rejected file may be of any domain: calls of unknown domains are answered UNAVAILABLE")
	}
	h.NeedStore = slices.ContainsFunc(load.Ruleset.Limits(), needsStore)
	return h
}

// holdText tells of a place that has no rules now; set is in force.
func holdText(h descriptors.Hold, set *descriptors.Ruleset) string {
	if set == nil {
		return fmt.Sprintf("%s: %s: waiting for rules", h.Path, h.Reason)
	}
	return fmt.Sprintf("%s: %s: what was in force stays until there are rules again, or until a forced reload (SIGHUP) if what is there is meant to be empty", h.Path, h.Reason)
}

// needsStore tells whether calls fail when the store cannot decide the limit.
func needsStore(l *descriptors.Limit) bool {
	return !l.Unlimited && !l.Shadow && l.Amount > 0 && l.OnStoreError == descriptors.PolicyError
}

var severityLevels = [...]slog.Level{
	descriptors.Error:   slog.LevelError,
	descriptors.Warning: slog.LevelWarn,
	descriptors.Note:    slog.LevelInfo,
}

// logProblems logs each problem in one line, unless the load before had it, too.
func (n *installer) logProblems(load *descriptors.Load) {
	before := n.logged
	n.logged = map[string]bool{}
	once := func(level slog.Level, text string, attrs ...any) {
		if !before[text] && !n.logged[text] {
			n.log.Log(context.Background(), level, text, attrs...)
		}
		n.logged[text] = true
	}
	for i := range load.Diagnostics {
		d := &load.Diagnostics[i]
		level := severityLevels[d.Severity]
		var attrs []any
		if d.Hint != "" {
			attrs = []any{"hint", d.Hint}
		}
		once(level, d.String(), attrs...)
	}
	for _, held := range load.Held {
		once(slog.LevelError, holdText(held, load.Ruleset))
	}
}

// logResult logs in one line what is in force now.
func (n *installer) logResult(load *descriptors.Load, changed bool) {
	level := slog.LevelInfo
	if reloadResult(load) != telemetry.ReloadSuccess {
		level = slog.LevelWarn
	}
	text, attrs := "rules loaded", []any{"result", string(reloadResult(load)), "files", load.Files}
	switch {
	case load.Ruleset == nil:
		text = "there are no rules yet"
	case !changed:
		text = "the rules in force stay"
		fallthrough
	default:
		attrs = append(attrs, "domains", len(load.Ruleset.Domains()), "limits", len(load.Ruleset.Limits()), "generation", load.Generation)
		if rejected := load.Ruleset.Rejected(); len(rejected) > 0 {
			attrs = append(attrs, "rejected", rejected)
		}
	}
	if changed && load.Ruleset != nil && len(load.Ruleset.Domains()) == 0 {
		level, text = slog.LevelWarn, "no rules are in force now: every call passes"
	}
	n.log.Log(context.Background(), level, text, attrs...)
}
