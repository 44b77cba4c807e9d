package settings

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
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
	l.deriveRules(values)
	l.deriveStore(values)
	l.deriveAnswer()
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
	case l.in.Exists(defaultRules):
		r.Paths = []string{defaultRules}
	default:
		r.Paths = []string{runtime}
	}
}

func (l *loader) deriveStore(values map[string]given) {
	st := &l.settings.Store
	keyer := buckets.Keyer{Prefix: st.KeyPrefix}
	if err := keyer.Check(); err != nil {
		l.refuse(nameOf(values, "CACHE_KEY_PREFIX"), st.KeyPrefix, err.Error())
	}
	asRatelimit := filepath.Base(l.in.Program) == RatelimitProgram
	if st.redis.backend == "memcache" && (asRatelimit || st.url == "") {
		l.refuse(nameOf(values, "BACKEND_TYPE"), "memcache", "memcached is not a store here: set REDIS_URL or STORE")
		return
	}
	for _, name := range []string{"STORE", "REDIS_URL"} {
		if text, set := l.env[name]; set && text == "" && st.url == "" && !asRatelimit {
			l.warn("%s is set but empty: taken as unset", name)
		}
	}
	name, want := "STORE", "want "+wantStore
	var err error
	switch {
	case st.url != "":
		st.Target, err = parseTarget(st.url)
	case st.redis.url != "":
		name, want = "REDIS_URL", "want host:port, the path of a socket, or a redis:// URL"
		st.Target, err = st.redis.target()
	case asRatelimit:
		l.refuse("STORE", "", "started as ratelimit there is no default store, so that no fleet counts by process unnoticed: set REDIS_URL, or STORE=memory:// to count in this process")
	default:
		st.Target = Target{Kind: Memory}
	}
	if err != nil {
		l.refuse(nameOf(values, name), maskURL(values[name].text), err.Error()+"; "+want)
	}
}

func (l *loader) deriveAnswer() {
	a := &l.settings.Answer
	if a.headersEnabled && !slices.Contains(a.Headers, headersRatelimit) {
		a.Headers = append([]string{headersRatelimit}, a.Headers...)
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
		{s.Rules.configType == configXDS, "CONFIG_TYPE", "rules over xDS; use files (RULES)"},
		{s.GRPC.useTLS, "GRPC_SERVER_USE_TLS", "TLS on the gRPC listener; let a sidecar or the mesh end it"},
		{s.Store.redis.perSecond, "REDIS_PERSECOND", "a second Redis; one holds all buckets"},
		{s.Store.Target.TLS, "", "TLS to Redis (rediss://, REDIS_TLS); use redis:// or unix://"},
	} {
		if part.wanted {
			name, value := "STORE", ""
			if part.name != "" {
				name, value = nameOf(values, part.name), values[part.name].text
			}
			l.refuse(name, value, "not supported yet: "+part.use)
		}
	}
	if s.reference.tracing {
		l.warn("not supported yet: TRACING_ENABLED; no traces are sent")
	}
	if s.Metrics.Compat {
		l.warn("not supported yet: METRICS_COMPAT; only the envoy_rls_ metrics are exported")
	}
}

// nameOf is the name a setting was given by, else its own.
func nameOf(values map[string]given, name string) string {
	if g := values[name]; g.name != "" {
		return g.name
	}
	return name
}
