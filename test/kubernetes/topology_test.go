package kubernetes

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	networking "k8s.io/api/networking/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func dockerfile(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(deploy, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestImage: the binary is there under both names, and nothing starts as root.
func TestImage(t *testing.T) {
	t.Parallel()
	text := dockerfile(t)
	for _, want := range []string{"/envoy-rls\n", "/bin/ratelimit\n", "USER 65534:65534\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("the Dockerfile has no %q", want)
		}
	}
}

// TestReplicas: the embedded store has one server; with Redis the autoscaler
// decides, and `local` divides by its least.
func TestReplicas(t *testing.T) {
	t.Parallel()
	if n := build(t, "base").deployment(t, "envoy-rls").Spec.Replicas; n == nil || *n != 1 {
		t.Errorf("the embedded store has %v replicas, want 1", n)
	}
	m := build(t, "redis")
	d := m.deployment(t, "envoy-rls")
	if d.Spec.Replicas != nil {
		t.Errorf("%d replicas, but the autoscaler decides", *d.Spec.Replicas)
	}
	if len(m.autoscalers) != 1 || m.autoscalers[0].Spec.ScaleTargetRef.Name != d.Name {
		t.Fatalf("autoscalers: %+v", m.autoscalers)
	}
	least := m.autoscalers[0].Spec.MinReplicas
	if least == nil || *least < 2 {
		t.Errorf("the autoscaler keeps %v servers, want at least 2", least)
	}
	if got := load(t, d.Spec.Template.Spec.Containers[0].Env).Store.Replicas; int64(got) != int64(*least) {
		t.Errorf("REPLICAS is %d, the autoscaler's least %d", got, *least)
	}
	if len(m.budgets) != 1 {
		t.Fatalf("%d PodDisruptionBudgets", len(m.budgets))
	}
	if !selects(m.budgets[0].Spec.Selector, d.Spec.Template.Labels) {
		t.Error("the PodDisruptionBudget is for other Pods")
	}
}

// selects tells whether labels are among those that a selector takes.
func selects(s *meta.LabelSelector, labels map[string]string) bool {
	if s == nil || len(s.MatchLabels) == 0 || len(s.MatchExpressions) > 0 {
		return false
	}
	for name, value := range s.MatchLabels {
		if labels[name] != value {
			return false
		}
	}
	return true
}

// TestSelectors: Services, policies and the monitor find their Pods.
func TestSelectors(t *testing.T) {
	t.Parallel()
	for folder := range folders {
		m := build(t, folder)
		for _, d := range m.deployments {
			pod := d.Spec.Template.Labels
			if !selects(d.Spec.Selector, pod) {
				t.Errorf("%s: Deployment %s does not select its own Pods", folder, d.Name)
			}
			if p := m.policy(t, d.Name); !selects(&p.Spec.PodSelector, pod) {
				t.Errorf("%s: NetworkPolicy %s is for other Pods", folder, d.Name)
			}
		}
		for _, s := range m.services {
			if !selects(&meta.LabelSelector{MatchLabels: s.Spec.Selector}, m.deployment(t, s.Name).Spec.Template.Labels) {
				t.Errorf("%s: Service %s has no Pods", folder, s.Name)
			}
			if s.Name == "envoy-rls" && !selects(&meta.LabelSelector{MatchLabels: m.serviceMonitors[0].Spec.Selector.MatchLabels}, s.Labels) {
				t.Errorf("%s: the ServiceMonitor finds no Service", folder)
			}
		}
		for _, n := range m.namespaces {
			for _, d := range m.deployments {
				if d.Namespace != n.Name {
					t.Errorf("%s: Deployment %s is in %s, not in %s", folder, d.Name, d.Namespace, n.Name)
				}
			}
		}
	}
}

// TestNetworkPolicy: what may come in and go out.
func TestNetworkPolicy(t *testing.T) {
	t.Parallel()
	for folder, want := range map[string]struct{ in, out []string }{
		"base":  {in: []string{"grpc", "metrics"}},
		"redis": {in: []string{"grpc", "metrics"}, out: []string{"53", "6379"}},
	} {
		spec := build(t, folder).policy(t, "envoy-rls").Spec
		if !slices.Equal(spec.PolicyTypes, []networking.PolicyType{"Ingress", "Egress"}) {
			t.Errorf("%s: the policy closes %v only", folder, spec.PolicyTypes)
		}
		in, out := map[string]bool{}, map[string]bool{}
		for _, rule := range spec.Ingress {
			addPorts(t, folder, in, rule.From, rule.Ports)
		}
		for _, rule := range spec.Egress {
			addPorts(t, folder, out, rule.To, rule.Ports)
		}
		if got := slices.Sorted(maps.Keys(in)); !slices.Equal(got, want.in) {
			t.Errorf("%s: open for others are %v, want %v", folder, got, want.in)
		}
		if got := slices.Sorted(maps.Keys(out)); !slices.Equal(got, want.out) {
			t.Errorf("%s: the server may open connections to %v, want %v", folder, got, want.out)
		}
	}
}

// addPorts adds the ports of a rule, which must name both peers and ports:
// leaving either out would mean all.
func addPorts(t *testing.T, folder string, to map[string]bool, peers []networking.NetworkPolicyPeer, ports []networking.NetworkPolicyPort) {
	t.Helper()
	if len(peers) == 0 || len(ports) == 0 {
		t.Errorf("%s: a rule without peers or ports opens everything", folder)
	}
	for _, p := range ports {
		to[p.Port.String()] = true
	}
}
