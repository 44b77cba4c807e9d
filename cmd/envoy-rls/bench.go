package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/envoy-rls/envoy-rls/internal/bench"
	"github.com/envoy-rls/envoy-rls/internal/bench/noop"
	"github.com/envoy-rls/envoy-rls/internal/settings"
	"github.com/envoy-rls/envoy-rls/pkg/buckets"
)

var benchCommand = command{
	name: "bench",
	args: "[--compare] [--addr HOST:PORT]",
	what: "Measure a rate limit server: latency, CPU, and whether it allows too much.",
	run:  benchCall,
	help: func(w io.Writer) error {
		_, err := fmt.Fprint(w, `
  --addr ADDR            Where it serves gRPC in plain text: HOST:PORT or the
                         path of a Unix socket. Default: 127.0.0.1:8081.
  --domain D             Domain of each call. Default: bench.
  --descriptors K,K…     Key of each descriptor. Default: user.
  --keys LAW:N           Values of a key, zipf:N or uniform:N. Default: zipf:100000.
  --exponent S           Of zipf. Default: 1.
  --hits N               hits_addend. Default: none.
  --connections N        Default: 4.
  --streams N            Calls outstanding on each: a closed loop. Default: 32.
  --rate N               Calls a second on all: an open loop, with latency from
                         the time at which a call was to be sent.
  --warmup T, --duration T, --timeout T
                         Default: 1s, 5s, and 1s for each call.
  --pid NAME=PID,…       Processes whose CPU time to tell (Linux).
  --check ALGORITHM:AMOUNT/WINDOW[:BURST]
                         The one limit of the first descriptor. Fail if a value
                         was allowed more; its buckets must be untouched before.
  --format text|json|bench
                         bench is for benchstat. Default: text.

  --in-process           No server: decide here, without a network, on the limit
                         that --check names, else on one that denies nothing.
  --algorithm A          Of that limit. Default: token_bucket.
  --store URL            Where its buckets are, as for run. Default: memory://.

  --compare              Start servers of its own on the loopback address (this
                         binary on memory and on a redis-server, and a server on
                         grpc-go's defaults that decides nothing) and print the
                         ratio of their CPU a call, the median of --rounds N
                         rounds (default 5) of --duration.
  --baseline             Serve on --addr as that server.

Exit code 0 if all calls were answered, 1 if not or too much was allowed, 2 if
the command line is wrong.
`)
		return err
	},
}

// benchFlags is the command line of bench.
type benchFlags struct {
	config                          bench.Config
	descriptors, keys, pids, format string
	check                           string
	hits                            uint
	rounds                          int
	compare, baseline, inProcess    bool
	algorithm, store                string
}

func parseBench(args []string) (*benchFlags, error) {
	f := &benchFlags{config: bench.Config{Seed: 1}}
	c := &f.config
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.StringVar(&c.Addr, "addr", "127.0.0.1:8081", "")
	fs.StringVar(&c.Domain, "domain", "bench", "")
	fs.StringVar(&f.descriptors, "descriptors", "user", "")
	fs.StringVar(&f.keys, "keys", "zipf:100000", "")
	fs.Float64Var(&c.Exponent, "exponent", 1, "")
	fs.UintVar(&f.hits, "hits", 0, "")
	fs.IntVar(&c.Connections, "connections", 4, "")
	fs.IntVar(&c.Streams, "streams", 32, "")
	fs.Float64Var(&c.Rate, "rate", 0, "")
	fs.DurationVar(&c.Warmup, "warmup", time.Second, "")
	fs.DurationVar(&c.Duration, "duration", 5*time.Second, "")
	fs.DurationVar(&c.Timeout, "timeout", time.Second, "")
	fs.StringVar(&f.pids, "pid", "", "")
	fs.StringVar(&f.check, "check", "", "")
	fs.StringVar(&f.format, "format", "text", "")
	fs.IntVar(&f.rounds, "rounds", 5, "")
	fs.BoolVar(&f.compare, "compare", false, "")
	fs.BoolVar(&f.baseline, "baseline", false, "")
	fs.BoolVar(&f.inProcess, "in-process", false, "")
	fs.StringVar(&f.algorithm, "algorithm", "token_bucket", "")
	fs.StringVar(&f.store, "store", "memory://", "")
	if err := settings.ParseFlags(fs, args); err != nil {
		return nil, err
	}
	usage := func(format string, args ...any) (*benchFlags, error) {
		return nil, &settings.UsageError{Text: fmt.Sprintf(format, args...), Hint: "envoy-rls bench --help"}
	}
	law, number, _ := strings.Cut(f.keys, ":")
	keys, err := strconv.Atoi(number)
	switch {
	case err != nil || keys < 1 || keys > 10_000_000 || law != "zipf" && law != "uniform":
		return usage("--keys=%s: want zipf:N or uniform:N, with N up to 10000000", f.keys)
	case f.format != "text" && f.format != "json" && f.format != "bench":
		return usage("--format=%s: want text, json or bench", f.format)
	case f.hits > 1<<32-1:
		return usage("--hits=%d: want at most 4294967295", f.hits)
	case f.rounds < 1:
		return usage("--rounds=%d: want at least 1", f.rounds)
	}
	c.Keys, c.Hits, c.Descriptors = keys, uint32(f.hits), strings.Split(f.descriptors, ",")
	if law == "uniform" {
		c.Exponent = 0
	}
	if c.Processes, err = parsePIDs(f.pids); err != nil {
		return usage("--pid=%s: %v", f.pids, err)
	}
	if c.Bound, err = parseBound(f.check); err != nil {
		return usage("--check=%s: %v", f.check, err)
	}
	return f, nil
}

