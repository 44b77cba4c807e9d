package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/envoy-rls/envoy-rls/internal/settings"
	"github.com/envoy-rls/envoy-rls/internal/telemetry"
)

var runCommand = command{
	name: "run",
	args: "[--SETTING=VALUE…]",
	what: "Serve. Each setting has a flag and an environment variable.",
	run:  run,
	help: func(w io.Writer) error { return settings.WriteHelp(w) },
}

func run(c *console, args []string) error {
	s, report, err := settings.Load(settings.Input{
		Args:    args,
		Environ: c.environ,
		Program: filepath.Base(c.program),
		Exists:  func(path string) bool { _, err := os.Stat(path); return err == nil },
	})
	if err != nil {
		return err
	}
	level := new(slog.LevelVar)
	level.Set(s.Log.Level)
	log := telemetry.NewLog(c.stderr, s.Log.Format, level)
	tuneRuntime(c.environ)
	server, err := newServer(s, log, level)
	if err != nil {
		return err
	}
	logSettings(log, report)
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	defer signal.Stop(signals)
	err = server.Run(context.Background(), signals)
	log.Info("stopped")
	return err
}

// logSettings logs the settings in force once, and what is odd about them.
func logSettings(log *slog.Logger, report *settings.Report) {
	attrs := make([]any, 0, 2*len(report.Effective))
	for _, v := range report.Effective {
		attrs = append(attrs, v.Name, v.Text)
	}
	b := telemetry.ReadBuild(version)
	log.Info("envoy-rls starts", "version", b.Version, "revision", b.Revision, "go", b.Go)
	log.Info("effective settings", attrs...)
	for _, warning := range report.Warnings {
		log.Warn(warning)
	}
}

// watchInterval is how often a store is asked whether it answers.
const watchInterval = 250 * time.Millisecond

var errStoreSilent = errors.New("no answer")

// watch tells whether a store answers, until ctx ends.
func watch(ctx context.Context, health func() error, tell func(error)) error {
	ticks := time.NewTicker(watchInterval)
	defer ticks.Stop()
	for {
		tell(health())
		select {
		case <-ctx.Done():
			return nil
		case <-ticks.C:
		}
	}
}

func has(list []string, word string) bool { return slices.Contains(list, word) }
