package main

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/envoy-rls/envoy-rls/internal/settings"
	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
)

// A hash that anyone can compute hides nothing: say so, or make up a key.
func TestHashKey(t *testing.T) {
	t.Parallel()
	set, problems := descriptors.Compile([]descriptors.File{{Name: "a.yaml", Data: []byte(
		"domain: d\ndescriptors:\n- {key: api_key, sensitive: true, rate_limit: {unit: minute, requests_per_unit: 3}}\n")}}, nil, descriptors.Options{})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for _, tt := range []struct {
		kind, key string
		warns     bool
	}{
		{settings.Redis, "", true},
		{settings.Redis, "secret", false},
		{settings.Memory, "", false},
	} {
		s := &settings.Settings{}
		s.Store.Target.Kind, s.Store.HashKey = tt.kind, tt.key
		var text bytes.Buffer
		warnOfHashKey(slog.New(slog.NewTextHandler(&text, nil)), s, set)
		if warned := strings.Contains(text.String(), "HASH_KEY"); warned != tt.warns {
			t.Errorf("%s with key %q: warned %v:\n%s", tt.kind, tt.key, warned, &text)
		}
	}
	alone := &settings.Settings{}
	alone.Store.Target.Kind = settings.Memory
	if a, b := hashKey(alone), hashKey(alone); len(a) != 32 || bytes.Equal(a, b) {
		t.Errorf("made-up keys %x and %x", a, b)
	}
}
