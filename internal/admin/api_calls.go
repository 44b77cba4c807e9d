package admin

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/envoy-rls/envoy-rls/pkg/rls"
	"github.com/envoy-rls/envoy-rls/pkg/rls/explain"
)

func (a *API) explain(w http.ResponseWriter, r *http.Request) {
	var req rls.Request
	if readCall(w, r, &req) {
		req.Look = true
		a.decide(w, r, &req)
	}
}

func (a *API) try(w http.ResponseWriter, r *http.Request) {
	var req rls.Request
	if readCall(w, r, &req) {
		a.decide(w, r, &req)
	}
}

// Buckets are what the stores hold of the buckets of a call.
type Buckets struct {
	Store *explain.Explanation `json:"store"`
	// Local is what this server has counted itself, under on_store_error: local.
	Local *explain.Explanation `json:"local"`
}

func (a *API) buckets(w http.ResponseWriter, r *http.Request) {
	var req rls.Request
	if !readCall(w, r, &req) {
		return
	}
	req.Look = true
	ctx, cancel := context.WithTimeout(r.Context(), decideTimeout)
	defer cancel()
	store, err := a.Call(ctx, &req)
	if failed, ok := errors.AsType[*rls.Error](err); ok && failed.Kind == rls.Invalid {
		writeError(w, http.StatusBadRequest, err.Error())
		return
	}
	local, _ := a.Local(ctx, &req) // it is in this process, and says itself what is wrong
	writeJSON(w, http.StatusOK, Buckets{store, local})
}

// reset is of an operator who frees a caller: whatever the buckets hold is gone.
func (a *API) reset(w http.ResponseWriter, r *http.Request) {
	var req rls.Request
	if !readCall(w, r, &req) {
		return
	}
	req.Renew = true
	if x := a.decide(w, r, &req); x != nil {
		a.audit(r, "buckets were reset by the admin API", x)
	}
}

func (a *API) grant(w http.ResponseWriter, r *http.Request) {
	var req rls.Request
	if !readCall(w, r, &req) {
		return
	}
	if req.HitsAddend == 0 {
		writeError(w, http.StatusBadRequest, "say how many hits to give back: hitsAddend")
		return
	}
	for i := range req.Descriptors {
		d := &req.Descriptors[i]
		d.IsNegative, d.HasHits, d.Hits = true, true, uint64(req.HitsAddend)
	}
	if x := a.decide(w, r, &req); x != nil {
		a.audit(r, "hits were granted by the admin API", x, "hits", req.HitsAddend)
	}
}

// decide answers with the explanation of a call; it returns nil if the call failed.
func (a *API) decide(w http.ResponseWriter, r *http.Request, req *rls.Request) *explain.Explanation {
	ctx, cancel := context.WithTimeout(r.Context(), decideTimeout)
	defer cancel()
	x, err := a.Call(ctx, req)
	status := http.StatusOK
	if failed, ok := errors.AsType[*rls.Error](err); ok && failed.Kind == rls.Invalid {
		status = http.StatusBadRequest
	} else if err != nil {
		status = http.StatusServiceUnavailable
	}
	writeJSON(w, status, x)
	if err != nil {
		return nil
	}
	return x
}

// audit logs a change: what, whose, and who asked.
func (a *API) audit(r *http.Request, what string, x *explain.Explanation, attrs ...any) {
	var of, rules []string
	for _, d := range x.Descriptors {
		var entries []string
		for _, e := range d.Entries {
			text := e.Key
			if !a.Hidden {
				text += "=" + e.Value
			}
			entries = append(entries, text)
		}
		of = append(of, strings.Join(entries, ","))
		for _, l := range d.Limits {
			rules = append(rules, l.Label)
		}
	}
	a.Log.Warn(what, append([]any{"domain", x.Domain, "descriptors", of, "rules", rules, "client", r.RemoteAddr}, attrs...)...)
}
