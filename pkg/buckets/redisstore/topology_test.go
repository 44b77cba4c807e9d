package redisstore

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
	"github.com/envoy-rls/envoy-rls/pkg/buckets/storetest"
	"github.com/envoy-rls/envoy-rls/pkg/buckets/storetest/redistest"
)

// fewSteps is how long a history is here: a single server lives through the long
// ones, and the script is the same everywhere.
const fewSteps = 400

// conform runs the conformance suite with short histories.
func conform(t *testing.T, factory storetest.Factory) {
	t.Run("Examples", func(t *testing.T) { storetest.RunExamples(t, factory) })
	t.Run("Parallel", func(t *testing.T) { storetest.RunParallel(t, factory) })
	t.Run("Histories", func(t *testing.T) { storetest.RunHistories(t, factory, fewSteps) })
	storetest.RunTraces(t, "../testdata/traces", factory)
}

// factory opens stores that opt describes. read is the way around the store.
func factory(opt Options, read func(t testing.TB, key string) []byte) storetest.Factory {
	return func(t testing.TB) storetest.Backend {
		var nowMicros atomic.Int64
		opt := opt
		opt.Now = nowMicros.Load
		s := open(t, opt)
		awaitAnswer(t, s)
		return storetest.Backend{
			Store:  s,
			SetNow: nowMicros.Store,
			Read: func(t testing.TB, _ buckets.Algorithm, key []byte) []byte {
				return read(t, string(key))
			},
		}
	}
}

// awaitAnswer waits until calls have somewhere to go.
func awaitAnswer(t testing.TB, s *Store) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(2 * time.Millisecond) {
		if s.Answered() && s.topology.node(0) != nil && s.topology.node(slotCount-1) != nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("Redis does not answer")
		}
	}
}

// reader reads from one server, for many goroutines.
func reader(server *redistest.Server) func(t testing.TB, key string) []byte {
	var mu sync.Mutex
	client := server.Client()
	return func(t testing.TB, key string) []byte {
		mu.Lock()
		defer mu.Unlock()
		return client.Get(t, key)
	}
}

func TestConformanceOfACluster(t *testing.T) {
	cluster := redistest.StartCluster(t)
	opt := Options{Kind: Cluster, Addrs: cluster.Addrs()[:1]}
	read := cluster.Reader(t)
	t.Run("OneSlot", func(t *testing.T) {
		conform(t, func(t testing.TB) storetest.Backend {
			b := factory(opt, read)(t)
			b.OneSlot = true
			return b
		})
	})
	t.Run("Spread", func(t *testing.T) {
		spread := func(t testing.TB) storetest.Backend {
			b := factory(opt, read)(t)
			b.Spread = true
			return b
		}
		t.Run("Examples", func(t *testing.T) { storetest.RunExamples(t, spread) })
		t.Run("Parallel", func(t *testing.T) { storetest.RunParallel(t, spread) })
	})
	t.Run("User", func(t *testing.T) {
		cluster.AddUser("limiter", "cluster-secret", "rls1:*")
		opt := opt
		opt.Credentials = Password("limiter", "cluster-secret")
		s := open(t, opt)
		awaitAnswer(t, s)
		l := perHour(t, 10)
		for i := range 50 { // on every node
			if call, _ := take(s, 5*time.Second, l, fmt.Sprintf("rls1:{user|n=%d}:fixed_window:3600", i)); call.Err != nil {
				t.Fatal(call.Err)
			}
		}
	})
}

func TestConformanceOfASentinelsMaster(t *testing.T) {
	group := redistest.StartSentinel(t, "secret", "sentinel-secret")
	conform(t, factory(Options{
		Kind: Sentinel, Addrs: group.Addrs(), Master: redistest.MasterName,
		Credentials: Password("", "secret"), SentinelCredentials: Password("", "sentinel-secret"),
	}, reader(group.Master())))
	t.Run("User", func(t *testing.T) {
		group.AddUser("limiter", "other-secret")
		s := open(t, Options{
			Kind: Sentinel, Addrs: group.Addrs(), Master: redistest.MasterName,
			Credentials: Password("", "secret"), SentinelCredentials: Password("limiter", "other-secret"),
		})
		awaitDecisionsOf(t, s, group.Master())
		group.Failover() // which is announced to the user, too
		awaitDecisionsOf(t, s, group.Master())
		for _, sentinel := range group.Sentinels {
			if refused := sentinel.Client().MustDo(t, "ACL", "LOG").([]any); len(refused) > 0 {
				t.Errorf("the user was refused: %v", refused)
			}
		}
	})
}

func TestConformanceOverTLS(t *testing.T) {
	server := redistest.StartTLS(t)
	conform(t, factory(Options{
		Addrs: []string{server.Addr}, TLS: &TLS{CAFile: server.CAFile, CertFile: server.CertFile, KeyFile: server.KeyFile},
	}, reader(server.Server)))
}

