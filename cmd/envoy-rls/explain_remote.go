package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/envoy-rls/envoy-rls/internal/settings"
	"github.com/envoy-rls/envoy-rls/pkg/rls"
	"github.com/envoy-rls/envoy-rls/pkg/rls/explain"
)

const (
	remoteTimeout = 10 * time.Second
	maxRemote     = 16 << 20 // bytes of an answer
)

// explainRemote explains a call to a running server.
func (c *console) explainRemote(f *explainFlags) error {
	req, err := parseCall(f.words)
	if err != nil {
		return err
	}
	req.HitsAddend = uint32(f.hits)
	body, err := callAsJSON(req)
	if err != nil {
		return err
	}
	x, status, err := askExplanation(f.addr, c.adminToken(), body)
	if err != nil {
		return err
	}
	if err := c.printExplained(f.format, x, x); err != nil {
		return err
	}
	if status != http.StatusOK {
		return exitError(exitFailure)
	}
	return nil
}

// callAsJSON is a call as /json takes it.
func callAsJSON(req *rls.Request) ([]byte, error) {
	type entry struct {
		Key   string `json:"key"`
		Value string `json:"value"`
	}
	type descriptor struct {
		Entries []entry `json:"entries"`
	}
	call := struct {
		Domain      string       `json:"domain"`
		Descriptors []descriptor `json:"descriptors"`
		HitsAddend  uint32       `json:"hitsAddend"`
	}{Domain: req.Domain, HitsAddend: req.HitsAddend}
	for _, d := range req.Descriptors {
		var entries []entry
		for _, e := range d.Entries {
			if !utf8.ValidString(e.Key + e.Value) {
				return nil, &settings.UsageError{Text: "with --addr, keys and values must be UTF-8: the call goes out as JSON"}
			}
			entries = append(entries, entry(e))
		}
		call.Descriptors = append(call.Descriptors, descriptor{entries})
	}
	return json.Marshal(call)
}

// askExplanation asks the debug port of a server. Names are resolved first: the
// server takes questions by its address only.
func askExplanation(addr, token string, body []byte) (*explain.Explanation, int, error) {
	url, err := debugURL(addr)
	if err != nil {
		return nil, 0, err
	}
	client := &http.Client{Timeout: remoteTimeout}
	req, err := http.NewRequest(http.MethodPost, url+"/api/explain", bytes.NewReader(body))
	if err != nil {
		return nil, 0, err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := client.Do(req)
	if err != nil {
		return nil, 0, fmt.Errorf("ask the server: %w (is %s its debug port? see DEBUG_HOST and DEBUG_PORT)", err, addr)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxRemote))
	if err != nil {
		return nil, 0, fmt.Errorf("read the server's answer: %w", err)
	}
	if answer.StatusCode == http.StatusUnauthorized {
		return nil, 0, fmt.Errorf("%s asks for a token: set ADMIN_TOKEN to the server's", addr)
	}
	x := new(explain.Explanation)
	if err := json.Unmarshal(text, x); err != nil || answer.StatusCode == http.StatusNotFound {
		return nil, 0, fmt.Errorf("%s is not the debug port of envoy-rls: it answers %s", addr, answer.Status)
	}
	return x, answer.StatusCode, nil
}

// adminToken is that of a server with the same environment.
func (c *console) adminToken() string {
	for _, pair := range c.environ {
		if token, found := strings.CutPrefix(pair, "ADMIN_TOKEN="); found {
			return token
		}
	}
	return ""
}

func debugURL(addr string) (string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", &settings.UsageError{Text: fmt.Sprintf("--addr=%s: want HOST:PORT, the debug port of a server", addr)}
	}
	if host == "" {
		host = "127.0.0.1"
	}
	if _, err := netip.ParseAddr(host); err != nil && host != "localhost" {
		addrs, err := net.LookupHost(host)
		if err != nil {
			return "", fmt.Errorf("--addr=%s: %w", addr, err)
		}
		host = addrs[0]
	}
	return "http://" + net.JoinHostPort(host, port), nil
}
