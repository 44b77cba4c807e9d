package settings

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// referenceNames are the settings of envoyproxy/ratelimit, as NAME=VALUE.
func referenceNames(t *testing.T) []string {
	t.Helper()
	data, err := os.ReadFile("testdata/reference_names.txt")
	if err != nil {
		t.Fatal(err)
	}
	var pairs []string
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "#") {
			pairs = append(pairs, line)
		}
	}
	if len(pairs) < 114 {
		t.Fatalf("%d names, want the reference's 114 and more", len(pairs))
	}
	return pairs
}

// Whoever comes with the reference's environment, all of it, starts: each name is in
// force, as the effective settings show, or a warning says why it does nothing.
func TestReferenceNames(t *testing.T) {
	t.Parallel()
	pairs := referenceNames(t)
	_, report := mustLoad(t, "ratelimit", pairs...)
	for _, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		shown := slices.ContainsFunc(report.Effective, func(v Value) bool {
			return v.Name == name && (v.Text == value || v.Text == hidden)
		})
		warned := slices.ContainsFunc(report.Warnings, func(w string) bool {
			return strings.HasPrefix(w, name+" does nothing here: ") && len(w) > len(name)+30
		})
		asks := slices.ContainsFunc(Rows(), func(r Row) bool {
			return r.Name == name && r.Inert != "" && strings.EqualFold(value, r.Quiet)
		})
		if asks { // for what happens anyway
			continue
		}
		if shown == warned {
			t.Errorf("%s: in force %v, warned of %v", pair, shown, warned)
		}
	}
	for _, warning := range report.Warnings {
		if strings.Contains(warning, "unknown") {
			t.Errorf("of the reference's own names: %s", warning)
		}
	}
}

// One at a time, none stops a start that its neighbours do not ask for: what goes
// with it is named.
func TestReferenceNamesAlone(t *testing.T) {
	t.Parallel()
	needs := map[string]string{ // names that are no use alone, and what the refusal asks for
		"GRPC_SERVER_USE_TLS":   "GRPC_SERVER_TLS_CERT",
		"REDIS_TLS_CLIENT_CERT": "REDIS_TLS_CLIENT_KEY",
		"REDIS_TLS_CLIENT_KEY":  "REDIS_TLS_CLIENT_CERT",
		"REDIS_PERSECOND":       "REDIS_PERSECOND_URL",
	}
	for _, pair := range referenceNames(t) {
		name, _, _ := strings.Cut(pair, "=")
		given := []string{pair}
		if !strings.HasPrefix(pair, "REDIS_URL=") {
			given = append(given, "REDIS_URL=r:1", "REDIS_SOCKET_TYPE=tcp")
		}
		_, _, err := load("ratelimit", given...)
		want, refused := needs[name]
		if (err != nil) != refused || refused && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", pair, err)
		}
	}
}

// Values on which the reference ends with a stack trace are one line here.
func TestValuesTheReferencePanicsOn(t *testing.T) {
	t.Parallel()
	for _, pair := range []string{
		"PORT=x", "GRPC_PORT=99999999", "GRPC_MAX_CONNECTION_AGE=1", "FORCE_START_WITHOUT_INITIAL_CONFIG=yes", "NEAR_LIMIT_RATIO=most",
		"CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS=a=b", "REDIS_TYPE=replicas", "REDIS_TIMEOUT=soon", "REDIS_POOL_SIZE=many",
		"CONFIG_TYPE=XDS", "LOG_LEVEL=loud", "BACKEND_TYPE=dynamo", "TRACING_EXPORTER_PROTOCOL=zipkin", "TRACING_SAMPLING_RATE=often",
		"XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES=4M", "REDIS_URL=redis://u:p@", "XDS_CLIENT_BACKOFF_RANDOM_FACTOR=x",
	} {
		_, _, err := load("ratelimit", "REDIS_URL=r:1", "REDIS_SOCKET_TYPE=tcp", pair)
		if name, _, _ := strings.Cut(pair, "="); err == nil || strings.Count(err.Error(), "\n") != 0 || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", pair, err)
		}
	}
	// It panics on names that are set and empty; here that is as if they were not.
	for _, pair := range []string{"PORT=", "GRPC_MAX_CONNECTION_AGE=", "SHADOW_MODE=", "REDIS_POOL_SIZE=", "NEAR_LIMIT_RATIO="} {
		if _, _, err := load("ratelimit", "REDIS_URL=r:1", "REDIS_SOCKET_TYPE=tcp", pair); err != nil {
			t.Errorf("%s: %v", pair, err)
		}
	}
}
