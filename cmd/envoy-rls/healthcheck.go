package main

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/envoy-rls/envoy-rls/internal/settings"
)

const healthcheckTimeout = 3 * time.Second

var healthcheckCommand = command{
	name: "healthcheck",
	args: "[--addr HOST:PORT]",
	what: "Ask a running server whether it is ready; for images without a shell.",
	run:  healthcheck,
	help: func(w io.Writer) error {
		_, err := fmt.Fprint(w, "\n  --addr HOST:PORT  Its HTTP listener. Default: 127.0.0.1 and PORT, else 8080.\n  --tls             It speaks TLS; the certificate is not checked. Default:\n                    HTTP_SERVER_USE_TLS, else false.\n\nExit code 0 if it is ready, 1 if not.\n")
		return err
	},
}

func healthcheck(c *console, args []string) error {
	fs := flag.NewFlagSet("healthcheck", flag.ContinueOnError)
	addr := fs.String("addr", c.httpAddr(), "")
	overTLS := fs.Bool("tls", c.httpTLS(), "")
	if err := settings.ParseFlags(fs, args); err != nil {
		return err
	}
	scheme, transport := "http://", http.DefaultTransport.(*http.Transport).Clone()
	if *overTLS {
		// It asks this machine's server whether it is ready, and sends it nothing.
		scheme, transport.TLSClientConfig = "https://", &tls.Config{InsecureSkipVerify: true}
	}
	if _, _, err := net.SplitHostPort(*addr); err != nil {
		return &settings.UsageError{Text: fmt.Sprintf("--addr=%q: want HOST:PORT", *addr)}
	}
	ctx, cancel := context.WithTimeout(context.Background(), healthcheckTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+*addr+"/readyz", nil)
	if err != nil {
		return err
	}
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		if of := (*url.Error)(nil); errors.As(err, &of) {
			err = of.Err // without the URL
		}
		return fmt.Errorf("the server at %s does not answer: %w", *addr, err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(c.stdout, io.LimitReader(resp.Body, 1<<20)); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return exitError(exitFailure)
	}
	return nil
}

// httpTLS tells whether a server with the same environment speaks TLS there.
func (c *console) httpTLS() bool {
	for _, pair := range c.environ {
		if text, found := strings.CutPrefix(pair, "HTTP_SERVER_USE_TLS="); found {
			on, err := strconv.ParseBool(text)
			return err == nil && on
		}
	}
	return false
}

// httpAddr is where a server with the same environment listens.
func (c *console) httpAddr() string {
	for _, pair := range c.environ {
		port, found := strings.CutPrefix(pair, "PORT=")
		if _, err := strconv.ParseUint(port, 10, 16); found && err == nil {
			return net.JoinHostPort("127.0.0.1", port)
		}
	}
	return "127.0.0.1:8080"
}
