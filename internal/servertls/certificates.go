package servertls

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"log/slog"
	"sync/atomic"
	"time"
)

// lookEvery is how often the files are read.
const lookEvery = 500 * time.Millisecond

// Certificates are those in force. They are safe for concurrent use.
type Certificates struct {
	files   Files
	log     *slog.Logger
	current atomic.Pointer[pair]
	seen    [sha256.Size]byte // what the files held when last judged; of Watch alone
	failed  string            // the last failure to read them that was told; likewise
}

// Open reads the files; what cannot be used is an error.
func Open(files Files, log *slog.Logger) (*Certificates, error) {
	c := &Certificates{files: files, log: log}
	found, err := files.read()
	if err != nil {
		return nil, err
	}
	p, err := files.parse(found)
	if err != nil {
		return nil, err
	}
	c.seen = found.sum()
	c.current.Store(p)
	c.tell("TLS certificate is in force")
	return c, nil
}

// GRPC is for a gRPC listener. Each connection gets what is in force when it opens.
func (c *Certificates) GRPC() *tls.Config {
	return c.serving(func(p *pair) *tls.Config { return p.grpc })
}

// HTTP is for an HTTP listener; its clients need no certificate.
func (c *Certificates) HTTP() *tls.Config {
	return c.serving(func(p *pair) *tls.Config { return p.http })
}

func (c *Certificates) serving(of func(*pair) *tls.Config) *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		NextProtos:         of(c.current.Load()).NextProtos,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return of(c.current.Load()), nil },
	}
}

// Until is when the certificate in force ends.
func (c *Certificates) Until() time.Time { return c.current.Load().until }

// Watch takes what the files come to hold, until ctx ends. It looks at contents, so
// that no rename, swap of a link or equal time can hide a change.
func (c *Certificates) Watch(ctx context.Context) error {
	ticks := time.NewTicker(lookEvery)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticks.C:
			c.look()
		}
	}
}

// look judges what the files hold, once each time they change.
func (c *Certificates) look() {
	found, err := c.files.read()
	if err != nil {
		if c.failed != err.Error() {
			c.failed = err.Error()
			c.keep(err)
		}
		return
	}
	c.failed = ""
	sum := found.sum()
	if sum == c.seen {
		return
	}
	c.seen = sum
	p, err := c.files.parse(found)
	if err != nil {
		c.keep(err)
		return
	}
	c.current.Store(p)
	c.tell("TLS certificate was replaced")
}

func (c *Certificates) keep(err error) {
	c.log.Warn("TLS files cannot be used: the certificate in force stays", "error", err, "ends", c.Until(),
		"hint", "normal while the files are being written; else put certificate, key and authorities right, they are read again by themselves")
}

func (c *Certificates) tell(what string) {
	c.log.Info(what, "certificate", c.files.CertFile, "ends", c.Until())
	if time.Until(c.Until()) <= 0 {
		c.log.Warn("the TLS certificate has ended: clients refuse it", "certificate", c.files.CertFile, "ended", c.Until())
	}
}
