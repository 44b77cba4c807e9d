package xdssource

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
	"github.com/envoy-rls/envoy-rls/pkg/descriptors/filesource"
)

func pack(t *testing.T, domain string, amount uint32) *anypb.Any {
	t.Helper()
	packed, err := anypb.New(one(domain, amount))
	must(t, err)
	return packed
}

// TestBroken keeps the last good rules of resources that cannot be decoded, as
// far as their names can be told, and all that are missing where they cannot.
func TestBroken(t *testing.T) {
	t.Parallel()
	good := []*anypb.Any{pack(t, "a", 1), pack(t, "b", 1)}
	cut := pack(t, "b", 2)
	cut.Value = append(cut.Value, 0x1a, 0x7f) // a field longer than the message
	nameless := &anypb.Any{TypeUrl: typeURL, Value: []byte{0xff}}
	foreign := &anypb.Any{TypeUrl: "type.googleapis.com/other", Value: cut.Value}
	for name, broken := range map[string]*anypb.Any{"named": cut, "nameless": nameless, "foreign": foreign} {
		var load descriptors.Load
		r := &running{options: &Options{}, emit: func(s descriptors.Snapshot) {
			load.Ruleset, load.Diagnostics = descriptors.Compile(s.Files, load.Ruleset, descriptors.Options{})
		}}
		take := func(resources ...*anypb.Any) {
			files, unnamed := files(resources)
			r.answer(&answer{files: files, unnamed: unnamed})
		}
		take(good...)
		take(pack(t, "a", 2), broken)
		a, b := load.Ruleset.Domain("a"), load.Ruleset.Domain("b")
		if a.Rejected || b == nil || !b.Usable() || !slices.ContainsFunc(load.Diagnostics, func(d descriptors.Diagnostic) bool { return d.Severity == descriptors.Error }) {
			t.Errorf("%s: a %+v, b %+v, %v", name, a, b, load.Diagnostics)
		}
	}
}

func FuzzDecode(f *testing.F) {
	seed, err := proto.Marshal(gateway("d", 3, 3))
	must(f, err)
	f.Add(seed)
	f.Add([]byte{0xff})
	f.Add([]byte{0x0a, 0x01, 'r', 0x12, 0x01, 'd', 0x1a, 0x7f})
	f.Fuzz(func(t *testing.T, message []byte) {
		file := decode(&anypb.Any{TypeUrl: typeURL, Value: message})
		rs, diagnostics := descriptors.Compile([]descriptors.File{file}, nil, descriptors.Options{})
		if rs == nil || file.Err != nil && len(diagnostics) == 0 {
			t.Errorf("%v: nothing is reported", file.Err)
		}
	})
}

// TestDefaults takes defaults of xDS domains from files, and nothing else.
func TestDefaults(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write := func(text string) {
		must(t, os.WriteFile(filepath.Join(folder, "defaults.yaml"), []byte(text), 0o600))
	}
	write("domain: a\ndefaults: {algorithm: gcra, on_store_error: local, denied_hits: charged}\n---\ndomain: b\ndescriptors: [{key: mine}]\n")
	p := newPlane(t)
	p.set("1", one("a", 1), one("b", 1))
	o := p.options()
	o.Defaults = filesource.New([]string{folder, filepath.Join(folder, "missing")}, 5*time.Millisecond)
	l := run(t, o)
	limit := func(domain string) *descriptors.Limit {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.load == nil || l.load.Ruleset.Domain(domain) == nil {
			return &descriptors.Limit{}
		}
		if m := l.load.Ruleset.Domain(domain).Match([]descriptors.Entry{{Key: "k", Value: "v"}}); m.Rule != nil {
			return m.Rule.Limits[0]
		}
		return &descriptors.Limit{}
	}
	eventually(t, "defaults are in force", func() bool {
		got := limit("a")
		return got.Bucket.Algorithm == buckets.GCRA && got.OnStoreError == descriptors.PolicyLocal && got.DeniedHits == descriptors.DeniedCharged
	})
	if got := limit("b"); got.Bucket.Algorithm != buckets.TokenBucket {
		t.Errorf("domain b has %s", got.Bucket.Algorithm)
	}
	l.mu.Lock()
	load := *l.load
	l.mu.Unlock()
	if len(load.Held) > 0 || !load.Sound() || len(load.Diagnostics) != 1 || !strings.Contains(load.Diagnostics[0].Message, "passed over") {
		t.Errorf("held %v, problems %v", load.Held, load.Diagnostics)
	}
	write("domain: a\ndefaults: {algorithm: leaky_bucket}\n")
	eventually(t, "changed defaults are in force", func() bool { return limit("a").Bucket.Algorithm == buckets.LeakyBucket })
}

// TestRotatedCertificates uses new files for the next stream, and the old ones
// while a pair is half written.
func TestRotatedCertificates(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	p.set("1", one("a", 1))
	l := run(t, p.options())
	l.wait("[a:1]")
	key := filepath.Join(p.certs, "tls.key")
	whole, err := os.ReadFile(key)
	must(t, err)
	p.kill()
	must(t, os.WriteFile(key, whole[:20], 0o600))
	eventually(t, "the old pair is used", func() bool { return l.log.has("used as last read") })
	newAuthority(t).write(t, p.certs)
	p.start()
	p.set("2", one("a", 2))
	l.wait("[a:2]")
}

func TestSAN(t *testing.T) {
	t.Parallel()
	for san, ok := range map[string]bool{
		"envoy-gateway": true, "spiffe://cluster.local/gateway": true, "other": false, "spiffe://cluster.local/other": false, "": false,
	} {
		t.Run(san, func(t *testing.T) {
			t.Parallel()
			p := newPlane(t)
			p.set("1", one("a", 1))
			o := p.options()
			o.TLS.SAN = san
			l := run(t, o)
			if ok {
				l.wait("[a:1]")
				return
			}
			eventually(t, "refused", func() bool { return l.log.has("authentication handshake failed") })
			if got := l.amounts(); got != "" {
				t.Errorf("rules are %s", got)
			}
		})
	}
}
