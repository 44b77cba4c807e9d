package settings

import (
	"github.com/envoy-rls/envoy-rls/pkg/buckets"
	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
)

const (
	maxInt32 = 1<<31 - 1
	allAddr  = "Address to listen on; all addresses (IPv4 and IPv6) if unset."
)

func listenerRows(s *Settings) []Row {
	return []Row{
		{Name: "GRPC_HOST", kind: host(&s.GRPC.Host), Help: allAddr},
		{Name: "GRPC_PORT", kind: port(&s.GRPC.Port), Default: "8081", Help: "Port of the rate limit service, gRPC health and reflection."},
		{Name: "GRPC_UDS", kind: path(&s.GRPC.UDS), Help: "Unix socket for gRPC; takes the place of host and port."},
		{Name: "GRPC_UDS_MODE", kind: fileMode(&s.GRPC.UDSMode), Help: "Rights of that socket, such as 0660: whoever calls must be able to write to it. What the umask leaves, if unset."},
		{Name: "GRPC_MAX_CONNECTION_AGE", kind: duration(&s.GRPC.MaxConnectionAge, 0), Default: "30m", RatelimitDefault: "24h", Help: "Clients are asked to connect anew after this long, so that new replicas get their share; 0 = never."},
		{Name: "GRPC_MAX_CONNECTION_AGE_GRACE", kind: duration(&s.GRPC.MaxConnectionAgeGrace, 0), Default: "30s", Help: "How long calls on such a connection may go on."},
		{Name: "HOST", kind: host(&s.HTTP.Host), Help: allAddr},
		{Name: "PORT", kind: port(&s.HTTP.Port), Default: "8080", Help: "Port of HTTP: POST /json, /healthcheck, /livez, /readyz."},
		{Name: "DEBUG_HOST", kind: host(&s.Debug.Host), Default: "127.0.0.1", Help: "Address of the debug listener. It is open to whoever reaches it."},
		{Name: "DEBUG_PORT", kind: port(&s.Debug.Port), Default: "6070", Help: "Port of the debug listener: the admin API, /rlconfig, pprof."},
		secret(Row{Name: "ADMIN_TOKEN", kind: text(&s.Admin.Token), Help: "A bearer token that the debug port asks for; it asks for none if unset."}),
		{Name: "ADMIN_CHANGES", kind: boolean(&s.Admin.Changes), Default: "true", Help: "Let the admin API try calls, reset buckets, grant hits, reload rules and change the log level. It shows in any case."},
		{Name: "ADMIN_VALUES", kind: oneOf(&s.Admin.Values, ValuesShown, ValuesHashed, ValuesHidden), Default: "shown", Help: "How the admin API and its audit log show values of descriptors that are watched: shown, hashed with HASH_KEY, or hidden. Those of sensitive rules are never shown."},
		{Name: "PROMETHEUS_ADDR", kind: hostPort(&s.Metrics.Addr), Default: ":9090", Help: "Where Prometheus metrics are served."},
		{Name: "PROMETHEUS_PATH", kind: urlPath(&s.Metrics.Path), Default: "/metrics", Help: "Path of the metrics."},
		{Name: "METRICS_COMPAT", kind: boolean(&s.Metrics.Compat), Default: "false", RatelimitDefault: "true", Help: "Also export metrics under envoyproxy/ratelimit's names."},
		{Name: "GRPC_SERVER_USE_TLS", kind: boolean(&s.TLS.GRPC), Default: "false", Help: "Serve gRPC over TLS. Its files are read anew when they change."},
		{Name: "HTTP_SERVER_USE_TLS", kind: boolean(&s.TLS.HTTP), Default: "false", Help: "Serve the HTTP listeners (PORT, DEBUG_PORT, PROMETHEUS_ADDR) over TLS, with the same certificate. Clients need none there."},
		{Name: "GRPC_SERVER_TLS_CERT", kind: path(&s.TLS.CertFile), Help: "Certificate of the server, in PEM, with those of authorities between."},
		{Name: "GRPC_SERVER_TLS_KEY", kind: path(&s.TLS.KeyFile), Help: "Its key."},
		{Name: "GRPC_CLIENT_TLS_CACERT", Aliases: []string{"GRPC_SERVER_TLS_CA_CERT"}, kind: path(&s.TLS.ClientCAFile), Help: "Authorities of client certificates, in PEM; if set, gRPC clients must show one."},
		{Name: "GRPC_CLIENT_TLS_SAN", kind: text(&s.TLS.ClientSAN), Help: "Name that a client certificate must hold: DNS name, address or URI."},
	}
}

