package redisstore

import (
	"testing"
	"time"

	"github.com/envoy-rls/envoy-rls/pkg/buckets/storetest/redistest"
)

// A connection that the server has closed while nobody used it costs no call: it
// is found out before anything is sent.
func TestClosedIdleConnectionsCostNoCall(t *testing.T) {
	secured := redistest.StartTLS(t)
	plain := redistest.Start(t)
	for _, test := range []struct {
		name   string
		server *redistest.Server
		tls    *TLS
	}{
		{"Plain", plain, nil},
		{"TLS", secured.Server, &TLS{CAFile: secured.CAFile, CertFile: secured.CertFile, KeyFile: secured.KeyFile}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := open(t, Options{Addrs: []string{test.server.Addr}, TLS: test.tls})
			l := perHour(t, 1000)
			wait(t, s, l)
			admin := test.server.Client()
			const rounds, each = 10, 4
			for range rounds {
				admin.MustDo(t, "CLIENT", "KILL", "TYPE", "normal")
				time.Sleep(10 * time.Millisecond) // the end of the connections is on its way
				for range each {
					if call, _ := take(s, 5*time.Second, l, "rls1:{idle}:fixed_window:3600"); call.Err != nil {
						t.Fatalf("a call was lost: %v", call.Err)
					}
				}
			}
			call, _ := take(s, 5*time.Second, l, "rls1:{idle}:fixed_window:3600")
			if used := 1000 - call.Items[0].Verdict.Remaining; call.Err != nil || used != rounds*each+1 {
				t.Errorf("%d hits charged of %d, error %v", used, rounds*each+1, call.Err)
			}
			if dials := s.Stats().Dials; dials > 2+2*rounds {
				t.Errorf("%d connections were dialled for %d kills", dials, rounds)
			}
		})
	}
}
