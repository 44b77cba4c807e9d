package xdssource

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	rlsconfig "github.com/envoyproxy/go-control-plane/ratelimit/config/ratelimit/v3"
	"github.com/google/go-cmp/cmp"

	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
)

// client under test: a source, and a loader that compiles what it gets.
type loaded struct {
	t      *testing.T
	source *Source
	log    *text
	mu     sync.Mutex
	load   *descriptors.Load
	loads  int
}

func run(t *testing.T, o Options) *loaded {
	t.Helper()
	l := &loaded{t: t, log: &text{}}
	o.Log = slog.New(slog.NewTextHandler(l.log, nil))
	l.source = New(o)
	gone := errors.New("the test is over")
	ctx, cancel := context.WithCancelCause(context.Background())
	done := make(chan error)
	go func() {
		done <- descriptors.NewLoader(l.source, descriptors.Options{}).Run(ctx, func(load descriptors.Load) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.load = &load
			l.loads++
		})
	}()
	t.Cleanup(func() {
		cancel(gone)
		select {
		case err := <-done:
			if !errors.Is(err, gone) {
				t.Errorf("Run returned %v", err)
			}
		case <-time.After(10 * time.Second):
			t.Error("Run does not end with its context")
		}
	})
	return l
}

// amounts lists the domains, with the amount of the first limit of each, and a
// mark where the newest rules are in error. It is "" before the first load.
func (l *loaded) amounts() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.load == nil {
		return ""
	}
	all := []string{}
	for _, d := range l.load.Ruleset.Domains() {
		text := d.Name
		for r := range d.Rules() {
			text += fmt.Sprintf(":%d", r.Limits[0].Amount)
			break
		}
		if d.Rejected {
			text += "!"
		}
		all = append(all, text)
	}
	return "[" + strings.Join(all, " ") + "]"
}

func (l *loaded) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.loads
}

func (l *loaded) wait(want string) {
	l.t.Helper()
	eventually(l.t, want, func() bool { return l.amounts() == want })
}