func parsePIDs(text string) (map[string]int, error) {
	pids := map[string]int{}
	for pair := range strings.SplitSeq(text, ",") {
		if pair == "" {
			continue
		}
		name, number, _ := strings.Cut(pair, "=")
		pid, err := strconv.Atoi(number)
		if err != nil || name == "" || pid < 1 {
			return nil, fmt.Errorf("want NAME=PID, not %q", pair)
		}
		pids[name] = pid
	}
	return pids, nil
}

// parseBound reads ALGORITHM:AMOUNT/WINDOW[:BURST].
func parseBound(text string) (*bench.Bound, error) {
	if text == "" {
		return nil, nil
	}
	name, rest, _ := strings.Cut(text, ":")
	rate, burst, hasBurst := strings.Cut(rest, ":")
	amount, window, _ := strings.Cut(rate, "/")
	algorithm, known := buckets.ParseAlgorithm(name)
	if !known {
		return nil, fmt.Errorf("unknown algorithm %q", name)
	}
	b := &bench.Bound{Algorithm: algorithm}
	var err error
	if b.Amount, err = strconv.ParseUint(amount, 10, 32); err != nil {
		return nil, fmt.Errorf("amount %q: want a number", amount)
	}
	if b.Window, err = time.ParseDuration(window); err != nil || b.Window < time.Second {
		return nil, fmt.Errorf("window %q: want a duration from 1s on, such as 60s", window)
	}
	b.Burst = b.Amount
	if b.Algorithm == buckets.LeakyBucket {
		b.Burst = 1
	}
	if hasBurst {
		if b.Burst, err = strconv.ParseUint(burst, 10, 32); err != nil {
			return nil, fmt.Errorf("burst %q: want a number", burst)
		}
	}
	return b, nil
}

func benchCall(c *console, args []string) error {
	f, err := parseBench(args)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	switch {
	case f.baseline:
		l, err := net.Listen("tcp", f.config.Addr)
		if err != nil {
			return err
		}
		return noop.Serve(ctx, l)
	case f.compare:
		return c.compare(ctx, f)
	}
	f.config.Progress = func(elapsed time.Duration, calls uint64) {
		fmt.Fprintf(c.stderr, "%6.1f s  %d calls\n", elapsed.Seconds(), calls)
	}
	measure := bench.Run
	if f.inProcess {
		measure = func(ctx context.Context, config bench.Config) (*bench.Result, error) {
			return c.benchHere(ctx, f, config)
		}
	}
	r, err := measure(ctx, f.config)
	if err != nil {
		return err
	}
	if err := c.printBench(f.format, r); err != nil {
		return err
	}
	for _, excess := range r.Excess {
		c.printError(excess)
	}
	if len(r.Failed) > 0 || len(r.Excess) > 0 {
		return exitError(exitFailure)
	}
	return nil
}

func (c *console) printBench(format string, r *bench.Result) error {
	switch format {
	case "json":
		return json.NewEncoder(c.stdout).Encode(r)
	case "bench":
		return r.WriteBench(c.stdout, "Server")
	}
	return r.WriteText(c.stdout)
}
