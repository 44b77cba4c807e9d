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
	l.deriveTLS(values)
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

// deriveTLS refuses listeners over TLS that have no certificate, and tells of what
// is given and not used.
func (l *loader) deriveTLS(values map[string]given) {
	c := &l.settings.TLS
	switch {
	case !c.GRPC && !c.HTTP:
		if c.CertFile != "" || c.KeyFile != "" || c.ClientCAFile != "" || c.ClientSAN != "" {
			l.warn("GRPC_SERVER_USE_TLS is false: certificates and names for gRPC clients are not used")
		}
	case c.CertFile == "" || c.KeyFile == "":
		l.refuse("GRPC_SERVER_TLS_CERT and GRPC_SERVER_TLS_KEY", "", "want both, for GRPC_SERVER_USE_TLS or HTTP_SERVER_USE_TLS")
	case c.ClientSAN != "" && c.ClientCAFile == "":
		l.refuse(nameOf(values, "GRPC_CLIENT_TLS_SAN"), c.ClientSAN, "want GRPC_CLIENT_TLS_CACERT, too: a name that no authority vouches for says nothing")
	}
}

// nameOf is the name a setting was given by, else its own.
func nameOf(values map[string]given, name string) string {
	if g := values[name]; g.name != "" {
		return g.name
	}
	return name
}
