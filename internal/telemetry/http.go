package telemetry

import (
	"log/slog"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Handler serves the metrics to a scraper. envoyproxy/ratelimit's counters do not
// end in _total, and OpenMetrics would add that: with them the format is not
// offered.
func (m *Metrics) Handler(log *slog.Logger) http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorLog:          scrapeLog{log},
		ErrorHandling:     promhttp.ContinueOnError,
		EnableOpenMetrics: m.reference == nil,
	})
}

// Gatherer gives the metrics to a test or another exporter.
func (m *Metrics) Gatherer() prometheus.Gatherer { return m.registry }

type scrapeLog struct{ log *slog.Logger }

func (l scrapeLog) Println(v ...any) { l.log.Error("metrics could not be served", "error", v) }
