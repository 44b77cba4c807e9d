package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/envoy-rls/envoy-rls/internal/admin"
	"github.com/envoy-rls/envoy-rls/internal/lifecycle"
	"github.com/envoy-rls/envoy-rls/internal/live"
	"github.com/envoy-rls/envoy-rls/internal/settings"
	"github.com/envoy-rls/envoy-rls/internal/telemetry"
	"github.com/envoy-rls/envoy-rls/pkg/buckets"
	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
	"github.com/envoy-rls/envoy-rls/pkg/rls"
	"github.com/envoy-rls/envoy-rls/pkg/rls/explain"
)

// watching is what the admin API shows and changes.
type watching struct {
	settings  *settings.Settings
	store     *opened
	installer *installer
	explainer *explain.Explainer
	local     *explain.Explainer
	reload    func()
	level     *slog.LevelVar
	log       *slog.Logger
}

func (w *watching) api(health *lifecycle.Health) *admin.API {
	build, started := telemetry.ReadBuild(version), time.Now()
	s := &w.settings.Admin
	return &admin.API{
		Call: func(ctx context.Context, req *rls.Request) (*explain.Explanation, error) {
			return w.explainer.Call(ctx, req, new(rls.Answer))
		},
		Local: func(ctx context.Context, req *rls.Request) (*explain.Explanation, error) {
			return w.local.Call(ctx, req, new(rls.Answer))
		},
		State: func() admin.State {
			report := health.Report()
			return admin.State{
				Version: build.Version, Revision: build.Revision, Started: started,
				State: report.State.String(), Ready: report.Ready, Reasons: report.Reasons, Problems: report.Problems,
				Store: w.storeState(), Rules: w.rulesState(),
			}
		},
		Rules:   w.rules,
		Live:    live.NewHub(w.explainer.Limiter, s.Values == settings.ValuesHashed, s.Values == settings.ValuesHidden),
		Reload:  w.reload,
		Level:   w.level,
		Changes: s.Changes,
		Hidden:  s.Values != settings.ValuesShown,
		Log:     w.log,
	}
}

// explainLocal looks into the store that policies fall back to, under the keys that
// calls have. It counts nothing.
func explainLocal(deciding rls.Options, local buckets.Store) *explain.Explainer {
	deciding.Store, deciding.Local, deciding.Metrics = local, nil, nil
	return &explain.Explainer{Limiter: rls.NewLimiter(deciding), Keyer: deciding.Keyer}
}

func (w *watching) storeState() admin.StoreState {
	s := admin.StoreState{URL: w.settings.Store.Target.String(), Answers: true}
	if w.store.health != nil {
		if err := w.store.health(); err != nil {
			s.Answers, s.Error = false, err.Error()
		}
	}
	if w.store.breaking != nil {
		s.BreakerOpen = w.store.breaking()
	}
	return s
}

func (w *watching) rulesState() admin.RulesState {
	newest := w.installer.newest.Load()
	if newest == nil {
		return admin.RulesState{Rejected: []string{}}
	}
	s := admin.RulesState{Generation: newest.Generation, Loaded: newest.at, Result: string(reloadResult(&newest.Load)), Rejected: []string{}}
	if set := newest.Ruleset; set != nil {
		s.Hash, s.Domains, s.Limits = set.Hash, len(set.Domains()), len(set.Limits())
		s.Rejected = append(s.Rejected, set.Rejected()...)
	}
	return s
}

func (w *watching) rules() admin.Rules {
	r := admin.Rules{RulesState: w.rulesState(), InForce: []admin.LimitRow{}, Diagnostics: []descriptors.Diagnostic{}, Held: []string{}}
	newest := w.installer.newest.Load()
	if newest == nil {
		return r
	}
	r.InForce = admin.LimitRows(newest.Ruleset)
	r.Diagnostics = append(r.Diagnostics, newest.Diagnostics...)
	for _, held := range newest.Held {
		r.Held = append(r.Held, holdText(held, newest.Ruleset))
	}
	return r
}