func rulesRows(s *Settings) []Row {
	r := &s.Rules
	return []Row{
		{Name: "RULES", kind: list(&r.explicit), repeat: true, Help: "Rule files and folders. If unset: RUNTIME_ROOT/RUNTIME_SUBDIRECTORY/RUNTIME_APPDIRECTORY if either of the first two is set; else ./config if it is there; else the defaults of the three."},
		{Name: "RULES_STRICT", kind: boolean(&r.Strict), Default: "false", Help: "Any error keeps the whole set of rules from loading, not only its domain."},
		{Name: "RUNTIME_ROOT", kind: path(&r.runtime.root), Default: "/srv/runtime_data/current", Help: "See RULES."},
		{Name: "RUNTIME_SUBDIRECTORY", kind: path(&r.runtime.subdirectory), Help: "See RULES."},
		{Name: "RUNTIME_APPDIRECTORY", kind: path(&r.runtime.appDirectory), Default: "config", Help: "See RULES."},
		{Name: "FORCE_START_WITHOUT_INITIAL_CONFIG", kind: boolean(&r.StartWithout), Default: "false", Help: "Be ready before there are rules."},
		{Name: "DEFAULT_ALGORITHM", kind: named(&r.Algorithm, buckets.ParseAlgorithm, buckets.Algorithms()), Default: "token_bucket", RatelimitDefault: "fixed_window", Help: "Algorithm of limits that name none."},
		{Name: "ON_STORE_ERROR", kind: named(&r.OnStoreError, descriptors.ParseStorePolicy, storePolicies()), Default: "error", Help: "What limits that say nothing answer when the store fails: error leaves it to Envoy's failure_mode_deny, local counts in this process."},
		{Name: "STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT", kind: boolean(&r.DeniedFree), Default: "false", Help: "A denied call charges no limit that does not say denied_hits itself."},
		{Name: "PROFILE", kind: oneOf(&r.Profile, Native, Ratelimit), Default: "native", Help: "ratelimit = answer as envoyproxy/ratelimit does; the default when started under that name."},
		{Name: "CONFIG_TYPE", kind: oneOf(&r.configType, configFile, configXDS), Default: configFile, Help: "Where rules come from: files, or a control plane (xDS, state of the world). Over xDS, files give defaults only, and ./config is not looked for."},
	}
}

func answerRows(s *Settings) []Row {
	a := &s.Answer
	return []Row{
		{Name: "RESPONSE_HEADERS", kind: list(&a.Headers, headersRatelimit, "x-ratelimit", "rule"), Help: "Headers to add: ratelimit (RateLimit-Limit, -Remaining, -Reset), x-ratelimit (the same as X-RateLimit-…, reset as a Unix time), rule (X-RateLimit-Rule). With any of them Retry-After on a denial."},
		{Name: "LIMIT_RESPONSE_HEADERS_ENABLED", kind: boolean(&a.headersEnabled), Default: "false", Help: "The same as ratelimit in RESPONSE_HEADERS."},
		{Name: "LIMIT_LIMIT_HEADER", kind: headerName(&a.LimitHeader), Default: "RateLimit-Limit", Help: "Name of that header."},
		{Name: "LIMIT_REMAINING_HEADER", kind: headerName(&a.RemainingHeader), Default: "RateLimit-Remaining", Help: "Name of that header."},
		{Name: "LIMIT_RESET_HEADER", kind: headerName(&a.ResetHeader), Default: "RateLimit-Reset", Help: "Name of that header."},
		{Name: "RESPONSE_DYNAMIC_METADATA", kind: boolean(&a.DynamicMetadata), Default: "false", Help: "Send the request, the metadata of rules and the deciding rule as dynamic metadata."},
		{Name: "SHADOW_MODE", kind: boolean(&a.Shadow), Default: "false", Help: "Decide and count, but deny nothing."},
		{Name: "QUOTA_MODE", kind: boolean(&a.Quota), Default: "false", Help: "Treat every limit as a quota limit: a call is denied if all of them deny."},
		{Name: "NEAR_LIMIT_RATIO", kind: ratio(&a.NearLimitRatio), Default: "0.8", Help: "Share of a limit from which hits count as near it."},
	}
}

