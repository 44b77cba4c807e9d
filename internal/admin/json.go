package admin

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/envoy-rls/envoy-rls/pkg/rls"
	"github.com/envoy-rls/envoy-rls/pkg/rls/service"
)

const (
	maxBodyBytes = 1 << 20
	// decideTimeout is the deadline of a call that brings none of its own.
	decideTimeout = 5 * time.Second
	// retryUnavailable is when to come back after a failure of the store.
	retryUnavailable = "1"
)

// JSONHandler decides calls that come as a RateLimitRequest in JSON: 200 if the
// call is allowed, 429 if it is over a limit, both with a RateLimitResponse;
// 400 for what is no such request, 405 for methods other than POST, 413 for a
// body over 1 MiB, 503 when no decision can be made. 429 and 503 carry
// Retry-After.
func JSONHandler(d service.Decider, log *slog.Logger) http.Handler {
	return &jsonHandler{d, log}
}

type jsonHandler struct {
	decider service.Decider
	log     *slog.Logger
}

func (h *jsonHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer h.recover(w)
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "send a RateLimitRequest as JSON by POST", http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBodyBytes))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		http.Error(w, "the body is larger than 1 MiB", http.StatusRequestEntityTooLarge)
		return
	}
	if err != nil {
		http.Error(w, "the body could not be read", http.StatusBadRequest)
		return
	}
	var req rls.Request
	if err := service.DecodeJSON(body, &req); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), decideTimeout)
	defer cancel()
	var ans rls.Answer
	if err := h.decider.Decide(ctx, &req, &ans); err != nil {
		h.refuse(w, err)
		return
	}
	h.answer(w, &ans)
}

func (h *jsonHandler) answer(w http.ResponseWriter, ans *rls.Answer) {
	text, err := service.AppendJSON(nil, ans)
	if err != nil {
		h.log.Error("an answer could not be written as JSON", "error", err)
		http.Error(w, "internal error: the server's log tells more", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	status := http.StatusOK
	if ans.Code == rls.OverLimit {
		w.Header().Set("Retry-After", retryAfter(ans))
		status = http.StatusTooManyRequests
	}
	w.WriteHeader(status)
	w.Write(append(text, '\n'))
}

// refuse answers a call that was not decided. Only texts meant for callers are
// shown.
func (h *jsonHandler) refuse(w http.ResponseWriter, err error) {
	var failed *rls.Error
	switch {
	case errors.As(err, &failed) && failed.Kind == rls.Invalid:
		http.Error(w, failed.Text, http.StatusBadRequest)
	case errors.As(err, &failed):
		w.Header().Set("Retry-After", retryUnavailable)
		http.Error(w, failed.Text, http.StatusServiceUnavailable)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		w.Header().Set("Retry-After", retryUnavailable)
		http.Error(w, "the call was not decided in time", http.StatusServiceUnavailable)
	default:
		h.log.Error("a call failed", "error", err)
		http.Error(w, "internal error: the server's log tells more", http.StatusInternalServerError)
	}
}

func (h *jsonHandler) recover(w http.ResponseWriter) {
	if cause := recover(); cause != nil {
		h.log.Error("a call panicked; it was answered with an internal error",
			"path", "/json", "panic", cause, "stack", string(debug.Stack()))
		http.Error(w, "internal error: the server's log tells more", http.StatusInternalServerError)
	}
}

// retryAfter is the header's value for a denial: what the answer's own header
// says, else the longest reset of what denied; whole seconds, at least 1.
func retryAfter(ans *rls.Answer) string {
	for _, h := range ans.ResponseHeaders {
		if strings.EqualFold(h.Name, "Retry-After") {
			return h.Value
		}
	}
	seconds := int64(1)
	for i := range ans.Statuses {
		if s := &ans.Statuses[i]; s.Code == rls.OverLimit {
			seconds = max(seconds, s.ResetSeconds)
		}
	}
	return strconv.FormatInt(seconds, 10)
}
