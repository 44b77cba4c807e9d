package rls_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
	"github.com/envoy-rls/envoy-rls/pkg/rls"
)

// A store that fails for long makes a line in ten seconds, which says how many
// calls it stands for, what decided them, and what to do.
func TestM5Notice(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	w := newWorld(t, onePolicyEach, func(o *rls.Options, _ *descriptors.Options) {
		o.Logger = slog.New(slog.NewJSONHandler(&log, nil))
	})
	call := func(n int) {
		for range n {
			w.call("[allow=secret-user] [deny=1]")
		}
	}
	call(3)
	if log.Len() > 0 {
		t.Errorf("a store that works: %s", &log)
	}
	w.fails.fail(buckets.KindMemory)
	call(5)
	w.wait(9 * time.Second)
	call(5)
	w.wait(time.Second)
	call(5)
	type line struct {
		Msg, Level, Reason, Error, Domain, Policies, Hint string
		Calls                                             int
	}
	var got []line
	for text := range strings.Lines(log.String()) {
		var l line
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatal(err)
		}
		got = append(got, l)
	}
	first := line{"the store could not decide: on_store_error of the limits did", "WARN", "oom", "store: oom: down", "d",
		"allow, deny", "Redis is full: raise its maxmemory", 1}
	second := first
	second.Calls = 10
	if diff := cmp.Diff([]line{first, second}, got); diff != "" {
		t.Error(diff)
	}
	if strings.Contains(log.String(), "secret-user") {
		t.Errorf("the log names a value of a call: %s", &log)
	}
	w.fails.fail(buckets.KindCanceled)
	w.wait(time.Minute)
	log.Reset()
	call(1)
	if log.Len() > 0 {
		t.Errorf("a caller that left: %s", &log)
	}
}

// Every reason that there can be has its hint.
func TestNoticeHints(t *testing.T) {
	t.Parallel()
	for _, kind := range []buckets.ErrorKind{
		buckets.KindTimeout, buckets.KindConnection, buckets.KindBreaker, buckets.KindOverload, buckets.KindReadonly,
		buckets.KindMemory, buckets.KindLoading, buckets.KindAuth, buckets.KindCluster, buckets.KindLayout, buckets.KindScript,
	} {
		var log bytes.Buffer
		w := newWorld(t, onePolicyEach, func(o *rls.Options, _ *descriptors.Options) {
			o.Logger = slog.New(slog.NewTextHandler(&log, nil))
		})
		w.fails.fail(kind)
		w.call("[error=1]")
		if text := log.String(); !strings.Contains(text, "reason="+string(kind)) || strings.Contains(text, `hint=""`) {
			t.Errorf("%s: %s", kind, text)
		}
	}
}
