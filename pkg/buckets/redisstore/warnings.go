package redisstore

import (
	"log/slog"
	"sync"
	"time"
)

// sayAgain is how long a warning of one kind stays silent once it was logged.
const sayAgain = 10 * time.Second

// warnings keeps a fault that goes on from flooding the log. The zero value is
// ready; it is safe for concurrent use.
type warnings struct {
	mu   sync.Mutex
	last map[string]time.Time
}

// say logs a warning unless it did of late.
func (w *warnings) say(log *slog.Logger, text string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if now := time.Now(); now.Sub(w.last[text]) >= sayAgain {
		if w.last == nil {
			w.last = map[string]time.Time{}
		}
		w.last[text] = now
		log.Warn(text, "error", err.Error())
	}
}
