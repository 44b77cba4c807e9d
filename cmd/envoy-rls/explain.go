package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"

	"github.com/envoy-rls/envoy-rls/internal/settings"
	"github.com/envoy-rls/envoy-rls/pkg/buckets/memstore"
	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
	"github.com/envoy-rls/envoy-rls/pkg/descriptors/filesource"
	"github.com/envoy-rls/envoy-rls/pkg/rls"
	"github.com/envoy-rls/envoy-rls/pkg/rls/explain"
)

var explainCommand = command{
	name: "explain",
	args: "[--rules PATH] DOMAIN KEY=VALUE…",
	what: "Tell which rules a call meets, why, and what a server would answer.",
	run:  explainCall,
	help: func(w io.Writer) error {
		_, err := fmt.Fprint(w, `
  envoy-rls explain [--rules PATH] DOMAIN KEY=VALUE[,KEY=VALUE…] [DESCRIPTOR…]
  envoy-rls explain --addr HOST:PORT DOMAIN KEY=VALUE[,KEY=VALUE…] [DESCRIPTOR…]
  envoy-rls explain [--rules PATH] --envoy FILE --request 'GET /cart?x=1'

  DOMAIN, DESCRIPTOR    A call as Envoy sends it. A word is a descriptor: its
                        entries in order. A \ before a comma, a semicolon or a \
                        takes that as part of a value; \xNN is any byte.
  --hits N              The cost of the call. Default: 1.
  --rules PATH          A rule file or folder; may be repeated. Default: as run.
  --format text|json    Default: text.

  --addr HOST:PORT      Ask the debug port of a running server instead: what it
                        would answer now. It charges and counts nothing.

  --envoy FILE          An Envoy's configuration: which descriptors it sends.
  --request 'GET /x'    The request that comes to Envoy: method and path.
  -H 'name: value'      A header of it; may be repeated.
  --remote-address IP   The address that it comes from. Default: 127.0.0.1.

The answer is that of a server with these rules and this environment (PROFILE,
HASH_KEY, CACHE_KEY_PREFIX and so on) whose buckets are all untouched; with --addr
it is that server's, with its rules and buckets.

Exit code 0 if the call is decided, 1 if it is not or rules are in error, 2 if
the command line is wrong.
`)
		return err
	},
}

// explainFlags is the command line of explain.
type explainFlags struct {
	rules, headers                 list
	hits                           uint
	format, envoy, request, remote string
	addr                           string
	words                          []string
}

// list is a flag that may be repeated.
type list []string

func (l *list) String() string { return fmt.Sprint([]string(*l)) }

func (l *list) Set(value string) error {
	*l = append(*l, value)
	return nil
}

func parseExplain(args []string) (*explainFlags, error) {
	f := &explainFlags{}
	fs := flag.NewFlagSet("explain", flag.ContinueOnError)
	fs.Var(&f.rules, "rules", "")
	fs.Var(&f.headers, "H", "")
	fs.UintVar(&f.hits, "hits", 1, "")
	fs.StringVar(&f.format, "format", "text", "")
	fs.StringVar(&f.envoy, "envoy", "", "")
	fs.StringVar(&f.request, "request", "", "")
	fs.StringVar(&f.remote, "remote-address", "", "")
	fs.StringVar(&f.addr, "addr", "", "")
	var err error
	if f.words, err = parseMixed(fs, args); err != nil {
		return nil, err
	}
	usage := func(format string, args ...any) (*explainFlags, error) {
		return nil, &settings.UsageError{Text: fmt.Sprintf(format, args...), Hint: "envoy-rls explain --help"}
	}
	switch {
	case f.addr != "" && (len(f.rules) > 0 || f.envoy != ""):
		return usage("--addr asks a server, which has rules of its own: leave --rules and --envoy out")
	case f.format != "text" && f.format != "json":
		return usage("--format=%s: want text or json", f.format)
	case f.hits == 0 || f.hits > 1<<32-1:
		return usage("--hits=%d: want 1 to 4294967295", f.hits)
	case f.envoy != "" && len(f.words) > 0:
		return usage("a call stands on the command line or comes from --envoy, not both")
	case f.envoy != "" && f.request == "":
		return usage("--envoy needs --request 'GET /path'")
	case f.envoy == "" && (f.request != "" || len(f.headers) > 0 || f.remote != ""):
		return usage("--request, -H and --remote-address go with --envoy FILE")
	case f.envoy == "" && len(f.words) < 2:
		return usage("want a domain and a descriptor, such as: shop plan=free,user=ann")
	}
	return f, nil
}

func explainCall(c *console, args []string) error {
	f, err := parseExplain(args)
	if err != nil {
		return err
	}
	if f.addr != "" {
		return c.explainRemote(f)
	}
	s, err := c.settingsFor(f.rules)
	if err != nil {
		return err
	}
	set, err := c.loadRules(s)
	if err != nil {
		return err
	}
	if f.envoy != "" {
		return c.explainEnvoy(f, s, set)
	}
	req, err := parseCall(f.words)
	if err != nil {
		return err
	}
	req.HitsAddend = uint32(f.hits)
	x, err := explainOn(s, set, req)
	if printErr := c.printExplained(f.format, x, x); printErr != nil {
		return printErr
	}
	if err != nil {
		return exitError(exitFailure)
	}
	return nil
}

// settingsFor are the settings of a server with this environment and, if some
// are named, these rules.
func (c *console) settingsFor(rules []string) (*settings.Settings, error) {
	var args []string
	for _, path := range rules {
		args = append(args, "--rules="+path)
	}
	s, _, err := settings.Load(settings.Input{
		Args:    args,
		Environ: c.environ,
		Program: c.program,
		Exists:  func(path string) bool { _, err := os.Stat(path); return err == nil },
	})
	return s, err
}

// loadRules compiles rules as the server does. It shows errors, and goes on as
// the server does if some domain is fine.
func (c *console) loadRules(s *settings.Settings) (*descriptors.Ruleset, error) {
	files, diagnostics := filesource.ReadPaths(s.Rules.Paths)
	set, found := descriptors.Compile(files, nil, ruleOptions(s))
	diagnostics = append(diagnostics, found...)
	diagnostics = slices.DeleteFunc(diagnostics, func(d descriptors.Diagnostic) bool { return d.Severity != descriptors.Error })
	if len(diagnostics) > 0 {
		if err := descriptors.WriteText(c.stderr, diagnostics, len(files)); err != nil {
			return nil, err
		}
	}
	if set == nil || len(set.Domains()) == 0 {
		if len(diagnostics) == 0 {
			c.printError("there are no rules")
		}
		return nil, exitError(exitFailure)
	}
	return set, nil
}

// explainOn explains a call to a server of its own, whose buckets are untouched.
func explainOn(s *settings.Settings, set *descriptors.Ruleset, req *rls.Request) (*explain.Explanation, error) {
	store := memstore.New(memstore.Options{})
	defer store.Close()
	opt := limiterOptions(s, store, store, nil, slog.New(slog.DiscardHandler))
	opt.Metrics = nil
	limiter := rls.NewLimiter(opt)
	limiter.Install(set)
	explainer := &explain.Explainer{Limiter: limiter, Keyer: opt.Keyer}
	return explainer.Call(context.Background(), req, new(rls.Answer))
}

// texter writes itself for people.
type texter interface{ WriteText(w io.Writer) error }

func (c *console) printExplained(format string, text texter, data any) error {
	if format == "text" {
		return text.WriteText(c.stdout)
	}
	enc := json.NewEncoder(c.stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(data)
}
