package main

import (
	"slices"
	"testing"

	"github.com/envoy-rls/envoy-rls/internal/settings"
)

// The environment of Istio's sample Deployment, to the letter: what the process
// test must change of it, addresses and ports, means what it should, and nothing is
// warned of. HOST and GRPC_HOST "::" are all addresses.
func TestIstioEnvironment(t *testing.T) {
	t.Parallel()
	s, report, err := settings.Load(settings.Input{
		Program: "/bin/ratelimit",
		Environ: []string{
			"LOG_LEVEL=debug", "REDIS_SOCKET_TYPE=tcp", "REDIS_URL=redis:6379", "USE_STATSD=false",
			"RUNTIME_ROOT=/data", "RUNTIME_SUBDIRECTORY=ratelimit", "RUNTIME_WATCH_ROOT=false", "RUNTIME_IGNOREDOTFILES=true",
			"HOST=::", "GRPC_HOST=::",
		},
		Exists: func(string) bool { return false },
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, warning := range report.Warnings {
		t.Errorf("warned of: %s", warning)
	}
	for what, got := range map[string][2]string{
		"gRPC":  {s.GRPC.Addr.String(), "[::]:8081"},
		"HTTP":  {s.HTTP.String(), "[::]:8080"},
		"debug": {s.Debug.String(), "127.0.0.1:6070"},
		"store": {s.Store.Target.String(), "redis://redis:6379"},
	} {
		if got[0] != got[1] {
			t.Errorf("%s: %s, want %s", what, got[0], got[1])
		}
	}
	if want := []string{"/data/ratelimit/config"}; !slices.Equal(s.Rules.Paths, want) {
		t.Errorf("rules from %v, want %v", s.Rules.Paths, want)
	}
	if s.Rules.Profile != settings.Ratelimit {
		t.Errorf("the profile is %s", s.Rules.Profile)
	}
}
