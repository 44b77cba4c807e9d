package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"
)

// Port is a listener and what serves it.
type Port struct {
	Name    string // for people: gRPC
	Network string // tcp or unix
	Addr    string
	Mode    os.FileMode // of a unix socket; 0 = what the umask leaves

	// Protocol and TLS are what its clients are to speak; those that do not are
	// told of in the log.
	Protocol Protocol
	TLS      bool

	// Serve takes connections until Stop; then it returns nil.
	Serve func(net.Listener) error
	// Stop lets what has begun end, or cuts it when ctx does.
	Stop func(ctx context.Context) error
	// Late ports are those that show how the others end: they stop last.
	Late bool
}

// ListenError is a port that cannot be opened.
type ListenError struct {
	Port Port
	Err  error
}

func (e *ListenError) Error() string {
	reason := e.Err
	var sys syscall.Errno
	if errors.As(e.Err, &sys) {
		reason = sys
	}
	return fmt.Sprintf("cannot listen for %s on %s: %v", e.Port.Name, e.Port.Addr, reason)
}

func (e *ListenError) Unwrap() error { return e.Err }

// listen opens all ports or none.
func listen(ports []Port) ([]net.Listener, error) {
	var opened []net.Listener
	for _, p := range ports {
		l, err := p.listen()
		if err != nil {
			for _, l := range opened {
				l.Close()
			}
			return nil, &ListenError{p, err}
		}
		opened = append(opened, l)
	}
	return opened, nil
}

func (p *Port) listen() (net.Listener, error) {
	if p.Network == "unix" {
		removeStale(p.Addr)
	}
	l, err := net.Listen(p.Network, p.Addr)
	if err != nil || p.Network != "unix" || p.Mode == 0 {
		return l, err
	}
	if err := os.Chmod(p.Addr, p.Mode); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// removeStale removes the socket of a process that is gone, and nothing else.
func removeStale(path string) {
	info, err := os.Lstat(path)
	if err != nil || info.Mode()&os.ModeSocket == 0 {
		return
	}
	conn, err := net.DialTimeout("unix", path, time.Second)
	if err == nil {
		conn.Close()
		return
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		os.Remove(path)
	}
}
