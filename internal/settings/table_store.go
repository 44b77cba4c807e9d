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
		{Name: "DENY_CACHE", kind: onOff(&st.DenyCache), Default: "on", Help: "Remember for up to a second what Redis denied, and deny as much again without asking it."},
		{Name: "BATCH", kind: onOff(&st.Batch), Default: "on", Help: "Let calls that wait share a round trip to Redis. off is for debugging."},
		{Name: "HASH_KEY", Secret: true, kind: text(&st.HashKey), Help: "Key of the hash that stands for sensitive values; the same on all servers that share a store."},
	}
}

func redisRows(s *Settings) []Row {
	st := &s.Store
	r, cert := &st.redis, &st.certificates
	rows := []Row{
		{Name: "BACKEND_TYPE", kind: oneOf(&st.backend, "redis", "memcache"), Help: "redis, or nothing; memcache is refused: it cannot count safely. What the store is, STORE and REDIS_URL say."},
		{Name: "REDIS_URL", URL: true, kind: text(&r.url), Help: "host:port, the path of a socket, or a redis:// URL; a list for REDIS_TYPE=cluster; MASTER,host:port,… for sentinel."},
		{Name: "REDIS_SOCKET_TYPE", kind: oneOf(&r.socket, "tcp", "unix"), Help: "tcp or unix; told by REDIS_URL if unset."},
		{Name: "REDIS_TYPE", kind: oneOf(&r.topology, "single", "cluster", "sentinel"), Default: "single", Help: "single, cluster or sentinel."},
		{Name: "REDIS_AUTH", Secret: true, kind: text(&r.auth), Help: "password, or user:password. Also for a STORE without a password."},
		{Name: "REDIS_AUTH_FILE", kind: path(&r.authFile), Help: "File with the same, read anew for each connection: a rotated password needs no restart."},
		{Name: "REDIS_SENTINEL_AUTH", Secret: true, kind: text(&r.sentinelAuth), Help: "password, or user:password, for the sentinels."},
		{Name: "REDIS_POOL_SIZE", kind: integer(&st.PoolSize, 1, 10_000), Help: "Connections to a Redis server. A few are enough, and the default: calls share them."},
		{Name: "REDIS_TIMEOUT", kind: duration(&st.IOTimeout, time.Millisecond), Default: "10s", Help: "Longest time for dialling, reading and writing on a connection. Calls do not wait for it: see STORE_TIMEOUT."},
		{Name: "REDIS_TLS", kind: boolean(&r.tls), Default: "false", Help: "Speak TLS, as rediss:// does. Its files are read anew for each connection."},
		{Name: "REDIS_TLS_CLIENT_CERT", kind: path(&cert.CertFile), Help: "Client certificate for Redis, in PEM."},
		{Name: "REDIS_TLS_CLIENT_KEY", kind: path(&cert.KeyFile), Help: "Its key."},
		{Name: "REDIS_TLS_CACERT", kind: path(&cert.CAFile), Help: "Authorities of Redis' certificate, in PEM; the system's if unset."},
		{Name: "REDIS_TLS_SKIP_HOSTNAME_VERIFICATION", kind: boolean(&cert.SkipHostname), Default: "false", Help: "Do not check the name in Redis' certificate; who issued it is checked."},
		{Name: "REDIS_TLS_SKIP_VERIFY", kind: boolean(&cert.SkipVerify), Default: "false", Help: "Take any certificate of Redis: who stands between can read and change what is sent, passwords too. For trials."},
	}
	return append(rows, perSecondRows(st)...)
}

// perSecondRows are the settings of the second Redis; it shares the REDIS_TLS_*
// files.
func perSecondRows(st *Store) []Row {
	const asFirst = "As for the first."
	r, place := &st.second, &st.secondPlace
	return []Row{
		{Name: "REDIS_PERSECOND", kind: boolean(&st.wantSecond), Default: "false", Help: "Keep the buckets of limits with a window of one second on a second Redis."},
		{Name: "REDIS_PERSECOND_URL", URL: true, kind: text(&r.url), Help: asFirst},
		{Name: "REDIS_PERSECOND_SOCKET_TYPE", kind: oneOf(&r.socket, "tcp", "unix"), Help: asFirst},
		{Name: "REDIS_PERSECOND_TYPE", kind: oneOf(&r.topology, "single", "cluster", "sentinel"), Default: "single", Help: asFirst},
		{Name: "REDIS_PERSECOND_AUTH", Secret: true, kind: text(&r.auth), Help: asFirst},
		{Name: "REDIS_PERSECOND_AUTH_FILE", kind: path(&r.authFile), Help: asFirst},
		{Name: "REDIS_PERSECOND_SENTINEL_AUTH", Secret: true, kind: text(&r.sentinelAuth), Help: asFirst},
		{Name: "REDIS_PERSECOND_POOL_SIZE", kind: integer(&place.PoolSize, 1, 10_000), Help: asFirst},
		{Name: "REDIS_PERSECOND_TIMEOUT", kind: duration(&place.IOTimeout, time.Millisecond), Default: "10s", Help: asFirst},
		{Name: "REDIS_PERSECOND_TLS", kind: boolean(&r.tls), Default: "false", Help: asFirst + " The files of REDIS_TLS_* hold for both."},
	}
}
