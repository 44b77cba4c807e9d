package redisstore

import (
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
	"github.com/envoy-rls/envoy-rls/pkg/buckets/storetest"
	"github.com/envoy-rls/envoy-rls/pkg/buckets/storetest/redistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t testing.TB, opt Options) *Store {
	t.Helper()
	s, err := New(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestConformance(t *testing.T) {
	server := redistest.Start(t)
	factory := func(t testing.TB) storetest.Backend {
		var nowMicros atomic.Int64
		reader := server.Client()
		return storetest.Backend{
			Store:  open(t, Options{Addrs: []string{server.Addr}, Now: nowMicros.Load}),
			SetNow: nowMicros.Store,
			Read: func(t testing.TB, _ buckets.Algorithm, key []byte) []byte {
				return reader.Get(t, string(key))
			},
		}
	}
	storetest.Run(t, factory)
	storetest.RunTraces(t, "../testdata/traces", factory)
}

// TestRunsOfManyCalls lives through histories in which several calls share a run
// of the script: one lane takes them in their order.
func TestRunsOfManyCalls(t *testing.T) {
	server := redistest.Start(t)
	var runs, calls atomic.Int64
	storetest.RunHistories(t, func(t testing.TB) storetest.Backend {
		var nowMicros atomic.Int64
		reader := server.Client()
		return storetest.Backend{
			Store: open(t, Options{
				Addrs: []string{server.Addr}, Lanes: 1, Now: nowMicros.Load,
				Observe: func(r RoundTrip) { runs.Add(1); calls.Add(int64(r.Calls)) },
			}),
			SetNow:  nowMicros.Store,
			InOrder: true,
			Read: func(t testing.TB, _ buckets.Algorithm, key []byte) []byte {
				return reader.Get(t, string(key))
			},
		}
	}, storetest.HistorySteps/2)
	t.Cleanup(func() {
		if calls.Load() < runs.Load()*3/2 {
			t.Errorf("%d calls in %d runs: they hardly shared any", calls.Load(), runs.Load())
		}
	})
}
