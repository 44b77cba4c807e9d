package rls_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
	"github.com/envoy-rls/envoy-rls/pkg/rls"
)

// behaviour is something that envoyproxy/ratelimit does, and whether we do so
// under PROFILE=ratelimit.
type behaviour struct {
	What     string
	Rules    string
	Options  string // words: headers, metadata, shadow, quota
	Rejected string // what envoyproxy/ratelimit rejects the rules for; "" = it loads them
	Calls    []exchange

	// Differs names the row of docs/reference/compatibility.md that says why we
	// do not; Here is then what the compiler says of the rules.
	Differs string
	Here    string
}

// exchange is a call, or "wait 10s", and its answer in the notation of describe.
type exchange struct {
	Ask   string
	Reply string // envoyproxy/ratelimit's

	Differs string
	Here    string // our answer, where it differs
}

// TestReferenceBehaviours replays testdata/reference/behaviours.yaml: what
// envoyproxy/ratelimit was seen to do. Each agrees, or is a difference on purpose
// that names its row in the documentation; internal/house holds the two together.
func TestReferenceBehaviours(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/reference/behaviours.yaml")
	if err != nil {
		t.Fatal(err)
	}
	dec := yaml.NewDecoder(strings.NewReader(string(data)))
	dec.KnownFields(true)
	var all []behaviour
	if err := dec.Decode(&all); err != nil {
		t.Fatal(err)
	}
	for _, b := range all {
		t.Run(b.What, func(t *testing.T) {
			t.Parallel()
			b.replay(t)
		})
	}
}

func (b *behaviour) replay(t *testing.T) {
	problem := firstError(b.Rules)
	if b.Differs == "" && (b.Rejected != "") != (problem != "") {
		t.Fatalf("rejected there for %q, here for %q: say which row of differences this is", b.Rejected, problem)
	}
	if b.Differs != "" && (b.Rejected == "") == (problem == "") && len(b.Calls) == 0 {
		t.Errorf("is no difference: rejected there for %q, here for %q", b.Rejected, problem)
	}
	if !strings.Contains(problem, b.Here) || b.Here == "" && b.Differs != "" && problem != "" {
		t.Errorf("rejected here for %q, want %q", problem, b.Here)
	}
	if problem != "" {
		return
	}
	w := newWorld(t, b.Rules, func(o *rls.Options, _ *descriptors.Options) {
		o.Reference = true
		o.Headers.RateLimit = strings.Contains(b.Options, "headers")
		o.Metadata = strings.Contains(b.Options, "metadata")
		o.Shadow = strings.Contains(b.Options, "shadow")
		o.Quota = strings.Contains(b.Options, "quota")
	})
	for _, c := range b.Calls {
		c.check(t, w)
	}
}

func (c *exchange) check(t *testing.T, w *world) {
	t.Helper()
	if after, ok := strings.CutPrefix(c.Ask, "wait "); ok {
		d, err := time.ParseDuration(after)
		if err != nil {
			t.Fatal(err)
		}
		w.wait(d)
		return
	}
	got := c.answer(t, w)
	want := strings.TrimSpace(c.Reply)
	if c.Differs != "" {
		if want == strings.TrimSpace(c.Here) {
			t.Errorf("%s: is no difference", c.Ask)
		}
		want = strings.TrimSpace(c.Here)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", c.Ask, diff)
	}
}

// answer decides the call. With metadata, it is the metadata.
func (c *exchange) answer(t *testing.T, w *world) string {
	t.Helper()
	if !w.opt.Metadata {
		return w.call(c.Ask)
	}
	text, err := json.Marshal(w.answer(c.Ask).Metadata)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// firstError compiles rules and returns the first error, "" if there is none.
func firstError(rules string) string {
	_, problems := descriptors.Compile([]descriptors.File{{Name: "rules.yaml", Data: []byte(rules)}}, nil, descriptors.Options{})
	for _, p := range problems {
		if p.Severity == descriptors.Error {
			return p.String()
		}
	}
	return ""
}
