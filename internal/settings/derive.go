package settings

import (
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
)

const (
	configFile       = "FILE"
	configXDS        = "GRPC_XDS_SOTW"
	headersRatelimit = "ratelimit"
	defaultRules     = "./config"
)

// derive fills the fields that several settings make together, and refuses
// combinations that would not do what they say.
func (l *loader) derive(values map[string]given) {
	l.deriveXDS(values)
	l.deriveRules(values)
	l.deriveStore(values)
	l.deriveAnswer()
	l.deriveTracing(values)
	l.refuseLater(values)
	life := &l.settings.Life
	if life.DrainDelay > life.ShutdownTimeout {
		l.refuse(nameOf(values, "DRAIN_DELAY"), life.DrainDelay.String(),
			fmt.Sprintf("want at most SHUTDOWN_TIMEOUT (%v), which includes it", life.ShutdownTimeout))
	}
}

// deriveRules searches the places where rules may be; see RULES in the table.
func (l *loader) deriveRules(values map[string]given) {
	r := &l.settings.Rules
	runtime := filepath.Join(r.runtime.root, r.runtime.subdirectory, r.runtime.appDirectory)
	switch {
	case len(r.explicit) > 0:
		r.Paths = r.explicit
	case values["RUNTIME_ROOT"].name != "" || values["RUNTIME_SUBDIRECTORY"].name != "":
		r.Paths = []string{runtime}
	case r.FromXDS: // what lies about is not meant
	case l.in.Exists(defaultRules):
		r.Paths = []string{defaultRules}
	default:
		r.Paths = []string{runtime}
	}
}

func (l *loader) deriveAnswer() {
	a := &l.settings.Answer
	if a.headersEnabled && !slices.Contains(a.Headers, headersRatelimit) {
		a.Headers = append([]string{headersRatelimit}, a.Headers...)
	}
}

// tracesEndpoint is OpenTelemetry's own setting for traces alone; its exporter
// reads it.
const tracesEndpoint = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"

// deriveTracing turns tracing on where an endpoint is all that is said.
func (l *loader) deriveTracing(values map[string]given) {
	t := &l.settings.Tracing
	ofTraces := l.env[tracesEndpoint] != ""
	if values["TRACING_ENABLED"].name == "" {
		t.Enabled = t.Endpoint != "" || ofTraces
	}
	if ofTraces {
		t.Endpoint = ""
	}
	if !t.Enabled || t.Endpoint == "" {
		return
	}
	if u, err := url.Parse(t.Endpoint); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		l.refuse(nameOf(values, "OTEL_EXPORTER_OTLP_ENDPOINT"), maskURL(t.Endpoint), "want a URL such as http://collector:4318")
	}
}

// refuseLater answers settings of parts that are not built yet. What would be
// unsafe or useless to leave out is refused; what only shows less is warned of.
func (l *loader) refuseLater(values map[string]given) {
	s := l.settings
	for _, part := range []struct {
		wanted bool
		name   string
		use    string
	}{
		{s.GRPC.useTLS, "GRPC_SERVER_USE_TLS", "TLS on the gRPC listener; let a sidecar or the mesh end it"},
	} {
		if part.wanted {
			l.refuse(nameOf(values, part.name), values[part.name].text, "not supported yet: "+part.use)
		}
	}
}

// nameOf is the name a setting was given by, else its own.
func nameOf(values map[string]given, name string) string {
	if g := values[name]; g.name != "" {
		return g.name
	}
	return name
}
