package admin

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/envoy-rls/envoy-rls/internal/lifecycle"
	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
)

func get(h http.Handler, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	r := httptest.NewRequest("GET", path, nil)
	r.Host = "127.0.0.1:6070"
	h.ServeHTTP(w, r)
	return w
}

func TestHealthPages(t *testing.T) {
	t.Parallel()
	ready := lifecycle.Report{State: lifecycle.Ready, Ready: true}
	partly := lifecycle.Report{State: lifecycle.Ready, Ready: true, Problems: []string{`domain "cart": its rules are in error`}}
	starting := lifecycle.Report{State: lifecycle.Starting, Reasons: []string{"no rules of any domain are loaded"}, Problems: []string{"rules/a.yaml: is empty"}}
	draining := lifecycle.Report{State: lifecycle.Draining, Reasons: []string{"the server is draining"}}
	for _, tt := range []struct {
		path   string
		report lifecycle.Report
		status int
		body   string
	}{
		{"/healthcheck", ready, 200, "OK"},
		{"/healthcheck", partly, 200, "OK"},
		{"/healthcheck", starting, 500, ""},
		{"/healthcheck", draining, 500, ""},
		{"/healthcheck?verbose", ready, 200, "ready\n"},
		{"/healthcheck?verbose=1", starting, 500, "not ready (starting)\n- no rules of any domain are loaded\nproblem: rules/a.yaml: is empty\n"},
		{"/livez", ready, 200, "OK"},
		{"/livez", starting, 200, "OK"},
		{"/livez", draining, 200, "OK"},
		{"/readyz", ready, 200, "ready\n"},
		{"/readyz", partly, 200, "ready\nproblem: domain \"cart\": its rules are in error\n"},
		{"/readyz", starting, 503, "not ready (starting)\n- no rules of any domain are loaded\nproblem: rules/a.yaml: is empty\n"},
		{"/readyz", draining, 503, "not ready (draining)\n- the server is draining\n"},
		{"/other", ready, 404, "404 page not found\n"},
	} {
		w := get(Public(http.NotFoundHandler(), func() lifecycle.Report { return tt.report }), tt.path)
		if w.Code != tt.status {
			t.Errorf("%s, %v: %d, want %d", tt.path, tt.report.State, w.Code, tt.status)
		}
		if diff := cmp.Diff(tt.body, w.Body.String()); diff != "" {
			t.Errorf("%s, %v: %s", tt.path, tt.report.State, diff)
		}
	}
}

func ruleset(t *testing.T, text string) func() *descriptors.Ruleset {
	t.Helper()
	rs, problems := descriptors.Compile([]descriptors.File{{Name: "a.yaml", Data: []byte(text)}}, nil, descriptors.Options{})
	if len(problems) > 0 {
		t.Fatalf("%v", problems)
	}
	return func() *descriptors.Ruleset { return rs }
}

func TestRLConfig(t *testing.T) {
	t.Parallel()
	rules := ruleset(t, `
domain: shop
descriptors:
  - key: path
    value: /login
    rate_limit: {unit: minute, unit_multiplier: 5, requests_per_unit: 3, name: login, algorithm: sliding_window_log}
  - key: user
    shadow_mode: true
    rate_limit: {unit: DAY, requests_per_unit: 7}
  - key: vip
    rate_limit: {unlimited: true}
`)
	want := `shop/path=/login: unit=MINUTE requests_per_unit=3, shadow_mode: false, quota_mode: false, algorithm: sliding_window_log, unit_multiplier: 5, name: "login"
shop/user: unit=DAY requests_per_unit=7, shadow_mode: true, quota_mode: false, algorithm: token_bucket
shop/vip: unlimited
`
	if diff := cmp.Diff(want, get(Debug(rules, http.NotFoundHandler(), ""), "/rlconfig").Body.String()); diff != "" {
		t.Error(diff)
	}
	none := func() *descriptors.Ruleset { return nil }
	if w := get(Debug(none, http.NotFoundHandler(), ""), "/rlconfig"); w.Code != 200 || w.Body.Len() > 0 {
		t.Errorf("without rules: %d %q", w.Code, w.Body)
	}
}

