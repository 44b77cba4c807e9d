package settings

import "time"

func storeRows(s *Settings) []Row {
	st := &s.Store
	return []Row{
		{Name: "STORE", URL: true, kind: text(&st.url), Help: "Where buckets are kept; beats REDIS_*. memory:// (this process; the default without REDIS_URL), redis://[user:password@]host:port[/db], rediss://…, unix:///path, redis-cluster://a:1,b:2, redis-sentinel://a:1,b:2/MASTER[/db]. There is no default when started as ratelimit."},
		{Name: "STORE_TIMEOUT", kind: duration(&st.Timeout, time.Millisecond), Default: "100ms", Help: "Longest time a call waits for the store."},
		{Name: "REPLICAS", kind: integer(&st.Replicas, 1, 1_000_000), Default: "1", Help: "How many servers share a limit: on_store_error: local counts to this part of it."},
		{Name: "MEMORY_MAX_BUCKETS", kind: integer(&st.MaxBuckets, 1, maxInt32), Default: "1000000", Help: "Embedded store: how many buckets it keeps."},
		{Name: "CACHE_KEY_PREFIX", kind: text(&st.KeyPrefix), Help: "Begins every key in Redis: visible ASCII without braces, up to 64 characters."},
		{Name: "HASH_KEY", Secret: true, kind: text(&st.HashKey), Help: "Key of the hash that stands for sensitive values; the same on all servers that share a store."},
	}
}

func redisRows(s *Settings) []Row {
	r := &s.Store.redis
	return []Row{
		{Name: "BACKEND_TYPE", kind: oneOf(&r.backend, "redis", "memcache"), Default: "redis", Help: "memcache is refused: it cannot count safely."},
		{Name: "REDIS_URL", URL: true, kind: text(&r.url), Help: "host:port, the path of a socket, or a redis:// URL; a list for REDIS_TYPE=cluster; MASTER,host:port,… for sentinel."},
		{Name: "REDIS_SOCKET_TYPE", kind: oneOf(&r.socket, "tcp", "unix"), Help: "tcp or unix; told by REDIS_URL if unset."},
		{Name: "REDIS_TYPE", kind: oneOf(&r.topology, "single", "cluster", "sentinel"), Default: "single", Help: "single, cluster or sentinel."},
		{Name: "REDIS_AUTH", Secret: true, kind: text(&r.auth), Help: "password, or user:password."},
		{Name: "REDIS_SENTINEL_AUTH", Secret: true, kind: text(&r.sentinelAuth), Help: "The same for sentinels."},
		{Name: "REDIS_POOL_SIZE", kind: integer(&s.Store.PoolSize, 1, 10_000), Help: "Connections to Redis. A few are enough, and the default: calls share them."},
		{Name: "REDIS_TIMEOUT", kind: duration(&s.Store.IOTimeout, time.Millisecond), Default: "10s", Help: "Longest time for dialling, reading and writing on a connection. Calls do not wait for it: see STORE_TIMEOUT."},
		{Name: "REDIS_TLS", kind: boolean(&r.tls), Default: "false", Help: "Speak TLS, as rediss:// does."},
		later("REDIS_TLS_CLIENT_CERT", "Client certificate for Redis."),
		later("REDIS_TLS_CLIENT_KEY", "Its key."),
		later("REDIS_TLS_CACERT", "Authorities of Redis' certificate."),
		later("REDIS_TLS_SKIP_HOSTNAME_VERIFICATION", "Do not check the name in Redis' certificate."),
		{Name: "REDIS_PERSECOND", kind: boolean(&r.perSecond), Default: "false", Later: true, Help: "Keep the buckets of limits per second on a second Redis."},
		later("REDIS_PERSECOND_SOCKET_TYPE", "As for the first."),
		later("REDIS_PERSECOND_TYPE", "As for the first."),
		secret(later("REDIS_PERSECOND_URL", "As for the first.")),
		secret(later("REDIS_PERSECOND_AUTH", "As for the first.")),
		secret(later("REDIS_PERSECOND_SENTINEL_AUTH", "As for the first.")),
		later("REDIS_PERSECOND_POOL_SIZE", "As for the first."),
		later("REDIS_PERSECOND_TIMEOUT", "As for the first."),
		later("REDIS_PERSECOND_TLS", "As for the first."),
	}
}
