package settings

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestXDS reads what Envoy Gateway sets.
func TestXDS(t *testing.T) {
	t.Parallel()
	s, report := mustLoad(t, "ratelimit", "REDIS_URL=redis:6379",
		"RUNTIME_ROOT=/data", "RUNTIME_SUBDIRECTORY=ratelimit", "CONFIG_TYPE=GRPC_XDS_SOTW", "FORCE_START_WITHOUT_INITIAL_CONFIG=true",
		"CONFIG_GRPC_XDS_SERVER_URL=envoy-gateway:18001", "CONFIG_GRPC_XDS_NODE_ID=envoy-ratelimit",
		"CONFIG_GRPC_XDS_SERVER_USE_TLS=true", "CONFIG_GRPC_XDS_CLIENT_TLS_CERT=/certs/tls.crt", "CONFIG_GRPC_XDS_CLIENT_TLS_KEY=/certs/tls.key",
		"CONFIG_GRPC_XDS_SERVER_TLS_CACERT=/certs/ca.crt", "CONFIG_GRPC_XDS_NODE_METADATA=a=b,c=d=e", "CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS=x-token:a:b")
	want := XDS{
		Server: "envoy-gateway:18001", NodeID: "envoy-ratelimit", UseTLS: true,
		CertFile: "/certs/tls.crt", KeyFile: "/certs/tls.key", CAFile: "/certs/ca.crt",
		NodeMetadata: map[string]string{"a": "b", "c": "d=e"}, Headers: map[string]string{"x-token": "a:b"},
		ConnectRetry: 3 * time.Second, BackoffInitial: 10 * time.Second, BackoffMax: time.Minute, BackoffRandom: 0.5,
		MaxMessageBytes: 64 << 20,
	}
	if diff := cmp.Diff(want, s.Rules.XDS, cmpopts.IgnoreUnexported(XDS{})); diff != "" {
		t.Error(diff)
	}
	if !s.Rules.FromXDS || !s.Rules.StartWithout || !slices.Equal(s.Rules.Paths, []string{"/data/ratelimit/config"}) {
		t.Errorf("rules: %+v", s.Rules)
	}
	if !slices.Contains(report.Effective, Value{"CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS", "***"}) {
		t.Error("headers are shown")
	}
}

func TestXDSJitterOff(t *testing.T) {
	t.Parallel()
	s, _ := mustLoad(t, "envoy-rls", "CONFIG_TYPE=GRPC_XDS_SOTW", "XDS_CLIENT_BACKOFF_JITTER=false")
	if s.Rules.XDS.BackoffRandom != 0 {
		t.Errorf("pauses are spread by %v", s.Rules.XDS.BackoffRandom)
	}
}

func TestXDSContradictions(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"CONFIG_GRPC_XDS_CLIENT_TLS_CERT=/c":    "CONFIG_GRPC_XDS_CLIENT_TLS_CERT and CONFIG_GRPC_XDS_CLIENT_TLS_KEY: want both, or neither",
		"XDS_CLIENT_BACKOFF_MAX_INTERVAL=100ms": `XDS_CLIENT_BACKOFF_MAX_INTERVAL="100ms": want at least XDS_CLIENT_BACKOFF_INITIAL_INTERVAL`,
	} {
		_, _, err := load("envoy-rls", "CONFIG_TYPE=GRPC_XDS_SOTW", given)
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", given, err, want)
		}
		if _, _, err := load("envoy-rls", given); err != nil {
			t.Errorf("%s without xDS: %v", given, err)
		}
	}
}
