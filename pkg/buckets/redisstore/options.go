package redisstore

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Options say which Redis to use and how. [ParseURL] makes them from a URL.
type Options struct {
	Network  string // tcp (default) or unix
	Addr     string // host:port, or the path of a socket
	Username string
	Password string
	DB       int
	TLS      *tls.Config // nil = plain

	// IOTimeout bounds dialling, and a lane's reads and writes: not a caller's
	// wait. 0 = 10 s.
	IOTimeout time.Duration
	// Lanes is the number of connections; 0 = 2.
	Lanes int
	// QueueCalls bounds the calls that wait for a lane; 0 = 16384.
	QueueCalls int

	Logger *slog.Logger // nil = none
	// Observe, if set, is told of each round trip: how long it took, how many
	// calls shared it, and why it failed ("" if it did not).
	Observe func(elapsed time.Duration, calls int, kind string)

	// Now is for tests: the time in µs instead of the server's.
	Now func() int64
}

// ParseURL reads redis://[user:pass@]host:port/db, rediss:// (TLS) and
// unix:///path. Its errors do not repeat the URL, which may hold a password.
func ParseURL(url string) (Options, error) {
	parsed, err := redis.ParseURL(url)
	if err != nil {
		return Options{}, errors.New("not a Redis URL: write redis://[user:password@]host:port/db, rediss://… or unix:///path (percent-encode signs in user and password)")
	}
	return Options{
		Network:  parsed.Network,
		Addr:     parsed.Addr,
		Username: parsed.Username,
		Password: parsed.Password,
		DB:       parsed.DB,
		TLS:      parsed.TLSConfig,
	}, nil
}

func (o *Options) fill() error {
	if o.Addr == "" {
		return errors.New("no Redis address")
	}
	if o.Lanes < 0 || o.QueueCalls < 0 || o.IOTimeout < 0 {
		return fmt.Errorf("lanes, queue and timeout of Redis %s must not be negative", o.Addr)
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

// client makes a go-redis client of one connection that never retries: a retry
// may charge twice. dialled, if not nil, is told of each new connection.
func (o *Options) client(timeout time.Duration, dialled func(net.Conn)) *redis.Client {
	opt := &redis.Options{
		Network:               o.Network,
		Addr:                  o.Addr,
		Username:              o.Username,
		Password:              o.Password,
		DB:                    o.DB,
		TLSConfig:             o.TLS,
		Protocol:              2,
		DisableIdentity:       true,
		MaxRetries:            -1,
		DialTimeout:           min(timeout, o.IOTimeout),
		ReadTimeout:           timeout,
		WriteTimeout:          timeout,
		PoolTimeout:           timeout,
		DialerRetries:         1,
		PoolSize:              1,
		ConnMaxIdleTime:       -1,
		ContextTimeoutEnabled: false, // a caller's deadline must not end a connection
		MaintNotificationsConfig: &maintnotifications.Config{
			Mode: maintnotifications.ModeDisabled,
		},
	}
	dial := redis.NewDialer(opt)
	opt.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err == nil && dialled != nil {
			dialled(conn)
		}
		return conn, err
	}
	return redis.NewClient(opt)
}

// quiet keeps go-redis from writing to standard error on its own: every error
// reaches a caller or the injected logger.
var quiet = sync.OnceFunc(func() { redis.SetLogger(silence{}) })

type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}