// stays looks for a while whether something that would happen at once happens.
func (l *loaded) stays(want string) {
	l.t.Helper()
	for range 20 {
		if got := l.amounts(); got != want {
			l.t.Fatalf("rules are %s, want them to stay %s", got, want)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// text is a log that a test may read.
type text struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (t *text) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.Write(p)
}

func (t *text) has(part string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Contains(t.b.String(), part)
}

func TestUpdates(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	p.set("1", one("a", 1), one("b", 1))
	l := run(t, p.options())
	l.wait("[a:1 b:1]")
	for n := 2; n < 6; n++ {
		p.set(version(n), one("a", uint32(n)), one("c", 1))
		began := time.Now()
		l.wait(fmt.Sprintf("[a:%d c:1]", n))
		if took := time.Since(began); took > time.Second {
			t.Errorf("an update took %v", took)
		}
	}
	eventually(t, "the last version is acknowledged", func() bool { return slices.Contains(acks(p), "5") })
	first := p.asked()[0]
	if first.GetVersionInfo() != "" || first.GetResponseNonce() != "" || first.GetNode().GetId() != nodeID ||
		first.GetNode().GetMetadata().GetFields()["pod"].GetStringValue() != "a" || len(first.GetResourceNames()) > 0 {
		t.Errorf("first request: %v", first)
	}
	if diff := cmp.Diff([]string{"1", "2", "3", "4", "5"}, acks(p)); diff != "" {
		t.Error(diff)
	}
	p.set("6")
	l.wait("[]")
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.load.Sound() {
		t.Error("an empty later answer is a fault")
	}
}

// acks lists the versions that were accepted.
func acks(p *plane) []string {
	var all []string
	for _, r := range p.asked() {
		if r.GetResponseNonce() != "" && r.GetErrorDetail() == nil {
			all = append(all, r.GetVersionInfo())
		}
	}
	return all
}

// TestGatewayTree serves as many rules, as deep, as Envoy Gateway makes.
func TestGatewayTree(t *testing.T) {
	t.Parallel()
	const rules, depth = 256, 40
	p := newPlane(t)
	p.set("1", gateway("default/eg/http", rules, depth))
	l := run(t, p.options())
	l.wait("[default/eg/http:1]")
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.load.Diagnostics) > 0 {
		t.Errorf("unexpected: %s", l.load.Diagnostics[0])
	}
	d := l.load.Ruleset.Domain("default/eg/http")
	for i := range rules {
		entries := []descriptors.Entry{{Key: "httproute/default/r", Value: "httproute/default/r"}}
		for j := range depth {
			name := fmt.Sprintf("rule-%d-match-%d", i, j)
			entries = append(entries, descriptors.Entry{Key: name, Value: name})
		}
		m := d.Match(entries)
		if m.Reason != descriptors.Matched || m.Rule.Limits[0].Amount != uint32(i)+1 || m.Rule.Shadow != (i%2 == 1) {
			t.Fatalf("rule %d: %v", i, m.Reason)
		}
	}
}

func TestRestart(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	p.set("1", one("a", 1))
	l := run(t, p.options())
	l.wait("[a:1]")
	for n := 2; n < 5; n++ {
		p.kill()
		l.stays(fmt.Sprintf("[a:%d]", n-1))
		p.start()
		p.set("1", one("a", uint32(n))) // a new process counts from 1 again
		l.wait(fmt.Sprintf("[a:%d]", n))
	}
	eventually(t, "a stream begins with the last version and no nonce", func() bool {
		return slices.ContainsFunc(p.asked(), func(r *discovery.DiscoveryRequest) bool {
			return r.GetNode() != nil && r.GetVersionInfo() == "1" && r.GetResponseNonce() == ""
		})
	})
	// The same rules and version once more are no news.
	loads := l.count()
	p.kill()
	p.listen()
	p.set("2", one("a", 4), one("b", 1))
	l.wait("[a:4 b:1]")
	if got := l.count(); got != loads+1 {
		t.Errorf("%d loads, want 1", got-loads)
	}
}

// TestGoAway leaves a server that is about to end, though it keeps the stream
// open.
func TestGoAway(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	p.set("1", one("a", 1))
	l := run(t, p.options())
	l.wait("[a:1]")
	old, stop := p.server, p.stop
	defer stop()
	go old.GracefulStop()
	eventually(t, "no stream holds the old server", func() bool {
		select {
		case <-p.stopped:
			return true
		default:
			return false
		}
	})
	p.listen()
	p.set("2", one("a", 2))
	l.wait("[a:2]")
}

func TestRefused(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	p.set("1", one("a", 1), one("b", 1), one("c", 1))
	o := p.options()
	l := run(t, o)
	l.wait("[a:1 b:1 c:1]")
	bad := one("b", 2)
	bad.Descriptors[0].RateLimit.Unit = rlsconfig.RateLimitUnit_UNKNOWN
	p.set("2", one("a", 2), bad, one("c", 2))
	l.wait("[a:2 b:1! c:2]")
	eventually(t, "refused several times", func() bool { return len(p.nacks()) >= 3 })
	time.Sleep(200 * time.Millisecond)
	if n := len(p.nacks()); n > 6 {
		t.Errorf("%d refusals of one version: that is a loop", n)
	}
	for i, reason := range p.nacks() {
		if want := "b: k: error: unit is missing in this rate_limit"; !strings.Contains(reason, want) {
			t.Errorf("reason %d is %q, want %q", i, reason, want)
		}
	}
	for _, r := range p.asked() {
		if r.GetErrorDetail() != nil && (r.GetVersionInfo() != "1" || r.GetResponseNonce() == "") {
			t.Errorf("refusal with version %q and nonce %q", r.GetVersionInfo(), r.GetResponseNonce())
		}
	}
	p.set("3", one("a", 3), one("b", 3), one("c", 3))
	l.wait("[a:3 b:3 c:3]")
}

// TestRefusedAtFirst has nothing good to keep.
func TestRefusedAtFirst(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	p.set("1", &rlsconfig.RateLimitConfig{Name: "r"}, one("a", 1))
	l := run(t, p.options())
	l.wait("[a:1]")
	eventually(t, "refused", func() bool { return len(p.nacks()) > 0 })
	if got, want := p.nacks()[0], "r: error: domain is missing in this resource"; got != want {
		t.Errorf("reason %q, want %q", got, want)
	}
}

func TestEmptyAfterReconnect(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	p.set("1", one("a", 1))
	l := run(t, p.options())
	l.wait("[a:1]")
	p.kill()
	p.start()
	p.set("2")
	eventually(t, "the empty answer is acknowledged", func() bool { return slices.Contains(acks(p), "2") })
	l.stays("[a:1]")
	p.set("3", one("a", 3))
	l.wait("[a:3]")
	p.kill()
	p.start()
	p.set("4")
	eventually(t, "the empty answer is acknowledged", func() bool { return slices.Contains(acks(p), "4") })
	l.source.Reload()
	l.wait("[]")
}

func TestEmptyAppliesInTime(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	p.set("1", one("a", 1))
	o := p.options()
	o.emptyDelay = 50 * time.Millisecond
	l := run(t, o)
	l.wait("[a:1]")
	p.kill()
	p.start()
	p.set("2")
	l.wait("[]")
}

// TestNodeID says why nothing comes.
func TestNodeID(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	p.set("1", one("a", 1))
	o := p.options()
	o.NodeID, o.silentDelay = "somebody", 20*time.Millisecond
	l := run(t, o)
	eventually(t, "the log gives a hint", func() bool {
		return l.log.has("it may have no rules for this node id") && l.log.has("node_id=somebody")
	})
	if got := l.amounts(); got != "" {
		t.Errorf("rules are %s", got)
	}
}

func TestNoServer(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	p.set("1", one("a", 1))
	p.kill()
	l := run(t, p.options())
	eventually(t, "the log says that there is no server", func() bool { return l.log.has("connection refused") })
	p.listen()
	l.wait("[a:1]")
}
