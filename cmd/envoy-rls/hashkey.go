package main

import (
	"crypto/rand"
	"log/slog"

	"github.com/envoy-rls/envoy-rls/internal/settings"
	"github.com/envoy-rls/envoy-rls/pkg/buckets"
	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
)

// hashKey is the key of the hash that stands for sensitive values. Without
// HASH_KEY a server that shares its buckets with nobody makes one up; servers
// on one Redis must agree on it, so there the key is empty and guessing works.
func hashKey(s *settings.Settings) []byte {
	if s.Store.HashKey == "" && s.Store.Target.Kind == settings.Memory {
		key := make([]byte, 32)
		_, _ = rand.Read(key) // never fails
		return key
	}
	return []byte(s.Store.HashKey)
}

// warnOfHashKey says so if rules hide values by a hash that anyone can compute.
func warnOfHashKey(log *slog.Logger, s *settings.Settings, set *descriptors.Ruleset) {
	if s.Store.HashKey != "" || s.Store.Target.Kind == settings.Memory || set == nil {
		return
	}
	for _, l := range set.Limits() {
		for _, mark := range l.Rule.Marks {
			if mark.Kind == buckets.Sensitive {
				log.Warn("a sensitive value can be guessed from its hash",
					"rule", l.Rule.Path, "hint", "set HASH_KEY to a secret, the same on all servers that share the store")
				return
			}
		}
	}
}