func TestConformanceOverASocket(t *testing.T) {
	path := t.TempDir() + "/redis.sock"
	server := redistest.Start(t, "--unixsocket", path)
	conform(t, factory(Options{Network: "unix", Addrs: []string{path}}, reader(server)))
}

// The user has the commands and keys that the guide names, and no others: no
// CONFIG, INFO or SCRIPT.
func TestConformanceOfALimitedUser(t *testing.T) {
	server := redistest.Start(t)
	server.AddUser("limiter", "secret", "t*") // the prefix of the suite's keys
	conform(t, factory(Options{
		Addrs: []string{server.Addr}, Credentials: Password("limiter", "secret"),
	}, reader(server)))
	t.Run("OtherKeys", func(t *testing.T) {
		s := open(t, Options{Addrs: []string{server.Addr}, Credentials: Password("limiter", "secret")})
		call, _ := take(s, 5*time.Second, perHour(t, 10), "others:key")
		if call.Err == nil || s.Stats().BreakersOpen > 0 {
			t.Errorf("a key that the user has no right to: %v, breakers open %d", call.Err, s.Stats().BreakersOpen)
		}
	})
}

func TestSlotOf(t *testing.T) {
	admin := redistest.Start(t, "--cluster-enabled", "yes").Client()
	for _, key := range []string{
		"", "foo", "{user1000}.following", "foo{}{bar}", "foo{{bar}}zap", "foo{bar}{zap}", "{", "}", "}{", "{}", "{a", "a}b{c}d",
		"rls1:{edge|user=42}:fixed_window:60", "\x00\xff{\xfe}", strings.Repeat("long", 64),
	} {
		if got, want := int64(slotOf(key)), admin.MustDo(t, "CLUSTER", "KEYSLOT", key); got != want {
			t.Errorf("slot of %q is %d, Redis says %d", key, got, want)
		}
	}
}

// What a value holds does not gather buckets in one slot.
func TestSlotsOfValuesWithBraces(t *testing.T) {
	l, seen := perHour(t, 10), map[int]bool{}
	for i := range 1000 {
		entries := []buckets.Entry{{Key: "user", Value: fmt.Sprintf("{a}%d", i+1)}}
		seen[slotOf(string((&buckets.Keyer{}).Append(nil, "edge", entries, nil, l)))] = true
	}
	if len(seen) <= 100 {
		t.Errorf("1000 values lie in %d slots", len(seen))
	}
}

// logBuffer is a log that tests read while it is written.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func (b *logBuffer) logger() *slog.Logger { return slog.New(slog.NewTextHandler(b, nil)) }

// What is set up wrongly is said, with what to do, and without the password.
func TestMistakesAreNamed(t *testing.T) {
	single, cluster := redistest.Start(t), redistest.Start(t, "--cluster-enabled", "yes") // one without slots will do
	group := redistest.StartSentinel(t, "", "")
	locked := redistest.Start(t)
	locked.Client().MustDo(t, "ACL", "SETUSER", "limiter", "on", ">right", "~*", "+@all")
	secured := redistest.StartTLS(t)
	for _, test := range []struct {
		name string
		opt  Options
		want []string
	}{
		{"a plain client at a cluster", Options{Addrs: []string{cluster.Addr}}, []string{"is a cluster", "redis-cluster://"}},
		{"a cluster client at a plain server", Options{Kind: Cluster, Addrs: []string{single.Addr}}, []string{single.Addr, "cluster support disabled", "redis://"}},
		{"a master that nobody knows", Options{Kind: Sentinel, Addrs: group.Addrs(), Master: "wrong"}, []string{"wrong", "check the master's name"}},
		{"a wrong password", Options{Addrs: []string{locked.Addr}, Credentials: Password("limiter", "wrongsecret")}, []string{"WRONGPASS"}},
		// The server refuses after the handshake: that is an alert, or just a reset.
		{"no client certificate", Options{Addrs: []string{secured.Addr}, TLS: &TLS{CAFile: secured.CAFile}}, []string{"does not answer", secured.Addr}},
		{"an unknown authority", Options{Addrs: []string{secured.Addr}, TLS: &TLS{}}, []string{"certificate", "authority"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			log := new(logBuffer)
			test.opt.Logger = log.logger()
			s := open(t, test.opt)
			l := perHour(t, 10)
			missing := test.want
			for deadline := time.Now().Add(30 * time.Second); len(missing) > 0 && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
				call, _ := take(s, 100*time.Millisecond, l, "rls1:{foo}:fixed_window:3600")
				if call.Err == nil {
					t.Fatal("it decided")
				}
				// What Redis itself answered is logged by whoever asked the store.
				said := log.String() + call.Err.Error()
				missing = nil
				for _, word := range test.want {
					if !strings.Contains(said, word) {
						missing = append(missing, word)
					}
				}
			}
			if len(missing) > 0 {
				t.Errorf("the log lacks %q:\n%s", missing, log)
			}
			if strings.Contains(log.String(), "wrongsecret") {
				t.Errorf("the log has the password:\n%s", log)
			}
		})
	}
}
