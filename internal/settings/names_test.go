package settings

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestC29_DefaultsAreConsistent(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, r := range Rows() {
		for _, name := range append([]string{r.Name}, r.Aliases...) {
			if seen[name] {
				t.Errorf("%s is in the table twice", name)
			}
			seen[name] = true
		}
		for _, d := range []string{r.Default, r.RatelimitDefault} {
			if d != "" && r.kind.set(d) != nil {
				t.Errorf("%s does not take its default %q", r.Name, d)
			}
		}
		if r.Help == "" || r.Want() == "" {
			t.Errorf("%s lacks help", r.Name)
		}
		if r.Quiet != "" {
			if _, report := mustLoad(t, "envoy-rls", r.Name+"="+r.Quiet); len(report.Warnings) > 0 {
				t.Errorf("%s=%s warns: %q", r.Name, r.Quiet, report.Warnings)
			}
		}
	}
	// What Envoy Gateway and Istio set.
	_, report := mustLoad(t, "/bin/ratelimit", "REDIS_URL=redis:6379", "REDIS_SOCKET_TYPE=tcp", "USE_STATSD=false",
		"USE_PROMETHEUS=true", "PROMETHEUS_ADDR=:19001", "RUNTIME_ROOT=/data", "RUNTIME_SUBDIRECTORY=ratelimit",
		"RUNTIME_IGNOREDOTFILES=true", "RUNTIME_WATCH_ROOT=false", "LOG_LEVEL=info", "HOST=::", "GRPC_HOST=::")
	if len(report.Warnings) > 0 {
		t.Errorf("a usual deployment warns: %q", report.Warnings)
	}
}

func TestInertSettingsAreWarnedOf(t *testing.T) {
	t.Parallel()
	_, report := mustLoad(t, "envoy-rls", "LOCAL_CACHE_SIZE_IN_BYTES=1000", "MEMCACHE_SRV=m")
	want := []string{
		"LOCAL_CACHE_SIZE_IN_BYTES does nothing here: denials are remembered anyway; see DENY_CACHE",
		"MEMCACHE_SRV does nothing here: memcached is not a store here",
	}
	if diff := cmp.Diff(want, report.Warnings); diff != "" {
		t.Error(diff)
	}
}

func TestC28_UnknownNames(t *testing.T) {
	t.Parallel()
	_, report := mustLoad(t, "envoy-rls",
		"REDIS_PASSWORD=secret", "REDIS_TIMEOUTS=1s", "GRPC_PROT=1", "RUNTIME_ROT=/x", "CONFIG_TIPE=FILE",
		"LIMIT_RESET_HEADERS=x", "LIMIT_FOO=1", "GRPC_GO_LOG_SEVERITY_LEVEL=info", "STOREE=x", "PATH=/bin")
	want := []string{
		"CONFIG_TIPE is not a setting: did you mean CONFIG_TYPE?",
		"GRPC_PROT is not a setting: did you mean GRPC_PORT?",
		"LIMIT_FOO is not a setting",
		"LIMIT_RESET_HEADERS is not a setting: did you mean LIMIT_RESET_HEADER?",
		"REDIS_PASSWORD is not a setting: did you mean REDIS_AUTH?",
		"REDIS_TIMEOUTS is not a setting: did you mean REDIS_TIMEOUT?",
		"RUNTIME_ROT is not a setting: did you mean RUNTIME_ROOT?",
	}
	if diff := cmp.Diff(want, report.Warnings); diff != "" {
		t.Error(diff)
	}
}