func TestDebugPages(t *testing.T) {
	t.Parallel()
	none := func() *descriptors.Ruleset { return nil }
	h := Debug(none, (&API{}).Handler(), "")
	locked := Debug(none, (&API{}).Handler(), "hunter2")
	for path, open := range map[string]bool{"/rlconfig": false, "/debug/pprof/": false, "/api/": false, "/": true, "/main.js": true, "/style.css": true} {
		if w := get(h, path); w.Code != 200 {
			t.Errorf("%s: %d", path, w.Code)
		}
		if w := get(locked, path); (w.Code == 200) != open {
			t.Errorf("%s without the token: %d", path, w.Code)
		}
	}
	if w := get(h, "/"); w.Header().Get("Content-Security-Policy") == "" || !strings.Contains(w.Body.String(), "main.js") {
		t.Errorf("the page: %v", w.Header())
	}
	if w := get(h, "/debug/pprof/goroutine?debug=1"); w.Code != 200 || !strings.Contains(w.Body.String(), "goroutine profile") {
		t.Errorf("pprof: %d", w.Code)
	}
	if w := get(h, "/nothing"); w.Code != 404 {
		t.Errorf("an unknown page: %d", w.Code)
	}
}

// S10: pprof is on the debug port and on no other.
func TestS10_OnlyDebugHasPprof(t *testing.T) {
	t.Parallel()
	ok := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "metrics") })
	metrics := Metrics("/metrics", ok)
	public := Public(ok, func() lifecycle.Report { return lifecycle.Report{} })
	for _, h := range []http.Handler{metrics, public} {
		if w := get(h, "/debug/pprof/"); w.Code != 404 {
			t.Errorf("pprof: %d", w.Code)
		}
	}
	if w := get(metrics, "/metrics"); w.Body.String() != "metrics" {
		t.Errorf("metrics: %d %s", w.Code, w.Body)
	}
}

func TestServerStops(t *testing.T) {
	t.Parallel()
	begun, finish := make(chan bool), make(chan bool)
	slow := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { begun <- true; <-finish })
	for _, cut := range []bool{false, true} {
		s := NewServer(slow, slog.New(slog.DiscardHandler))
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		served, answered := make(chan error, 1), make(chan error, 1)
		go func() { served <- s.Serve(l) }()
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		go func() {
			resp, err := client.Get("http://" + l.Addr().String())
			if err == nil {
				resp.Body.Close()
			}
			answered <- err
		}()
		<-begun
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		if cut {
			cancel()
		} else {
			time.AfterFunc(50*time.Millisecond, func() { finish <- true })
		}
		if err := s.Stop(ctx); (err != nil) != cut {
			t.Errorf("cut %v: Stop: %v", cut, err)
		}
		cancel()
		if err := <-answered; (err != nil) != cut {
			t.Errorf("cut %v: the request: %v", cut, err)
		}
		if err := <-served; err != nil {
			t.Errorf("cut %v: Serve: %v", cut, err)
		}
		if cut {
			finish <- true
		}
	}
}

// Every server gives up on a client that does nothing.
func TestTimeoutsAreSet(t *testing.T) {
	t.Parallel()
	log := slog.New(slog.DiscardHandler)
	for name, s := range map[string]*Server{"public": NewServer(nil, log), "debug": NewDebugServer(nil, log)} {
		h := &s.http
		if h.ReadHeaderTimeout == 0 || h.ReadTimeout == 0 || h.WriteTimeout == 0 || h.IdleTimeout == 0 || h.MaxHeaderBytes == 0 {
			t.Errorf("%s: %+v", name, h)
		}
	}
}
