package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	rlsv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
)

// wish is a request whose descriptors are compared.
type wish struct {
	path    string
	headers []string // names and values in turn
}

// TestPredictedDescriptors sends requests through the gateway of
// deploy/envoy.yaml, and compares the descriptors that it sends with those that
// envoy-rls explain --envoy predicts.
func TestPredictedDescriptors(t *testing.T) {
	t.Parallel()
	notes := startRecorder(t)
	g := &gateway{port: freePort(t), adminPort: freePort(t)}
	config := g.config(t, patient, []*rls{{grpcPort: notes.port}})
	comparePredictions(t, g, notes, config, []wish{
		{"/", nil},
		{"/?a=1", []string{"x-plan", "free", "x-user-id", "ann"}},
		{"/", []string{"x-plan", "free"}},
		{"/", []string{"x-user-id", "ann"}},
		{"/", []string{"x-partner", "yes"}},
		{"/", []string{"x-partner", "YES"}},
		{"/", []string{"x-tenant", "acme", "x-partner", "yes", "x-plan", "pro", "x-user-id", "bob"}},
		{"/login", nil},
		{"/login?next=/", []string{"x-tenant", "acme"}},
		{"/login/", nil},
		{"/LOGIN", nil},
		{"//login", nil},
		{"/x/../login", nil},
		{"/x/./login", nil},
		{"/%6Cogin", nil},
		{"/checkout", []string{"x-plan", "trial", "x-user-id", "cleo"}},
		{"/checkout", []string{"x-tenant", "acme"}},
		{"/export", []string{"x-user-id", "ann"}},
		{"/export", nil},
		{"/search?q=tea", []string{"x-partner", "yes"}},
		{"/beta", nil},
		{"/static/app.js", nil},
		{"/static/a//b.css?v=3", nil},
		{"/static/../checkout", nil},
		{"/static", nil},
		{"/v1/chat", []string{"x-tenant", "acme"}},
		{"/v1/chat", nil},
		{"/v1/complete", []string{"x-tenant", "acme"}},
		{"/v1/complete/", []string{"x-tenant", "acme"}},
		{"/", []string{"x-plan", "", "x-user-id", "ann"}},
		{"/", []string{"x-forwarded-for", "203.0.113.9"}},
	})
}

// TestPredictedActions does the same with actions and matchers that the example
// gateway has no use for.
func TestPredictedActions(t *testing.T) {
	t.Parallel()
	notes := startRecorder(t)
	g := &gateway{port: freePort(t), adminPort: freePort(t)}
	data, err := os.ReadFile(filepath.Join("testdata", "actions.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	ports := strings.NewReplacer("9901", g.adminPort, "10000", g.port, "10001", freePort(t), "8081", notes.port)
	comparePredictions(t, g, notes, ports.Replace(string(data)), []wish{
		{"/", nil},
		{"/", []string{"x-n", "7"}},
		{"/", []string{"x-n", "17"}},
		{"/", []string{"x-n", "no number"}},
		{"/", []string{"x-a", "abc"}},
		{"/", []string{"x-a", "xabcx"}},
		{"/", []string{"x-a", "ABC"}},
		{"/?user=ann&tag=a%20b", nil},
		{"/?user=&tag", nil},
		{"/?tag=1&user=bob&user=eve", nil},
		{"/items/17?debug=1", nil},
		{"/items/17x", nil},
		{"/pre/a", nil},
		{"/prefix", nil},
		{"/CASE", nil},
		{"/both", []string{"x-a", "abc"}},
		{"/ignore", nil},
		{"/override", nil},
		{"/stage", nil},
		{"/gone", nil},
		{"/headers", []string{"x-route", "blue"}},
		{"/headers", []string{"x-route", "green"}},
		{"/headers", nil},
		{"/meta", nil},
		{"/filter-domain", []string{"x-a", "abc"}},
		{"/none", nil},
		{"/skip", nil},
		{"/skip?user=ann", []string{"x-a", "1"}},
		{"/", []string{"Host", "api.shop.example"}},
		{"/", []string{"Host", "www.shop.example"}},
		{"/", []string{"Host", "shop.test"}},
		{"/", []string{"Host", "SHOP.example"}},
		{"/xff", []string{"x-forwarded-for", "2001:db8::7, 203.0.113.9"}},
	})
}

// comparePredictions runs Envoy before a server that notes what it is asked.
func comparePredictions(t *testing.T, g *gateway, notes *recorder, config string, wishes []wish) {
	t.Helper()
	file := g.run(t, config)
	for i, w := range wishes {
		t.Run(fmt.Sprint(w.path, w.headers), func(t *testing.T) {
			address := fmt.Sprintf("127.5.%d.%d", i/200, i%200+1)
			want := predict(t, file, address, w)
			notes.take()
			if a := g.from(t, address).get(w.path, w.headers...); a.Err != nil {
				t.Fatal(a.Err)
			}
			// Calls after the response come a little later; a short while shows
			// that there are no more than predicted.
			var got []string
			more := func() bool { got = append(got, notes.take()...); return len(got) >= len(want) }
			for end := time.Now().Add(5 * time.Second); !more() && time.Now().Before(end); {
				time.Sleep(5 * time.Millisecond)
			}
			time.Sleep(20 * time.Millisecond)
			more()
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("descriptors (-predicted +sent):\n%s", diff)
			}
		})
	}
}

// predict asks envoy-rls explain for the calls of a request, in the notation of
// the recorder.
func predict(t *testing.T, file, address string, w wish) []string {
	t.Helper()
	args := []string{"explain", "--format", "json", "--rules", "config", "--envoy", file, "--remote-address", address, "--request", "GET " + w.path}
	host := false
	for i := 0; i+1 < len(w.headers); i += 2 {
		args = append(args, "-H", w.headers[i]+": "+w.headers[i+1])
		host = host || strings.EqualFold(w.headers[i], "host")
	}
	if !host {
		args = append(args, "-H", "Host: 127.0.0.1")
	}
	cmd := exec.Command(rlsBinary, args...)
	cmd.Dir = repoRoot
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("explain: %v\n%s", err, out)
	}
	var gateways []struct {
		Calls []struct {
			Domain      string
			Descriptors []predicted
		}
	}
	if err := json.Unmarshal(out, &gateways); err != nil {
		t.Fatal(err)
	}
	var calls []string
	for _, g := range gateways {
		for _, call := range g.Calls {
			var texts []string
			for i := range call.Descriptors {
				if d := &call.Descriptors[i]; d.Dropped == "" {
					texts = append(texts, d.text())
				}
			}
			if len(texts) > 0 {
				calls = append(calls, call.Domain+": "+strings.Join(texts, " "))
			}
		}
	}
	return calls
}

