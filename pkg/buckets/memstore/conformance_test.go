package memstore

import (
	"testing"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
	"github.com/envoy-rls/envoy-rls/pkg/buckets/storetest"
)

func openBackend(t testing.TB) storetest.Backend {
	clock := newClock()
	s := open(t, Options{Now: clock.now, keepStale: true})
	return storetest.Backend{
		Store:  s,
		SetNow: clock.micros.Store,
		Read: func(_ testing.TB, a buckets.Algorithm, key []byte) []byte {
			state, ok := s.Peek(key)
			if !ok {
				return nil
			}
			return buckets.AppendState(nil, a, state)
		},
		InOrder:   true,
		InProcess: true,
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, openBackend)
}

func TestTraces(t *testing.T) {
	t.Parallel()
	storetest.RunTraces(t, "../testdata/traces", openBackend)
}
