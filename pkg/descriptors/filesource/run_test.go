package filesource

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
	"github.com/google/go-cmp/cmp"
)

func TestReadPaths(t *testing.T) {
	t.Parallel()
	w := newTree(t)
	w.write("rules/a.yaml", "1")
	w.write("rules/b_test.yaml", "2")
	w.write("other.txt", "3")
	w.must(os.Mkdir(filepath.Join(w.path, "empty"), 0o755))
	files, diagnostics := ReadPaths([]string{
		filepath.Join(w.path, "rules"), filepath.Join(w.path, "other.txt"), filepath.Join(w.path, "empty"), filepath.Join(w.path, "nowhere"), filepath.Join(w.path, "rules/a.yaml"),
	})
	w.emit(descriptors.Snapshot{Files: files})
	w.check([]string{"rules/a.yaml=1 other.txt=3"})
	var got []string
	for _, d := range diagnostics {
		got = append(got, strings.ReplaceAll(d.String(), w.path+"/", ""))
	}
	want := []string{"empty: error: no rule files in this folder", "nowhere: error: no such file or folder"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestRun looks twice a second, takes a forced reload at once, and ends with its
// context.
func TestRun(t *testing.T) {
	t.Parallel()
	w := newTree(t)
	w.write("a.yaml", "1")
	synctest.Test(t, func(t *testing.T) {
		w.source = New([]string{w.path}, 0)
		gone := errors.New("gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		done := make(chan error)
		began := time.Now()
		var when []string
		go func() {
			done <- w.source.Run(ctx, func(s descriptors.Snapshot) {
				w.emit(s)
				when = append(when, fmt.Sprint(time.Since(began)))
			})
		}()
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		w.write("a.yaml", "22")
		time.Sleep(1900 * time.Millisecond)
		synctest.Wait()
		w.source.Reload()
		synctest.Wait()
		cancel(gone)
		if err := <-done; !errors.Is(err, gone) {
			t.Errorf("Run returned %v", err)
		}
		w.check([]string{"a.yaml=1", "a.yaml=22", "a.yaml=22 forced"})
		if diff := cmp.Diff([]string{"0s", "1s", "2s"}, when); diff != "" {
			t.Error(diff)
		}
	})
}

// TestLoaded goes all the way from a file to a ruleset.
func TestLoaded(t *testing.T) {
	t.Parallel()
	w := newTree(t)
	w.write("a.yaml", "domain: d\ndescriptors: [{key: k, rate_limit: {unit: day, requests_per_unit: 1}}]\n")
	w.source.every = time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	steps := []func(l descriptors.Load) error{
		func(l descriptors.Load) error {
			w.write("a.yaml", "domain: d\ndescriptors:\n")
			if l.Generation != 1 || !l.Sound() || l.Ruleset.Domain("d") == nil {
				return fmt.Errorf("first load: %+v", l)
			}
			return nil
		},
		func(l descriptors.Load) error {
			w.source.Reload()
			if l.Generation != 1 || len(l.Held) != 1 || len(l.Ruleset.Limits()) != 1 {
				return fmt.Errorf("half-written: %+v", l)
			}
			return nil
		},
		func(l descriptors.Load) error {
			cancel()
			if l.Generation != 2 || len(l.Held) != 0 || len(l.Ruleset.Limits()) != 0 {
				return fmt.Errorf("forced: %+v", l)
			}
			return nil
		},
	}
	i := 0
	err := descriptors.NewLoader(w.source, descriptors.Options{}).Run(ctx, func(l descriptors.Load) {
		if err := steps[i](l); err != nil {
			t.Error(err)
			cancel()
		}
		i++
	})
	if !errors.Is(err, context.Canceled) || i != len(steps) {
		t.Errorf("%d loads, %v", i, err)
	}
}
