package admin

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/envoy-rls/envoy-rls/pkg/rls"
)

// decide makes a Decider of a function.
type decide func(ctx context.Context, req *rls.Request, ans *rls.Answer) error

func (d decide) Decide(ctx context.Context, req *rls.Request, ans *rls.Answer) error {
	return d(ctx, req, ans)
}

func allow(_ context.Context, _ *rls.Request, ans *rls.Answer) error {
	ans.Code = rls.OK
	ans.Statuses = append(ans.Statuses, rls.Status{Code: rls.OK})
	return nil
}

func deny(_ context.Context, _ *rls.Request, ans *rls.Answer) error {
	ans.Code = rls.OverLimit
	ans.Statuses = append(ans.Statuses,
		rls.Status{Code: rls.OK, HasReset: true, ResetSeconds: 900},
		rls.Status{Code: rls.OverLimit, HasReset: true, ResetSeconds: 30},
		rls.Status{Code: rls.OverLimit, HasReset: true, ResetSeconds: 7})
	return nil
}

func fail(err error) decide {
	return func(context.Context, *rls.Request, *rls.Answer) error { return err }
}

const goodBody = `{"domain":"shop","descriptors":[{"entries":[{"key":"path","value":"/"}]}]}`

// H9: each kind of answer has its own status, and only POST decides.
func TestH9_JSONStatuses(t *testing.T) {
	t.Parallel()
	secret := errors.New("dial redis:6379 with password hunter2")
	for name, tt := range map[string]struct {
		method, body string
		decide       decide
		status       int
		retryAfter   string
		text         string // in the body
	}{
		"allowed":        {"POST", goodBody, allow, 200, "", `"overallCode":"OK"`},
		"denied":         {"POST", goodBody, deny, 429, "30", `"overallCode":"OVER_LIMIT"`},
		"GET":            {"GET", goodBody, allow, 405, "", "POST"},
		"PUT":            {"PUT", goodBody, allow, 405, "", "POST"},
		"HEAD":           {"HEAD", "", allow, 405, "", ""},
		"no body":        {"POST", "", allow, 400, "", "the body is empty"},
		"no JSON":        {"POST", "{", allow, 400, "", "not a RateLimitRequest"},
		"unknown field":  {"POST", `{"domian":"shop"}`, allow, 400, "", "domian"},
		"wrong type":     {"POST", `[1]`, allow, 400, "", "not a RateLimitRequest"},
		"invalid":        {"POST", goodBody, fail(&rls.Error{Kind: rls.Invalid, Text: "the domain is empty"}), 400, "", "the domain is empty"},
		"no rules":       {"POST", goodBody, fail(&rls.Error{Kind: rls.Unavailable, Text: "no rules are loaded", Err: secret}), 503, "1", "no rules are loaded"},
		"too slow":       {"POST", goodBody, fail(context.DeadlineExceeded), 503, "1", "not decided in time"},
		"internal":       {"POST", goodBody, fail(secret), 500, "", "internal error"},
		"panic":          {"POST", goodBody, func(context.Context, *rls.Request, *rls.Answer) error { panic(secret) }, 500, "", "internal error"},
		"1 MiB":          {"POST", goodBody + strings.Repeat(" ", 1<<20-len(goodBody)), allow, 200, "", `"OK"`},
		"1 MiB and more": {"POST", goodBody + strings.Repeat(" ", 1<<20), allow, 413, "", "larger than 1 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := httptest.NewRecorder()
			JSONHandler(tt.decide, slog.New(slog.DiscardHandler)).
				ServeHTTP(w, httptest.NewRequest(tt.method, "/json", strings.NewReader(tt.body)))
			if w.Code != tt.status {
				t.Errorf("status %d, want %d: %s", w.Code, tt.status, w.Body)
			}
			if got := w.Header().Get("Retry-After"); got != tt.retryAfter {
				t.Errorf("Retry-After %q, want %q", got, tt.retryAfter)
			}
			if !strings.Contains(w.Body.String(), tt.text) {
				t.Errorf("body %q, want %q in it", w.Body, tt.text)
			}
			if strings.Contains(w.Body.String(), "hunter2") {
				t.Errorf("the body shows a secret: %s", w.Body)
			}
			if allow := w.Header().Get("Allow"); (allow == "POST") != (tt.status == 405) {
				t.Errorf("Allow %q", allow)
			}
		})
	}
}

func TestJSONReachesDecider(t *testing.T) {
	t.Parallel()
	var got rls.Request
	var hasDeadline bool
	d := decide(func(ctx context.Context, req *rls.Request, ans *rls.Answer) error {
		got = *req
		_, hasDeadline = ctx.Deadline()
		return allow(ctx, req, ans)
	})
	body := `{"domain":"shop","hits_addend":3,"descriptors":[{"entries":[{"key":"a","value":"b"}]}]}`
	w := httptest.NewRecorder()
	JSONHandler(d, slog.New(slog.DiscardHandler)).ServeHTTP(w, httptest.NewRequest("POST", "/json", strings.NewReader(body)))
	if got.Domain != "shop" || got.HitsAddend != 3 || len(got.Descriptors) != 1 || got.Descriptors[0].Entries[0].Value != "b" {
		t.Errorf("decided %+v", got)
	}
	if !hasDeadline {
		t.Error("the call has no deadline")
	}
	if ct := w.Header().Get("Content-Type"); ct != "application/json" {
		t.Errorf("Content-Type %q", ct)
	}
}

// The answer's own Retry-After is the one that the ranking chose.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	var ans rls.Answer
	if got := retryAfter(&ans); got != "1" {
		t.Errorf("without a reset %q, want 1", got)
	}
	deny(t.Context(), nil, &ans)
	ans.ResponseHeaders = []rls.Header{{Name: "retry-after", Value: "12"}}
	if got := retryAfter(&ans); got != "12" {
		t.Errorf("%q, want that of the answer", got)
	}
}

// Any body gives an answer.
func FuzzJSON(f *testing.F) {
	for _, body := range []string{"", "{", goodBody, `{"descriptors":[{"limit":{"unit":99}}]}`, "\xff", `{"domain":"\ud800"}`} {
		f.Add([]byte(body))
	}
	h := JSONHandler(decide(allow), slog.New(slog.DiscardHandler))
	f.Fuzz(func(t *testing.T, body []byte) {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("POST", "/json", bytes.NewReader(body)))
		if w.Code != 200 && w.Code != 400 {
			t.Errorf("status %d: %s", w.Code, w.Body)
		}
	})
}

// A client that sends its body too slowly, or goes away, holds nothing up.
func TestBodyThatBreaksOff(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequest("POST", "/json", io.MultiReader(strings.NewReader(goodBody[:20]), brokenReader{}))
	w := httptest.NewRecorder()
	JSONHandler(decide(allow), slog.New(slog.DiscardHandler)).ServeHTTP(w, r)
	if w.Code != http.StatusBadRequest {
		t.Errorf("status %d", w.Code)
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
