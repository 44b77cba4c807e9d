package settings

// Why settings of envoyproxy/ratelimit do nothing here.
const (
	whyMemcached = "memcached is not a store here"
	whyStatsd    = "metrics are served to Prometheus, not sent"
	whyJitter    = "a bucket's key expires when the bucket is as new"
	whyPipeline  = "calls share round trips by themselves"
	whyStartup   = "listeners open before Redis answers, and connecting goes on for ever"
	whyWatch     = "rule files are looked at twice a second"
	whyDots      = "dotfiles are never rules"
	whyMerge     = "one domain may always be spread over files"
	whyCache     = "denials are remembered anyway; see DENY_CACHE"
)

// inertRows are the settings that are accepted and do nothing.
func inertRows() []Row {
	inert := func(why, name, quiet string) Row {
		return Row{Name: name, Inert: why, Quiet: quiet, Help: "Nothing: " + why + ".", kind: text(new(string))}
	}
	return []Row{
		inert(whyWatch, "RUNTIME_WATCH_ROOT", "false"),
		inert(whyDots, "RUNTIME_IGNOREDOTFILES", "true"),
		inert(whyMerge, "MERGE_DOMAIN_CONFIG", "true"),
		inert("readiness waits for rules anyway", "HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED", "true"),
		inert(whyJitter, "EXPIRATION_JITTER_MAX_SECONDS", "0"),
		inert(whyCache, "LOCAL_CACHE_SIZE_IN_BYTES", "0"),
		inert("calendar windows are asked for by align: calendar in rule files", "USE_CALENDAR_MONTH_RATE_LIMIT", "false"),
		inert(whyPipeline, "REDIS_PIPELINE_WINDOW", "0"),
		inert(whyPipeline, "REDIS_PIPELINE_LIMIT", "0"),
		inert(whyPipeline, "REDIS_CLUSTER_PIPELINE_PARALLELISM", "0"),
		inert(whyPipeline, "REDIS_PERSECOND_PIPELINE_WINDOW", "0"),
		inert(whyPipeline, "REDIS_PERSECOND_PIPELINE_LIMIT", "0"),
		inert(whyPipeline, "REDIS_PERSECOND_CLUSTER_PIPELINE_PARALLELISM", "0"),
		inert("callers wait for the store, not for a connection", "REDIS_POOL_ON_EMPTY_BEHAVIOR", "WAIT"),
		inert("callers wait for the store, not for a connection", "REDIS_PERSECOND_POOL_ON_EMPTY_BEHAVIOR", "WAIT"),
		inert(whyStartup, "REDIS_STARTUP_INITIAL_INTERVAL", ""),
		inert(whyStartup, "REDIS_STARTUP_MAX_INTERVAL", ""),
		inert(whyStartup, "REDIS_STARTUP_MAX_ELAPSED_TIME", "0"),
		inert(whyMemcached, "MEMCACHE_HOST_PORT", ""),
		inert(whyMemcached, "MEMCACHE_SRV", ""),
		inert(whyMemcached, "MEMCACHE_SRV_REFRESH", ""),
		inert(whyMemcached, "MEMCACHE_MAX_IDLE_CONNS", ""),
		inert(whyMemcached, "MEMCACHE_TLS", "false"),
		inert(whyMemcached, "MEMCACHE_TLS_CLIENT_CERT", ""),
		inert(whyMemcached, "MEMCACHE_TLS_CLIENT_KEY", ""),
		inert(whyMemcached, "MEMCACHE_TLS_CACERT", ""),
		inert(whyMemcached, "MEMCACHE_TLS_SKIP_HOSTNAME_VERIFICATION", ""),
		inert("metrics are always served", "USE_PROMETHEUS", "true"),
		inert("metrics have their labels by themselves", "PROMETHEUS_MAPPER_YAML", ""),
		inert("durations are in seconds", "PROMETHEUS_RESPONSE_TIME_AS_MILLISECONDS", "false"),
		inert("metrics are always served", "DISABLE_STATS", "false"),
		inert(whyStatsd, "USE_STATSD", "false"),
		inert(whyStatsd, "STATSD_HOST", ""),
		inert(whyStatsd, "STATSD_PORT", ""),
		inert(whyStatsd, "STATSD_PROTOCOL", ""),
		inert(whyStatsd, "STATS_FLUSH_INTERVAL", ""),
		inert(whyStatsd, "GOSTATS_FLUSH_INTERVAL_SECONDS", ""),
		inert(whyStatsd, "GOSTATS_LOGGING_SINK_DISABLED", "true"),
		inert(whyStatsd, "USE_DOG_STATSD", "false"),
		inert(whyStatsd, "USE_DOG_STATSD_MOGRIFIERS", ""),
		inert("Prometheus adds labels when it scrapes", "EXTRA_TAGS", ""),
	}
}