func lifeRows(s *Settings) []Row {
	return []Row{
		{Name: "DRAIN_DELAY", kind: duration(&s.Life.DrainDelay, 0), Default: "10s", Help: "How long to serve on after SIGTERM, while no longer ready."},
		{Name: "SHUTDOWN_TIMEOUT", kind: duration(&s.Life.ShutdownTimeout, 0), Default: "25s", Help: "Longest time from SIGTERM to the end, the drain included."},
		{Name: "REDIS_HEALTH_CHECK_ACTIVE_CONNECTION", kind: boolean(&s.Life.NeedStore), Default: "false", Help: "Be ready only while the store answers."},
		{Name: "LOG_LEVEL", kind: logLevel(&s.Log.Level), Default: "info", Help: "Least severe records to log."},
		{Name: "LOG_FORMAT", kind: oneOf(&s.Log.Format, "text", "json"), Default: "text", Help: "Format of the log, which goes to standard error."},
		{Name: "TRACING_ENABLED", kind: boolean(&s.Tracing.Enabled), Default: "false", Help: "Send a span for each gRPC call by OTLP. On by itself with OTEL_EXPORTER_OTLP_ENDPOINT, unless set to false."},
		{Name: "OTEL_EXPORTER_OTLP_ENDPOINT", URL: true, kind: text(&s.Tracing.Endpoint), Help: "Where spans go, such as http://collector:4318. OpenTelemetry's other variables for its OTLP exporter have their meaning."},
		{Name: "TRACING_EXPORTER_PROTOCOL", Aliases: []string{"OTEL_EXPORTER_OTLP_PROTOCOL"}, kind: otlp(&s.Tracing.Protocol), Default: string(ProtocolHTTP), Help: "OTLP over http (protobuf) or grpc."},
		{Name: "TRACING_SERVICE_NAME", Aliases: []string{"OTEL_SERVICE_NAME"}, kind: text(&s.Tracing.ServiceName), Default: "RateLimit", Help: "Name of the service in traces."},
		{Name: "TRACING_SERVICE_NAMESPACE", kind: text(&s.Tracing.ServiceNamespace), Help: "Its namespace."},
		{Name: "TRACING_SERVICE_INSTANCE_ID", kind: text(&s.Tracing.ServiceInstance), Help: "Its instance; a random UUID if unset."},
		{Name: "TRACING_SAMPLING_RATE", kind: share(&s.Tracing.SamplingRate), Default: "1", Help: "Share of traces to begin; calls that are part of a trace follow its decision."},
	}
}

func storePolicies() []descriptors.StorePolicy {
	return []descriptors.StorePolicy{
		descriptors.PolicyError, descriptors.PolicyAllow, descriptors.PolicyDeny, descriptors.PolicyLocal,
	}
}

// otlp takes the reference's words and OpenTelemetry's.
func otlp(to *OTLPProtocol) kind {
	k := oneOf(to, ProtocolHTTP, ProtocolGRPC, "http/protobuf")
	k.word = "http|grpc"
	return k
}

func secret(r Row) Row {
	r.Secret = true
	return r
}
