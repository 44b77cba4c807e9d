package kubernetes

import (
	"fmt"
	"net"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	core "k8s.io/api/core/v1"

	"github.com/envoy-rls/envoy-rls/internal/settings"
	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
)

// folders are the kustomizations, and the store that each is for.
var folders = map[string]string{"base": settings.Memory, "redis": settings.Redis}

// TestDeployment reads the settings of the Deployment as the server does, and
// holds ports, probes and mounts to them.
func TestDeployment(t *testing.T) {
	t.Parallel()
	for folder, store := range folders {
		t.Run(folder, func(t *testing.T) {
			t.Parallel()
			m := build(t, folder)
			pod := m.deployment(t, "envoy-rls").Spec.Template.Spec
			server := pod.Containers[0]
			s := load(t, server.Env)
			if s.Store.Target.Kind != store {
				t.Errorf("the store is %s, want %s", s.Store.Target, store)
			}
			ports := portsOf(t, s)
			checkPorts(t, m, server, ports)
			checkProbes(t, server)
			checkMounts(t, m, pod, s)
			if grace := time.Duration(*pod.TerminationGracePeriodSeconds) * time.Second; grace <= s.Life.ShutdownTimeout {
				t.Errorf("killed after %v, while a stop may take %v", grace, s.Life.ShutdownTimeout)
			}
		})
	}
}

// load reads the variables as the server would, without a complaint.
func load(t *testing.T, env []core.EnvVar) *settings.Settings {
	t.Helper()
	var environ []string
	known := map[string]bool{}
	for _, row := range settings.Rows() {
		known[row.Name] = true
	}
	for _, v := range env {
		if !known[v.Name] {
			t.Errorf("%s is no setting", v.Name)
		}
		environ = append(environ, v.Name+"="+v.Value)
	}
	s, report, err := settings.Load(settings.Input{Environ: environ, Program: "/envoy-rls", Exists: func(string) bool { return false }})
	if err != nil {
		t.Fatal(err)
	}
	for _, warning := range report.Warnings {
		t.Errorf("the settings warn: %s", warning)
	}
	return s
}

// portsOf are the ports that the server opens to others, by the names that the
// Deployment gives them.
func portsOf(t *testing.T, s *settings.Settings) map[string]int32 {
	t.Helper()
	_, metrics, err := net.SplitHostPort(s.Metrics.Addr)
	if err != nil {
		t.Fatal(err)
	}
	var port int32
	if _, err := fmt.Sscan(metrics, &port); err != nil {
		t.Fatal(err)
	}
	return map[string]int32{"grpc": int32(s.GRPC.Port), "http": int32(s.HTTP.Port), "metrics": port}
}

func checkPorts(t *testing.T, m *manifests, server core.Container, ports map[string]int32) {
	t.Helper()
	if len(server.Ports) != len(ports) {
		t.Errorf("the container names %d ports, want %v", len(server.Ports), ports)
	}
	for _, p := range server.Ports {
		if ports[p.Name] != p.ContainerPort {
			t.Errorf("port %s is %d, but the server listens on %d", p.Name, p.ContainerPort, ports[p.Name])
		}
	}
	for _, service := range m.services {
		if service.Name != "envoy-rls" {
			continue
		}
		for _, p := range service.Spec.Ports {
			// Headless: what callers dial is what the server opens.
			if ports[p.TargetPort.String()] != p.Port {
				t.Errorf("the Service's port %s is %d to %s, want one of %v", p.Name, p.Port, p.TargetPort.String(), ports)
			}
			if p.Name == "grpc" && (p.AppProtocol == nil || *p.AppProtocol != "grpc") {
				t.Error("the Service's port grpc has not appProtocol grpc")
			}
		}
	}
	for _, monitor := range m.serviceMonitors {
		for _, e := range monitor.Spec.Endpoints {
			if ports[e.Port] == 0 {
				t.Errorf("the ServiceMonitor scrapes port %s, which there is not", e.Port)
			}
		}
	}
}