// predicted is a descriptor as explain writes it.
type predicted struct {
	Entries []struct{ Key, Value string }
	Dropped string
	Hits    *uint64 `json:"hits_addend"`
	Refund  bool    `json:"is_negative_hits"`
	Limit   *struct {
		RequestsPerUnit uint32 `json:"requests_per_unit"`
		Unit            string
	}
	Unknown []string
}

func (d *predicted) text() string {
	var entries []string
	for _, e := range d.Entries {
		entries = append(entries, e.Key+"="+e.Value)
	}
	text := "[" + strings.Join(entries, ",") + "]"
	if d.Hits != nil {
		text += fmt.Sprintf(" hits=%d", *d.Hits)
	}
	if slices.ContainsFunc(d.Unknown, func(u string) bool { return strings.HasPrefix(u, "hits_addend: ") }) {
		text += " hits=?"
	}
	if d.Refund {
		text += " refund"
	}
	if d.Limit != nil {
		text += fmt.Sprintf(" limit=%d/%s", d.Limit.RequestsPerUnit, d.Limit.Unit)
	}
	return text
}

// recorder is a rate limit service that notes its calls and lets all pass.
type recorder struct {
	rlsv3.UnimplementedRateLimitServiceServer
	port string

	mu    sync.Mutex
	calls []string
}

func startRecorder(t *testing.T) *recorder {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{}
	_, r.port, _ = net.SplitHostPort(l.Addr().String())
	server := grpc.NewServer()
	rlsv3.RegisterRateLimitServiceServer(server, r)
	serving := health.NewServer()
	serving.SetServingStatus("ratelimit", healthpb.HealthCheckResponse_SERVING)
	healthpb.RegisterHealthServer(server, serving)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(l)
	}()
	t.Cleanup(func() {
		server.Stop()
		<-done
	})
	return r
}

func (r *recorder) ShouldRateLimit(_ context.Context, req *rlsv3.RateLimitRequest) (*rlsv3.RateLimitResponse, error) {
	res := &rlsv3.RateLimitResponse{OverallCode: rlsv3.RateLimitResponse_OK}
	var texts []string
	for _, d := range req.Descriptors {
		texts = append(texts, sentText(d))
		res.Statuses = append(res.Statuses, &rlsv3.RateLimitResponse_DescriptorStatus{Code: rlsv3.RateLimitResponse_OK})
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, req.Domain+": "+strings.Join(texts, " "))
	return res, nil
}

// take returns the calls since it was called last.
func (r *recorder) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	calls := r.calls
	r.calls = nil
	return calls
}

// sentText is a descriptor in the notation of predicted. A cost that explain
// cannot know, since a filter computes it, is written the same way there.
func sentText(d *ratelimitv3.RateLimitDescriptor) string {
	var entries []string
	for _, e := range d.Entries {
		entries = append(entries, e.Key+"="+e.Value)
	}
	text := "[" + strings.Join(entries, ",") + "]"
	switch hits := d.GetHitsAddend(); {
	case hits == nil:
	case computed(hits.Value):
		text += " hits=?"
	default:
		text += fmt.Sprintf(" hits=%d", hits.Value)
	}
	if d.IsNegativeHits {
		text += " refund"
	}
	if l := d.Limit; l != nil {
		text += fmt.Sprintf(" limit=%d/%s", l.RequestsPerUnit, strings.ToLower(l.Unit.String()))
	}
	return text
}

// computed tells whether a cost is one that deploy/envoy.yaml takes from the
// application's response.
func computed(hits uint64) bool { return hits == 6000 || hits == 4000 }
