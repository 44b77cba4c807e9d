package house

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/envoy-rls/envoy-rls/internal/settings"
)

func settingNames() []string {
	var names []string
	for _, row := range settings.Rows() {
		names = append(append(names, row.Name), row.Aliases...)
	}
	return names
}

// TestCompose: what deploy/compose.yaml mounts is there, and what it sets is a
// setting.
func TestCompose(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(root(t), "deploy")
	var compose struct {
		Services map[string]struct {
			Volumes     []string
			Environment map[string]string
		}
	}
	if err := yaml.Unmarshal([]byte(read(t, filepath.Join(dir, "compose.yaml"))), &compose); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"envoy", "envoy-rls", "redis", "prometheus", "grafana", "traffic"} {
		if _, ok := compose.Services[name]; !ok {
			t.Errorf("no service %s", name)
		}
	}
	for name, service := range compose.Services {
		for _, volume := range service.Volumes {
			source, _, _ := strings.Cut(volume, ":")
			if _, err := os.Stat(filepath.Join(dir, source)); err != nil {
				t.Errorf("%s mounts %s, which is not there", name, source)
			}
		}
		for env := range service.Environment {
			if !strings.HasPrefix(env, "GF_") && !slices.Contains(settingNames(), env) {
				t.Errorf("%s sets %s, which is no setting", name, env)
			}
		}
	}
}

// TestSettingNames: what documents call a setting is one.
func TestSettingNames(t *testing.T) {
	t.Parallel()
	known := append(settingNames(),
		// Words of Envoy, gRPC and this repository's scripts that look the same.
		"OVER_LIMIT", "NOT_SERVING", "GRPC_XDS_SOTW", "INVALID_ARGUMENT", "RESOURCE_EXHAUSTED", "DRAFT_VERSION",
		"ENVOY_BIN", "FUZZ_TIME")
	name := regexp.MustCompile(`\b[A-Z]{2,}(?:_[A-Z]+)+\b`)
	for _, file := range files(t, ".md") {
		for _, found := range name.FindAllString(read(t, filepath.Join(root(t), file)), -1) {
			if !slices.Contains(known, found) {
				t.Errorf("%s names %s, which is no setting", file, found)
			}
		}
	}
}
