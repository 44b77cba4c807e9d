package kubernetes

import (
	"path/filepath"
	"testing"

	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// deploy is the folder of deployment files.
var deploy = filepath.Join("..", "..", "deploy")

// manifests are what kubectl apply -k sends for a folder.
type manifests struct {
	namespaces      []core.Namespace
	configMaps      []core.ConfigMap
	services        []core.Service
	deployments     []apps.Deployment
	policies        []networking.NetworkPolicy
	budgets         []policy.PodDisruptionBudget
	autoscalers     []autoscaling.HorizontalPodAutoscaler
	serviceMonitors []serviceMonitor
}

// serviceMonitor has the fields of the Prometheus Operator's kind that we use.
type serviceMonitor struct {
	APIVersion string             `json:"apiVersion"`
	Kind       string             `json:"kind"`
	Metadata   map[string]any     `json:"metadata"`
	Spec       serviceMonitorSpec `json:"spec"`
}

type serviceMonitorSpec struct {
	Selector struct {
		MatchLabels map[string]string `json:"matchLabels"`
	} `json:"selector"`
	Endpoints []struct {
		Port     string `json:"port"`
		Path     string `json:"path"`
		Interval string `json:"interval"`
	} `json:"endpoints"`
}

// build runs kustomize on a folder of deploy/kubernetes and decodes what comes
// out. A field that its kind does not have fails the test.
func build(t *testing.T, folder string) *manifests {
	t.Helper()
	made, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join(deploy, "kubernetes", folder))
	if err != nil {
		t.Fatalf("kustomize %s: %v", folder, err)
	}
	m := new(manifests)
	for _, object := range made.Resources() {
		data, err := object.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		m.add(t, object.GetApiVersion()+" "+object.GetKind(), data)
	}
	return m
}

func (m *manifests) add(t *testing.T, kind string, data []byte) {
	t.Helper()
	switch kind {
	case "v1 Namespace":
		decode(t, kind, data, &m.namespaces)
	case "v1 ConfigMap":
		decode(t, kind, data, &m.configMaps)
	case "v1 Service":
		decode(t, kind, data, &m.services)
	case "apps/v1 Deployment":
		decode(t, kind, data, &m.deployments)
	case "networking.k8s.io/v1 NetworkPolicy":
		decode(t, kind, data, &m.policies)
	case "policy/v1 PodDisruptionBudget":
		decode(t, kind, data, &m.budgets)
	case "autoscaling/v2 HorizontalPodAutoscaler":
		decode(t, kind, data, &m.autoscalers)
	case "monitoring.coreos.com/v1 ServiceMonitor":
		decode(t, kind, data, &m.serviceMonitors)
	default:
		t.Errorf("%s is of a kind that this test does not know", kind)
	}
}

func decode[T any](t *testing.T, kind string, data []byte, to *[]T) {
	t.Helper()
	var object T
	if err := yaml.UnmarshalStrict(data, &object); err != nil {
		t.Errorf("%s: %v\n%s", kind, err, data)
	}
	*to = append(*to, object)
}

// deployment finds the Deployment of a name.
func (m *manifests) deployment(t *testing.T, name string) *apps.Deployment {
	t.Helper()
	for i := range m.deployments {
		if m.deployments[i].Name == name {
			return &m.deployments[i]
		}
	}
	t.Fatalf("no Deployment %s", name)
	return nil
}

// policy finds the NetworkPolicy of a name.
func (m *manifests) policy(t *testing.T, name string) *networking.NetworkPolicy {
	t.Helper()
	for i := range m.policies {
		if m.policies[i].Name == name {
			return &m.policies[i]
		}
	}
	t.Fatalf("no NetworkPolicy %s", name)
	return nil
}
