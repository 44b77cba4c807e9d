package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// Task runs beside the ports until ctx ends.
type Task struct {
	Name string
	Run  func(ctx context.Context) error
}

// Server is what runs and how it ends.
type Server struct {
	Ports   []Port
	Tasks   []Task
	Closers []func() error // called last, in order
	Health  *Health
	Log     *slog.Logger
	Reload  func() // on SIGHUP; must not block

	DrainDelay      time.Duration
	ShutdownTimeout time.Duration // from the signal to the end, DrainDelay included
}

// ErrSecondSignal says that the server was told twice to end and cut what it was
// doing.
var ErrSecondSignal = errors.New("a second signal ended the server before it was done")

// lateTimeout is what the last steps may take beyond ShutdownTimeout: they wait
// for nobody's calls.
const lateTimeout = time.Second

// running is a server whose ports are open.
type running struct {
	*Server
	signals   <-chan os.Signal
	listeners []net.Listener
	failed    chan error // of ports and tasks that ended by themselves
	endTasks  context.CancelFunc
	tasks     sync.WaitGroup
}

// Run opens the ports, serves until ctx ends or a signal says so, and ends in
// order. SIGHUP reloads, any other signal ends; a second one cuts the end short.
func (s *Server) Run(ctx context.Context, signals <-chan os.Signal) error {
	listeners, err := listen(s.Ports)
	if err != nil {
		return errors.Join(err, s.close())
	}
	r := &running{Server: s, signals: signals, listeners: listeners, failed: make(chan error, len(s.Ports)+len(s.Tasks))}
	r.start()
	err = r.wait(ctx)
	s.Health.Drain()
	if err == nil {
		err = r.end()
	} else {
		cut, cancel := context.WithTimeout(context.Background(), lateTimeout)
		err = errors.Join(err, r.stop(cut))
		cancel()
	}
	s.Health.Stop()
	return err
}

func (r *running) start() {
	for i, p := range r.Ports {
		l := r.listeners[i]
		r.Log.Info("listening", "for", p.Name, "addr", l.Addr().String())
		go func() {
			if err := p.Serve(&listening{Listener: l, port: &r.Ports[i], log: r.Log}); err != nil {
				r.failed <- fmt.Errorf("serve %s: %w", p.Name, err)
			}
		}()
	}
	ctx, cancel := context.WithCancel(context.Background())
	r.endTasks = cancel
	for _, t := range r.Tasks {
		r.tasks.Go(func() {
			if err := t.Run(ctx); err != nil && ctx.Err() == nil {
				r.failed <- fmt.Errorf("%s: %w", t.Name, err)
			}
		})
	}
}

// wait serves until there is a reason to end; an error is a fault.
func (r *running) wait(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-r.failed:
			return err
		case sig := <-r.signals:
			if sig != syscall.SIGHUP {
				r.Log.Info("draining", "signal", sig.String(), "delay", r.DrainDelay)
				return nil
			}
			r.Log.Info("reloading rules", "signal", sig.String())
			r.Reload()
		}
	}
}

// sameStop is how long after a signal to end another is taken for the same wish:
// who signals a process and then its group signals twice.
const sameStop = 500 * time.Millisecond

// end drains and stops. A second signal cuts both short.
func (r *running) end() error {
	ctx, cut := context.WithTimeout(context.Background(), r.ShutdownTimeout)
	defer cut()
	done := make(chan error, 1)
	go func() {
		select {
		case <-time.After(r.DrainDelay):
		case <-ctx.Done():
		}
		done <- r.stop(ctx)
	}()
	begin := time.Now()
	var second error
	for {
		select {
		case err := <-done:
			return errors.Join(second, err)
		case sig := <-r.signals:
			if sig != syscall.SIGHUP && time.Since(begin) >= sameStop {
				second = ErrSecondSignal
				cut()
			}
		}
	}
}

// stop ends what serves calls, then what calls need, then what shows the end.
// When ctx ends, calls are cut.
func (r *running) stop(ctx context.Context) error {
	err := r.stopPorts(ctx, false)
	r.endTasks()
	late, cancel := context.WithTimeout(context.Background(), lateTimeout)
	defer cancel()
	return errors.Join(err, r.waitTasks(late), r.stopPorts(late, true), r.close())
}

func (s *Server) close() error {
	var err error
	for _, c := range s.Closers {
		err = errors.Join(err, c())
	}
	return err
}

// stopPorts stops the late ports or the others, side by side.
func (r *running) stopPorts(ctx context.Context, late bool) error {
	errs := make([]error, len(r.Ports))
	var all sync.WaitGroup
	for i, p := range r.Ports {
		if p.Late == late {
			all.Go(func() {
				if err := p.Stop(ctx); err != nil {
					errs[i] = fmt.Errorf("stop %s: %w", p.Name, err)
				}
			})
		}
	}
	all.Wait()
	return errors.Join(errs...)
}

func (r *running) waitTasks(ctx context.Context) error {
	ended := make(chan struct{})
	go func() {
		r.tasks.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return errors.New("a background task did not end")
	}
}
