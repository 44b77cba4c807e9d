package bench

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// call is one that was sent and not answered.
type call struct {
	key            int
	intended, sent time.Time
	status         string // grpc-status, when it is known
	data           []byte
}

// conn is one HTTP/2 connection.
type conn struct {
	config   *Config
	requests *requests
	net      net.Conn
	in       *bufio.Reader
	frames   *http2.Framer // reads in, writes out
	headers  *hpack.Decoder
	random   *rand.Rand

	mu      sync.Mutex // guards all below
	out     bytes.Buffer
	blocks  [2][]byte // the header block of the first call, and of all others
	message []byte
	nextID  uint32
	window  int64
	calls   map[uint32]*call
	free    []*call
	waiting []time.Time // intended times of calls that flow control holds back
	block   []byte
	status  string // of the header block that is decoded
	ending  bool
	tally   *tally
	allowed []uint64 // of each value of the first descriptor, in hits
}

const (
	readBuffer    = 64 << 10
	connWindow    = 1 << 30
	streamReserve = 4 << 10 // a call goes out only with that much window left
)

func dial(c *Config, r *requests, n uint64) (*conn, error) {
	network := "tcp"
	if len(c.Addr) > 0 && c.Addr[0] == '/' {
		network = "unix"
	}
	nc, err := net.DialTimeout(network, c.Addr, 5*time.Second)
	if err != nil {
		return nil, err
	}
	k := &conn{
		config: c, requests: r, net: nc, in: bufio.NewReaderSize(nc, readBuffer), random: rand.New(rand.NewPCG(c.Seed, n)),
		nextID: 1, window: 65535, calls: map[uint32]*call{}, tally: newTally(), allowed: make([]uint64, c.Keys),
	}
	k.frames = http2.NewFramer(&k.out, k.in)
	k.frames.SetReuseFrames()
	k.headers = hpack.NewDecoder(4096, func(f hpack.HeaderField) {
		if f.Name == "grpc-status" {
			k.status = f.Value
		}
	})
	k.blocks = headerBlocks(c)
	k.out.WriteString(http2.ClientPreface)
	err = errors.Join(
		k.frames.WriteSettings(http2.Setting{ID: http2.SettingEnablePush}, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20}),
		k.frames.WriteWindowUpdate(0, connWindow), k.flush())
	if err != nil {
		nc.Close()
		return nil, err
	}
	return k, nil
}

// headerBlocks are the headers that Envoy sends. The first block fills the
// server's table, the second refers to it.
func headerBlocks(c *Config) [2][]byte {
	addr, millis := c.Addr, strconv.FormatInt(c.Timeout.Milliseconds(), 10)
	var buf bytes.Buffer
	enc := hpack.NewEncoder(&buf)
	if addr[0] == '/' {
		addr = "localhost"
	}
	var blocks [2][]byte
	for i := range blocks {
		buf.Reset()
		for _, f := range [][2]string{
			{":method", "POST"}, {":scheme", "http"}, {":authority", addr},
			{":path", "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"},
			{"te", "trailers"}, {"grpc-timeout", millis + "m"}, {"content-type", "application/grpc"},
			{"x-envoy-internal", "true"}, {"x-forwarded-for", "192.0.2.1"}, {"x-envoy-expected-rq-timeout-ms", millis},
		} {
			_ = enc.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}) // into memory
		}
		blocks[i] = bytes.Clone(buf.Bytes())
	}
	return blocks
}

// send queues a call, or keeps it for later if flow control wants it so. mu is
// held, as for all below.
func (k *conn) send(intended time.Time) error {
	if k.window < streamReserve {
		k.waiting = append(k.waiting, intended)
		return nil
	}
	c := &call{}
	if n := len(k.free); n > 0 {
		c, k.free = k.free[n-1], k.free[:n-1]
	}
	k.message, c.key = k.requests.append(k.message[:0], k.random)
	k.window -= int64(len(k.message))
	c.intended, c.sent, c.status, c.data = intended, time.Now(), "", c.data[:0]
	id := k.nextID
	k.nextID += 2
	k.calls[id] = c
	err := k.frames.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: k.blocks[min(1, id>>1)], EndHeaders: true})
	return errors.Join(err, k.frames.WriteData(id, true, k.message))
}

func (k *conn) flush() error {
	_, err := k.out.WriteTo(k.net)
	return err
}

