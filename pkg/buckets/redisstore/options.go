package redisstore

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Kind is how the Redis servers of a store belong together.
type Kind uint8

const (
	Single   Kind = iota
	Sentinel      // one master at a time, which the sentinels name
	Cluster       // many masters, each with its slots
)

// Options say which Redis to use and how.
type Options struct {
	Kind Kind
	// Addrs is the server's host:port or socket path; for Sentinel those of the
	// sentinels; for Cluster those of some nodes, to learn the others from.
	Addrs   []string
	Network string // tcp (default) or unix
	Master  string // Sentinel: the name of the master
	DB      int    // not for Cluster

	// Credentials returns user and password for a new connection; "" for none.
	// nil = none. SentinelCredentials are those for the sentinels.
	Credentials         func() (user, password string, err error)
	SentinelCredentials func() (user, password string, err error)
	// TLS secures the connections, also those to the sentinels; nil = plain.
	TLS *TLS

	// IOTimeout bounds dialling, and a lane's reads and writes: not a caller's
	// wait. 0 = 10 s.
	IOTimeout time.Duration
	// Lanes is the number of connections to a server; 0 = 2.
	Lanes int
	// QueueCalls bounds the calls that wait for the lanes of a server;
	// 0 = 16384.
	QueueCalls int

	// CallByCall gives each call a round trip of its own; for debugging.
	CallByCall bool

	// Returned, if set, is told the key of a bucket that the store itself gave
	// hits back to.
	Returned func(key []byte)

	Logger *slog.Logger // nil = none
	// Observe, if set, is told of each round trip.
	Observe func(RoundTrip)

	// Now is for tests: the time in µs instead of the server's.
	Now func() int64
}

// Password makes Credentials that never change.
func Password(user, password string) func() (string, string, error) {
	return func() (string, string, error) { return user, password, nil }
}

func (o *Options) fill() error {
	switch {
	case len(o.Addrs) == 0:
		return errors.New("no Redis address")
	case o.Kind == Single && len(o.Addrs) > 1:
		return errors.New("several Redis addresses: name a cluster or sentinels, or one server")
	case o.Kind == Sentinel && o.Master == "":
		return errors.New("sentinels need the name of the master")
	case o.Kind == Cluster && o.DB != 0:
		return errors.New("a Redis Cluster has database 0 only")
	case o.Kind != Single && o.Network == "unix":
		return errors.New("a unix socket leads to one server, not to sentinels or a cluster")
	case o.Lanes < 0 || o.QueueCalls < 0 || o.IOTimeout < 0:
		return errors.New("lanes, queue and timeout of Redis must not be negative")
	}
	if o.Network == "" {
		o.Network = "tcp"
	}
	if o.IOTimeout == 0 {
		o.IOTimeout = 10 * time.Second
	}
	if o.Lanes == 0 {
		o.Lanes = 2
	}
	if o.QueueCalls == 0 {
		o.QueueCalls = 16384
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return nil
}

// quiet keeps go-redis from writing to standard error on its own: every error
// reaches a caller or the injected logger.
var quiet = sync.OnceFunc(func() { redis.SetLogger(silence{}) })

type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}

// RoundTrip is a run of the script.
type RoundTrip struct {
	Waited time.Duration // for a connection: the call of the run that waited longest
	Took   time.Duration // from sending to the answer
	Calls  int           // that shared it
	Kind   string        // why it failed; "" if it did not
}
