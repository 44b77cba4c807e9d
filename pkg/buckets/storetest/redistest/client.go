package redistest

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"testing"
	"time"
)

// ioTimeout bounds each command.
const ioTimeout = 20 * time.Second

// Error is an error reply of the server, for example "NOSCRIPT …".
type Error string

func (e Error) Error() string { return string(e) }

// Client is one plain connection that speaks RESP2: enough to look into a
// server from a test, apart from the client library that is under test. It is
// for one goroutine at a time.
type Client struct {
	conn net.Conn
	in   *bufio.Reader
}

// Dial connects to addr; the end of the test closes the connection.
func Dial(t testing.TB, addr string) *Client {
	t.Helper()
	c, err := connect(addr, access{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.close)
	return c
}

// access is what a server asks of its clients.
type access struct {
	tls      *tls.Config
	password string
}

func connect(addr string, a access) (*Client, error) {
	conn, err := net.DialTimeout("tcp", addr, ioTimeout)
	if err != nil {
		return nil, err
	}
	if a.tls != nil {
		conn = tls.Client(conn, a.tls)
	}
	c := &Client{conn: conn}
	if a.password != "" {
		if _, err := c.Do("AUTH", a.password); err != nil {
			c.close()
			return nil, err
		}
	}
	return c, nil
}

func (c *Client) close() { _ = c.conn.Close() }

// Do sends a command and reads its reply: a string, an int64, nil, or a []any
// of these. An error reply is returned as Error; inside a []any it is an
// element.
func (c *Client) Do(args ...string) (any, error) {
	if err := c.conn.SetDeadline(time.Now().Add(ioTimeout)); err != nil {
		return nil, err
	}
	if c.in == nil {
		c.in = bufio.NewReader(c.conn)
	}
	request := fmt.Appendf(nil, "*%d\r\n", len(args))
	for _, arg := range args {
		request = fmt.Appendf(request, "$%d\r\n%s\r\n", len(arg), arg)
	}
	if _, err := c.conn.Write(request); err != nil {
		return nil, err
	}
	reply, err := c.read()
	if err != nil {
		return nil, err
	}
	if failed, ok := reply.(Error); ok {
		return nil, failed
	}
	return reply, nil
}

// MustDo is Do that fails the test.
func (c *Client) MustDo(t testing.TB, args ...string) any {
	t.Helper()
	reply, err := c.Do(args...)
	if err != nil {
		t.Fatalf("%s: %v", args[0], err)
	}
	return reply
}

// Get returns the value at a key; nil if there is none.
func (c *Client) Get(t testing.TB, key string) []byte {
	t.Helper()
	if text, ok := c.MustDo(t, "GET", key).(string); ok {
		return []byte(text)
	}
	return nil
}

func (c *Client) read() (any, error) {
	line, err := c.in.ReadString('\n')
	if err != nil {
		return nil, err
	}
	if len(line) < 3 {
		return nil, errors.New("short reply")
	}
	kind, rest := line[0], line[1:len(line)-2]
	switch kind {
	case '+':
		return rest, nil
	case '-':
		return Error(rest), nil
	}
	n, err := strconv.ParseInt(rest, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("reply %q: %w", line, err)
	}
	switch kind {
	case ':':
		return n, nil
	case '$':
		return c.readBulk(n)
	case '*':
		return c.readArray(n)
	}
	return nil, fmt.Errorf("reply %q: unknown kind", line)
}

func (c *Client) readBulk(n int64) (any, error) {
	if n < 0 {
		return nil, nil
	}
	body := make([]byte, n+2)
	if _, err := io.ReadFull(c.in, body); err != nil {
		return nil, err
	}
	return string(body[:n]), nil
}

func (c *Client) readArray(n int64) (any, error) {
	if n < 0 {
		return nil, nil
	}
	list := make([]any, n)
	for i := range list {
		var err error
		if list[i], err = c.read(); err != nil {
			return nil, err
		}
	}
	return list, nil
}