// read handles frames until the connection ends. done is called, with mu held,
// after each call that is answered.
func (k *conn) read(done func() error) error {
	for {
		if k.in.Buffered() < 9 {
			k.mu.Lock()
			err := k.flush()
			k.mu.Unlock()
			if err != nil {
				return err
			}
		}
		f, err := k.frames.ReadFrame()
		if err != nil {
			return err
		}
		k.mu.Lock()
		err = k.handle(f, done)
		k.mu.Unlock()
		if err != nil {
			return err
		}
	}
}

func (k *conn) handle(f http2.Frame, done func() error) error {
	id := f.Header().StreamID
	ended := f.Header().Flags.Has(http2.FlagDataEndStream)
	switch f := f.(type) {
	case *http2.DataFrame:
		if c := k.calls[id]; c != nil {
			c.data = append(c.data, f.Data()...)
		}
		if f.Length > 0 {
			if err := k.frames.WriteWindowUpdate(0, f.Length); err != nil {
				return err
			}
		}
		return k.endIf(ended, id, done)
	case *http2.HeadersFrame:
		if !f.HeadersEnded() {
			return errors.New("the server splits its headers: not supported")
		}
		k.status = ""
		if _, err := k.headers.Write(f.HeaderBlockFragment()); err != nil {
			return err
		}
		if err := k.headers.Close(); err != nil {
			return err
		}
		if c := k.calls[id]; c != nil && k.status != "" {
			c.status = k.status
		}
		return k.endIf(ended, id, done)
	case *http2.RSTStreamFrame:
		if c := k.calls[id]; c != nil {
			c.status = "reset"
		}
		return k.endIf(true, id, done)
	case *http2.SettingsFrame:
		if !f.IsAck() {
			return k.frames.WriteSettingsAck()
		}
	case *http2.PingFrame:
		if !f.IsAck() {
			return k.frames.WritePing(true, f.Data)
		}
	case *http2.WindowUpdateFrame:
		if id == 0 {
			k.window += int64(f.Increment)
			return k.sendWaiting()
		}
	case *http2.GoAwayFrame:
		return fmt.Errorf("the server ended the connection (%v)", f.ErrCode)
	}
	return nil
}

func (k *conn) sendWaiting() error {
	for len(k.waiting) > 0 && k.window >= streamReserve {
		intended := k.waiting[0]
		k.waiting = k.waiting[1:]
		if err := k.send(intended); err != nil {
			return err
		}
	}
	return nil
}

func (k *conn) endIf(ended bool, id uint32, done func() error) error {
	c := k.calls[id]
	if !ended || c == nil {
		return nil
	}
	delete(k.calls, id)
	k.free = append(k.free, c)
	if k.tally.count(c, len(k.config.Descriptors)) {
		k.allowed[c.key] += uint64(max(1, k.config.Hits))
	}
	return done()
}

// closed keeps streams calls outstanding until the connection is told to end.
func (k *conn) closed() error {
	k.mu.Lock()
	for range k.config.Streams {
		if err := k.send(time.Now()); err != nil {
			k.mu.Unlock()
			return err
		}
	}
	k.mu.Unlock()
	return k.read(func() error {
		if k.ending {
			return k.ended()
		}
		return k.send(time.Now())
	})
}

// open sends rate calls a second at random times (a Poisson process).
func (k *conn) open(rate float64) error {
	read := make(chan error, 1)
	go func() { read <- k.read(k.ended) }()
	next := time.Now()
	for {
		select {
		case err := <-read:
			return err
		case <-time.After(time.Until(next)):
		}
		k.mu.Lock()
		err := error(nil)
		for now := time.Now(); err == nil && !k.ending && !next.After(now); {
			err = k.send(next)
			next = next.Add(time.Duration(k.random.ExpFloat64() / rate * float64(time.Second)))
		}
		err = errors.Join(err, k.flush())
		ending := k.ending
		k.mu.Unlock()
		if err != nil || ending {
			if err != nil {
				k.net.Close()
			}
			return errors.Join(err, <-read)
		}
	}
}

// ended ends the reading once the last call is answered.
func (k *conn) ended() error {
	if k.ending && len(k.calls)+len(k.waiting) == 0 {
		return io.EOF
	}
	return nil
}

// end sends no more calls, and waits for those outstanding until the deadline.
func (k *conn) end(deadline time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ending = true
	if len(k.calls)+len(k.waiting) == 0 {
		deadline = time.Now()
	}
	_ = k.net.SetReadDeadline(deadline) // else the connection has ended already
}

// take returns what was counted since the last time.
func (k *conn) take() *tally {
	k.mu.Lock()
	defer k.mu.Unlock()
	taken := k.tally
	k.tally = newTally()
	return taken
}
