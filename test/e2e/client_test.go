package e2e

import (
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"
)

// client calls a gateway from an address of its own, so that tests which share a
// gateway do not share the limit by address.
type client struct {
	url  string
	http *http.Client
}

// from makes a client whose address is 127.x.y.z.
func (g *gateway) from(t *testing.T, address string) *client {
	t.Helper()
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	transport := &http.Transport{DialContext: dialer.DialContext, MaxIdleConnsPerHost: 64}
	t.Cleanup(transport.CloseIdleConnections)
	return &client{
		url:  "http://127.0.0.1:" + g.port,
		http: &http.Client{Transport: transport, Timeout: 10 * time.Second},
	}
}

// answer is what the gateway answers.
type answer struct {
	Status int // 0 = none
	Header http.Header
	Body   string
	Err    error
}

// get asks for a path with header names and values in turn.
func (c *client) get(path string, headers ...string) answer {
	req, err := http.NewRequest(http.MethodGet, c.url+path, nil)
	if err != nil {
		return answer{Err: err}
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		}
	}
	res, err := c.http.Do(req)
	if err != nil {
		return answer{Err: err}
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return answer{Status: res.StatusCode, Header: res.Header, Body: string(body), Err: err}
}

// burst asks n times, all at once.
func (c *client) burst(n int, path string, headers ...string) []answer {
	answers := make([]answer, n)
	var wg sync.WaitGroup
	for i := range answers {
		wg.Go(func() { answers[i] = c.get(path, headers...) })
	}
	wg.Wait()
	return answers
}

// untilDenied asks one after another until it is denied, at most max times. It
// returns how many were allowed, and the denial.
func (c *client) untilDenied(t *testing.T, max int, path string, headers ...string) (allowed int, denial answer) {
	t.Helper()
	for allowed = range max + 1 {
		a := c.get(path, headers...)
		switch a.Status {
		case http.StatusOK:
		case http.StatusTooManyRequests:
			return allowed, a
		default:
			t.Fatalf("%s: status %d, %v, after %d that were allowed", path, a.Status, a.Err, allowed)
		}
	}
	t.Fatalf("%s: %d requests in a row were allowed", path, max+1)
	return 0, answer{}
}

func (a answer) wantAllowed(t *testing.T) {
	t.Helper()
	if a.Status != http.StatusOK {
		t.Errorf("status %d, want 200 (%v, headers %v)", a.Status, a.Err, a.Header)
	}
}

func (a answer) wantDenied(t *testing.T) {
	t.Helper()
	if a.Status != http.StatusTooManyRequests {
		t.Errorf("status %d, want 429 (%v, headers %v)", a.Status, a.Err, a.Header)
	}
}

// seconds reads a header that holds a whole number.
func (a answer) seconds(t *testing.T, header string) int {
	t.Helper()
	n, err := strconv.Atoi(a.Header.Get(header))
	if err != nil {
		t.Errorf("%s: %q is not a whole number", header, a.Header.Get(header))
	}
	return n
}

// wantBetween checks a number of a header.
func (a answer) wantBetween(t *testing.T, header string, low, high int) {
	t.Helper()
	if n := a.seconds(t, header); n < low || n > high {
		t.Errorf("%s: %d, want %d to %d", header, n, low, high)
	}
}