func TestKubernetesNames(t *testing.T) {
	t.Parallel()
	s, report := mustLoad(t, "envoy-rls",
		"GRPC_PORT=tcp://10.0.0.1:8081", "GRPC_SERVICE_HOST=10.0.0.1", "GRPC_SERVICE_PORT=8081", "GRPC_SERVICE_PORT_GRPC=8081",
		"GRPC_PORT_8081_TCP=tcp://10.0.0.1:8081", "GRPC_PORT_8081_TCP_PROTO=tcp", "GRPC_PORT_8081_TCP_PORT=8081", "GRPC_PORT_8081_TCP_ADDR=10.0.0.1",
		"DEBUG_PORT=tcp://10.0.0.2:1", "STATSD_PORT=udp://10.0.0.3:8125", "REDIS_PORT=tcp://10.0.0.4:6379", "REDIS_SERVICE_HOST=10.0.0.4",
		"REDIS_MASTER_PORT_6379_TCP_ADDR=10.0.0.4")
	if s.GRPC.Port != 8081 || s.Debug.Port != 6070 {
		t.Errorf("ports %d and %d", s.GRPC.Port, s.Debug.Port)
	}
	if len(report.Warnings) > 0 {
		t.Errorf("warnings %q", report.Warnings)
	}
	if s, _ := mustLoad(t, "envoy-rls", "GRPC_PORT=9000"); s.GRPC.Port != 9000 {
		t.Error("a port that an operator set was taken for one of Kubernetes")
	}
}

func TestSecretsAreMasked(t *testing.T) {
	t.Parallel()
	_, report := mustLoad(t, "envoy-rls", "REDIS_URL=redis://user:hunter2@r:6379/1", "REDIS_AUTH=user:hunter2",
		"REDIS_SENTINEL_AUTH=hunter2", "HASH_KEY=hunter2", "CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS=a:hunter2",
		"REDIS_PERSECOND_URL=redis://:hunter2@x", "REDIS_PERSECOND_AUTH=hunter2")
	seen := map[string]string{}
	for _, v := range report.Effective {
		seen[v.Name] = v.Text
		if strings.Contains(v.Text, "hunter2") {
			t.Errorf("%s shows a secret: %s", v.Name, v.Text)
		}
	}
	for name, want := range map[string]string{
		"REDIS_URL": "redis://***@r:6379/1", "REDIS_AUTH": "***", "HASH_KEY": "***", "store": "redis://***@r:6379/1", "GRPC_PORT": "8081",
	} {
		if seen[name] != want {
			t.Errorf("%s is shown as %q, want %q", name, seen[name], want)
		}
	}
}

func TestMaskURL(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"":                               "",
		"redis:6379":                     "redis:6379",
		"redis://r:6379/0":               "redis://r:6379/0",
		"redis://u:p@r":                  "redis://***@r",
		"redis://u:p@ss/w?rd@r:1/2?x=y":  "redis://***@r:1/2?***",
		"u:p@r":                          "***@r",
		"redis-cluster://:p@a:1,b:2":     "redis-cluster://***@a:1,b:2",
		"a:1,redis://:p@b:2":             "a:1,redis://***@b:2",
		"redis://r?password=hunter2":     "redis://r?***",
		"redis://u:p@a:1,redis://v:q@b2": "redis://***@b2",
	} {
		if got := maskURL(given); got != want {
			t.Errorf("maskURL(%q) = %q, want %q", given, got, want)
		}
	}
}

func TestAliasIsWeaker(t *testing.T) {
	t.Parallel()
	serving := []string{"GRPC_SERVER_USE_TLS=true", "GRPC_SERVER_TLS_CERT=/c", "GRPC_SERVER_TLS_KEY=/k", "GRPC_SERVER_TLS_CA_CERT=/eg"}
	_, report := mustLoad(t, "envoy-rls", append(serving, "GRPC_CLIENT_TLS_CACERT=/own")...)
	if !slices.Contains(report.Effective, Value{"GRPC_CLIENT_TLS_CACERT", "/own"}) {
		t.Errorf("%v", report.Effective)
	}
	_, report = mustLoad(t, "envoy-rls", serving...)
	if !slices.Contains(report.Effective, Value{"GRPC_CLIENT_TLS_CACERT", "/eg"}) || len(report.Warnings) > 0 {
		t.Errorf("%v %q", report.Effective, report.Warnings)
	}
}
