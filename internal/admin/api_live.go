package admin

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/envoy-rls/envoy-rls/internal/live"
)

const (
	leastEvery, mostEvery = 200 * time.Millisecond, 10 * time.Second
	mostSeconds           = 30
	// A watcher that does not read for so long is dropped.
	eventTimeout = 5 * time.Second
)

func (a *API) live(w http.ResponseWriter, r *http.Request) {
	seconds := 2
	if text := r.URL.Query().Get("seconds"); text != "" {
		var err error
		if seconds, err = strconv.Atoi(text); err != nil || seconds < 1 || seconds > mostSeconds {
			writeError(w, http.StatusBadRequest, fmt.Sprintf("seconds=%q: want 1 to %d", text, mostSeconds))
			return
		}
	}
	allowMore(w, time.Duration(seconds)*time.Second)
	s, err := a.Live.Sample(r.Context(), time.Duration(seconds)*time.Second)
	if err != nil {
		writeError(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	writeJSON(w, http.StatusOK, s)
}

// events streams snapshots until the watcher leaves, or does not read for too long.
func (a *API) events(w http.ResponseWriter, r *http.Request) {
	every := time.Second
	if text := r.URL.Query().Get("every"); text != "" {
		var err error
		if every, err = time.ParseDuration(text); err != nil || every < leastEvery || every > mostEvery {
			writeError(w, http.StatusBadRequest, fmt.Sprintf("every=%q: want %v to %v", text, leastEvery, mostEvery))
			return
		}
	}
	begun := false
	err := a.Live.Stream(r.Context(), every, func(s *live.Snapshot) error {
		if !begun {
			w.Header().Set("Content-Type", "text/event-stream")
			w.Header().Set("Cache-Control", "no-store")
			begun = true
		}
		return sendEvent(w, s)
	})
	if errors.Is(err, live.ErrBusy) {
		writeError(w, http.StatusServiceUnavailable, err.Error())
	}
}

func sendEvent(w http.ResponseWriter, s *live.Snapshot) error {
	allowMore(w, 0)
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(w, "data: %s\n\n", data); err != nil {
		return err
	}
	return http.NewResponseController(w).Flush()
}

// allowMore gives an answer that takes its time the time it takes.
func allowMore(w http.ResponseWriter, beyond time.Duration) {
	// Not every writer, such as those of tests, knows deadlines.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(beyond + eventTimeout))
}