func checkProbes(t *testing.T, server core.Container) {
	t.Helper()
	for name, probe := range map[string]struct {
		*core.Probe
		path string
	}{
		"startup":   {server.StartupProbe, "/livez"},
		"readiness": {server.ReadinessProbe, "/readyz"},
		"liveness":  {server.LivenessProbe, "/livez"},
	} {
		if probe.Probe == nil || probe.HTTPGet == nil || probe.HTTPGet.Path != probe.path || probe.HTTPGet.Port.String() != "http" {
			t.Errorf("the %s probe is %+v, want %s of port http", name, probe.Probe, probe.path)
		}
	}
}

// checkMounts: the rules are a folder (a mounted file never changes), from a
// ConfigMap that the kustomization makes.
func checkMounts(t *testing.T, m *manifests, pod core.PodSpec, s *settings.Settings) {
	t.Helper()
	volumes := map[string]string{} // to their ConfigMap
	for _, v := range pod.Volumes {
		if v.ConfigMap != nil {
			volumes[v.Name] = v.ConfigMap.Name
		}
	}
	mounts := map[string]string{}
	for _, mount := range pod.Containers[0].VolumeMounts {
		if mount.SubPath != "" {
			t.Errorf("%s is mounted as a file, which never changes", mount.MountPath)
		}
		mounts[path.Clean(mount.MountPath)] = volumes[mount.Name]
	}
	for _, rules := range s.Rules.Paths {
		if !slices.ContainsFunc(m.configMaps, func(c core.ConfigMap) bool { return c.Name == mounts[rules] }) {
			t.Errorf("rules are read from %s, where no ConfigMap of this kustomization is mounted", rules)
		}
	}
}

// TestRules: the rules of the ConfigMap compile without a complaint.
func TestRules(t *testing.T) {
	t.Parallel()
	var files []descriptors.File
	for _, c := range build(t, "base").configMaps {
		for name, text := range c.Data {
			files = append(files, descriptors.File{Name: name, Data: []byte(text)})
		}
	}
	set, problems := descriptors.Compile(files, nil, descriptors.Options{})
	for _, p := range problems {
		t.Error(p)
	}
	if set == nil || len(set.Limits()) == 0 {
		t.Error("there are no limits")
	}
}

// TestHardening: every Pod runs as an ordinary user, on a file system that it
// cannot write, without capabilities and without a token.
func TestHardening(t *testing.T) {
	t.Parallel()
	for folder := range folders {
		for _, d := range build(t, folder).deployments {
			pod := d.Spec.Template.Spec
			name := folder + "/" + d.Name
			if pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken {
				t.Errorf("%s gets a token of the cluster", name)
			}
			if s := pod.SecurityContext; s == nil || s.RunAsNonRoot == nil || !*s.RunAsNonRoot || s.RunAsUser == nil || *s.RunAsUser == 0 ||
				s.SeccompProfile == nil || s.SeccompProfile.Type != core.SeccompProfileTypeRuntimeDefault {
				t.Errorf("%s: the Pod's security context is %+v", name, s)
			}
			for _, c := range pod.Containers {
				s := c.SecurityContext
				if s == nil || s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem ||
					s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation ||
					s.Capabilities == nil || !slices.Contains(s.Capabilities.Drop, "ALL") || len(s.Capabilities.Add) > 0 {
					t.Errorf("%s: the security context of container %s is %+v", name, c.Name, s)
				}
				if c.Resources.Limits.Memory().IsZero() || c.Resources.Requests.Cpu().IsZero() {
					t.Errorf("%s: container %s has no resources", name, c.Name)
				}
			}
		}
	}
	user := fmt.Sprint(*build(t, "base").deployment(t, "envoy-rls").Spec.Template.Spec.SecurityContext.RunAsUser)
	if text := dockerfile(t); !strings.Contains(text, "USER "+user+":") {
		t.Errorf("the Deployment runs as user %s, the image does not", user)
	}
}
