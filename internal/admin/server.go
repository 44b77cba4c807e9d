package admin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

const (
	headerTimeout  = 5 * time.Second
	readTimeout    = 10 * time.Second
	writeTimeout   = 15 * time.Second
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 64 << 10

	// profileTimeout leaves room for pprof's profiles, which take as long as
	// they are asked to.
	profileTimeout = 5 * time.Minute
)

// Server is an HTTP server that does not listen yet.
type Server struct{ http http.Server }

// NewServer makes a server whose connections cannot stay open for nothing.
func NewServer(h http.Handler, log *slog.Logger) *Server {
	return &Server{http.Server{
		Handler:           h,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}}
}

// NewDebugServer makes a server whose answers may take minutes.
func NewDebugServer(h http.Handler, log *slog.Logger) *Server {
	s := NewServer(h, log)
	s.http.WriteTimeout = profileTimeout
	return s
}

// Serve takes connections from l until Stop; then it returns nil.
func (s *Server) Serve(l net.Listener) error {
	if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Stop lets requests that have begun end, or cuts them when ctx does.
func (s *Server) Stop(ctx context.Context) error {
	if err := s.http.Shutdown(ctx); err != nil {
		s.http.Close()
		return fmt.Errorf("HTTP requests were cut: %w", err)
	}
	return nil
}
