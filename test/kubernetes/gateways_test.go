package kubernetes

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	route "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	filter "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ratelimit/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"sigs.k8s.io/yaml"
)

// documents are the YAML documents of a file of deploy/.
func documents(t *testing.T, file string) [][]byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(deploy, file))
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Split(data, []byte("\n---\n"))
}

// envoyFilter has the fields of Istio's kind that we use.
type envoyFilter struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
	} `json:"metadata"`
	Spec struct {
		WorkloadSelector struct {
			Labels map[string]string `json:"labels"`
		} `json:"workloadSelector"`
		ConfigPatches []configPatch `json:"configPatches"`
	} `json:"spec"`
}

type configPatch struct {
	ApplyTo string `json:"applyTo"`
	Match   struct {
		Context  string `json:"context"`
		Listener struct {
			FilterChain struct {
				Filter struct {
					Name      string `json:"name"`
					SubFilter struct {
						Name string `json:"name"`
					} `json:"subFilter"`
				} `json:"filter"`
			} `json:"filterChain"`
		} `json:"listener"`
		RouteConfiguration struct {
			Vhost struct {
				Name  string `json:"name"`
				Route struct {
					Action string `json:"action"`
				} `json:"route"`
			} `json:"vhost"`
		} `json:"routeConfiguration"`
	} `json:"match"`
	Patch struct {
		Operation string          `json:"operation"`
		Value     json.RawMessage `json:"value"`
	} `json:"patch"`
}

// TestIstio: the patches are what Envoy takes, name our Service, and ask for what
// the rules of the base have.
func TestIstio(t *testing.T) {
	t.Parallel()
	m := build(t, "base")
	var seen []string
	for _, document := range documents(t, "istio/ratelimit.yaml") {
		var f envoyFilter
		if err := yaml.UnmarshalStrict(document, &f); err != nil {
			t.Fatal(err)
		}
		if f.APIVersion != "networking.istio.io/v1alpha3" || f.Kind != "EnvoyFilter" {
			t.Errorf("%s is a %s %s", f.Metadata.Name, f.APIVersion, f.Kind)
		}
		for _, p := range f.Spec.ConfigPatches {
			seen = append(seen, p.ApplyTo+" "+p.Patch.Operation)
			switch p.ApplyTo {
			case "HTTP_FILTER":
				checkFilter(t, m, p.Patch.Value)
			case "VIRTUAL_HOST":
				var host route.VirtualHost
				// The patch is merged into hosts that have a name and domains.
				host.Name, host.Domains = "any", []string{"*"}
				fromJSON(t, p.Patch.Value, &host)
				if len(host.GetRateLimits()) == 0 {
					t.Error("the virtual hosts ask for nothing")
				}
			}
		}
	}
	if want := []string{"HTTP_FILTER INSERT_BEFORE", "VIRTUAL_HOST MERGE"}; !slices.Equal(seen, want) {
		t.Errorf("patches: %v, want %v", seen, want)
	}
}

func checkFilter(t *testing.T, m *manifests, value []byte) {
	t.Helper()
	var named struct {
		Name   string          `json:"name"`
		Config json.RawMessage `json:"typed_config"`
	}
	if err := json.Unmarshal(value, &named); err != nil {
		t.Fatal(err)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(named.Config, &fields); err != nil {
		t.Fatal(err)
	}
	if want := `"type.googleapis.com/envoy.extensions.filters.http.ratelimit.v3.RateLimit"`; string(fields["@type"]) != want {
		t.Errorf("the filter's type is %s", fields["@type"])
	}
	delete(fields, "@type")
	config, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	var limit filter.RateLimit
	fromJSON(t, config, &limit)
	service := m.services[0]
	want := "outbound|8081||" + service.Name + "." + service.Namespace + ".svc.cluster.local"
	if got := limit.GetRateLimitService().GetGrpcService().GetEnvoyGrpc().GetClusterName(); got != want {
		t.Errorf("the filter asks the cluster %s, want %s", got, want)
	}
	if rules := m.configMaps[0].Data["rules.yaml"]; !strings.Contains(rules, "\ndomain: "+limit.GetDomain()+"\n") {
		t.Errorf("no rules for the filter's domain %s", limit.GetDomain())
	}
}

// fromJSON merges what Envoy is sent into a message: a field that it does not
// have, or a value that it refuses, fails.
func fromJSON(t *testing.T, data []byte, to proto.Message) {
	t.Helper()
	patch := to.ProtoReflect().New().Interface()
	if err := protojson.Unmarshal(data, patch); err != nil {
		t.Errorf("%v\n%s", err, data)
	}
	proto.Merge(to, patch)
	if v, ok := to.(interface{ ValidateAll() error }); ok {
		if err := v.ValidateAll(); err != nil {
			t.Error(err)
		}
	}
}

// envoyGateway has the fields of Envoy Gateway's configuration that we use.
type envoyGateway struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Gateway    struct {
		ControllerName string `json:"controllerName"`
	} `json:"gateway"`
	Provider struct {
		Type       string `json:"type"`
		Kubernetes struct {
			RateLimitDeployment struct {
				Container struct {
					Image string `json:"image"`
				} `json:"container"`
			} `json:"rateLimitDeployment"`
		} `json:"kubernetes"`
	} `json:"provider"`
	RateLimit struct {
		Backend struct {
			Type  string `json:"type"`
			Redis struct {
				URL string `json:"url"`
			} `json:"redis"`
		} `json:"backend"`
	} `json:"rateLimit"`
}

// TestEnvoyGateway: the image is ours, and Redis is what the schema asks for.
func TestEnvoyGateway(t *testing.T) {
	t.Parallel()
	for _, document := range documents(t, "envoy-gateway/envoy-gateway.yaml") {
		var g envoyGateway
		if err := yaml.UnmarshalStrict(document, &g); err != nil {
			t.Fatal(err)
		}
		if g.APIVersion != "gateway.envoyproxy.io/v1alpha1" || g.Kind != "EnvoyGateway" {
			t.Errorf("a %s %s", g.APIVersion, g.Kind)
		}
		if name, tag, _ := strings.Cut(g.Provider.Kubernetes.RateLimitDeployment.Container.Image, ":"); name != "envoy-rls" || tag == "" {
			t.Errorf("the image is %s:%s", name, tag)
		}
		if b := g.RateLimit.Backend; b.Type != "Redis" || b.Redis.URL == "" {
			t.Errorf("the backend is %+v", b)
		}
	}
}
