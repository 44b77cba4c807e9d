package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/envoy-rls/envoy-rls/internal/bench"
)

// fleet is the servers of a comparison, by name.
type fleet struct {
	c     *console
	dir   string
	addrs map[string]string
	cmds  map[string]*exec.Cmd
}

func (c *console) compare(ctx context.Context, f *benchFlags) error {
	fl, err := c.startFleet()
	if err != nil {
		return err
	}
	defer fl.stop()
	list := workloads()
	if fl.cmds["redis-server"] == nil {
		fmt.Fprintln(c.stderr, "redis-server is not installed: rows on Redis are left out")
		list = slices.DeleteFunc(list, func(w workload) bool { return w.server == "redis" })
	}
	samples := make([][]sample, len(list))
	for round := range f.rounds {
		for i, w := range list {
			s, err := fl.measure(ctx, f.config, w, round%2 == 1)
			if err != nil {
				return fmt.Errorf("%s on %s: %w", w.name, w.server, err)
			}
			samples[i] = append(samples[i], s)
		}
		fmt.Fprintf(c.stderr, "round %d of %d\n", round+1, f.rounds)
	}
	fmt.Fprintf(c.stdout, "%-24s %-7s %9s %9s %7s %9s   %s\n", "workload ("+compareAlgorithm+")", "store", "no-op µs", "ours µs", "ratio", "redis µs", "p99 no-op, ours")
	for i, w := range list {
		m := func(of func(sample) float64) float64 { return median(samples[i], of) }
		fmt.Fprintf(c.stdout, "%-24s %-7s %9.2f %9.2f %7.2f %9.2f", w.name, w.server,
			m(func(s sample) float64 { return s.noop }), m(func(s sample) float64 { return s.ours }),
			m(func(s sample) float64 { return s.ours / s.noop }), m(func(s sample) float64 { return s.redis }))
		if w.rate > 0 { // in a closed loop latency says how many callers there are
			fmt.Fprintf(c.stdout, "   %.1f ms, %.1f ms", m(func(s sample) float64 { return s.noopP99 / 1000 }), m(func(s sample) float64 { return s.oursP99 / 1000 }))
		}
		fmt.Fprintln(c.stdout)
	}
	return nil
}

// sample is of one round: CPU a call and the 99th percentile of the latency, in µs.
type sample struct{ noop, ours, redis, noopP99, oursP99 float64 }

func median(samples []sample, of func(sample) float64) float64 {
	var list []float64
	for _, s := range samples {
		list = append(list, of(s))
	}
	slices.Sort(list)
	return list[len(list)/2]
}

// measure runs a workload on ours and on the baseline, one after the other.
func (fl *fleet) measure(ctx context.Context, config bench.Config, w workload, oursFirst bool) (sample, error) {
	config.Descriptors, config.Keys, config.Domain, config.Rate = w.descriptors, w.keys, w.domain, w.rate
	var s sample
	order := []string{"noop", w.server}
	if oursFirst {
		slices.Reverse(order)
	}
	for _, name := range order {
		config.Addr, config.Processes = fl.addrs[name], map[string]int{"server": fl.cmds[name].Process.Pid}
		if name == "redis" {
			config.Processes["redis"] = fl.cmds["redis-server"].Process.Pid
		}
		r, err := bench.Run(ctx, config)
		if err != nil {
			return s, err
		}
		if len(r.Failed) > 0 {
			return s, fmt.Errorf("calls to %s failed: %v", name, r.Failed)
		}
		if name == "noop" {
			s.noop, s.noopP99 = r.CPUMicros["server"], r.LatencyMicros["p99"]
		} else {
			s.ours, s.redis, s.oursP99 = r.CPUMicros["server"], r.CPUMicros["redis"], r.LatencyMicros["p99"]
		}
	}
	return s, nil
}

func (c *console) startFleet() (*fleet, error) {
	dir, err := os.MkdirTemp("", "envoy-rls-bench-")
	if err != nil {
		return nil, err
	}
	fl := &fleet{c, dir, map[string]string{}, map[string]*exec.Cmd{}}
	if err := fl.startAll(); err != nil {
		fl.stop()
		return nil, err
	}
	return fl, nil
}

func (fl *fleet) startAll() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	rules := filepath.Join(fl.dir, "rules")
	if err := errors.Join(os.Mkdir(rules, 0o700), writeCompareRules(rules)); err != nil {
		return err
	}
	if err := fl.start("noop", func(addr, _ string) []string {
		return []string{self, "bench", "--baseline", "--addr=" + addr}
	}); err != nil {
		return err
	}
	ours := func(store string) func(_, port string) []string {
		return func(_, port string) []string {
			return []string{self, "run", "--rules=" + rules, "--store=" + store, "--log-level=error", "--store-timeout=900ms",
				"--grpc-host=127.0.0.1", "--grpc-port=" + port, "--host=127.0.0.1", "--port=0", "--debug-port=0", "--prometheus-addr=127.0.0.1:0"}
		}
	}
	if err := fl.start("memory", ours("memory://")); err != nil {
		return err
	}
	redis, err := exec.LookPath("redis-server")
	if err != nil {
		return nil // its rows are left out
	}
	if err := fl.start("redis-server", func(_, port string) []string {
		return []string{redis, "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", fl.dir}
	}); err != nil {
		return err
	}
	return fl.start("redis", ours("redis://"+fl.addrs["redis-server"]))
}

// startsWithin bounds the start of each server.
const startsWithin = 20 * time.Second

// start starts a server on a free port, which args gets to know, and waits until
// it takes connections and, if it decides calls, does so.
func (fl *fleet) start(name string, args func(addr, port string) []string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	addr := l.Addr().String()
	_, port, _ := net.SplitHostPort(addr)
	l.Close()
	words := args(addr, port)
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Stderr = fl.c.stderr
	cmd.Env = []string{} // nothing that would be a setting
	for _, pair := range fl.c.environ {
		if name != "noop" && strings.HasPrefix(pair, "GO") { // GOGC and the like, which the baseline leaves at its default
			cmd.Env = append(cmd.Env, pair)
		}
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	fl.addrs[name], fl.cmds[name] = addr, cmd
	err = errors.New("it did not answer")
	for deadline := time.Now().Add(startsWithin); err != nil && time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		err = fl.answers(name)
	}
	if err != nil {
		return fmt.Errorf("start %s: %w", words[0], err)
	}
	return nil
}

func (fl *fleet) answers(name string) error {
	if name == "redis-server" {
		conn, err := net.Dial("tcp", fl.addrs[name])
		if err != nil {
			return err
		}
		return conn.Close()
	}
	r, err := bench.Run(context.Background(), bench.Config{
		Addr: fl.addrs[name], Domain: "bench", Descriptors: []string{"user"}, Keys: 1,
		Connections: 1, Streams: 1, Duration: 50 * time.Millisecond, Timeout: time.Second,
	})
	if err == nil && len(r.Failed) > 0 {
		err = fmt.Errorf("calls fail: %v", r.Failed)
	}
	return err
}

// stop ends all servers.
func (fl *fleet) stop() {
	for _, cmd := range fl.cmds {
		_ = cmd.Process.Kill() // else it has ended by itself
		_ = cmd.Wait()         // says that it was killed
	}
	_ = os.RemoveAll(fl.dir) // a folder for temporary files
}
