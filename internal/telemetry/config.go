package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

type configMetrics struct {
	lastSuccessful prometheus.Gauge
	lastSuccess    prometheus.Gauge
	reloads        *prometheus.CounterVec
	info           *prometheus.GaugeVec
	rules          *prometheus.GaugeVec
	rejected       *prometheus.GaugeVec
}

func newConfigMetrics(m *Metrics) configMetrics {
	c := configMetrics{
		lastSuccessful: m.gauge("config_last_reload_successful",
			"1 if the newest rules are in force, 0 as long as any domain is rejected or any file held."),
		lastSuccess: m.gauge("config_last_reload_success_timestamp_seconds",
			"When rules were last loaded without an error."),
		reloads: m.counters("config_reloads_total",
			"Loads of changed rules: success, partial (some domains rejected) or failure.", "result"),
		info: m.gauges("config_info",
			"1, with the hash of the rules in force.", "hash"),
		rules: m.gauges("config_rules",
			"Limits in force.", "domain"),
		rejected: m.gauges("config_rejected",
			"1 for a domain whose newest rules are in error.", "domain"),
	}
	for _, result := range []ReloadResult{ReloadSuccess, ReloadPartial, ReloadFailure} {
		c.reloads.WithLabelValues(string(result))
	}
	return c
}

// ReloadResult says how loading rules went.
type ReloadResult string

const (
	ReloadSuccess ReloadResult = "success"
	ReloadPartial ReloadResult = "partial" // some domains were rejected
	ReloadFailure ReloadResult = "failure" // nothing new is in force
)

// Reload is the outcome of loading rules.
type Reload struct {
	At       time.Time
	Result   ReloadResult
	Hash     string         // of the rules in force
	Rules    map[string]int // limits in force by domain
	Rejected []string       // domains whose newest rules are in error
}

// SetReload records the outcome of loading rules.
func (m *Metrics) SetReload(r Reload) {
	c := &m.config
	c.reloads.WithLabelValues(string(r.Result)).Inc()
	if m.reference != nil {
		m.reference.load(r.Result)
	}
	c.lastSuccessful.Set(number(r.Result == ReloadSuccess))
	if r.Result == ReloadSuccess {
		c.lastSuccess.Set(float64(r.At.UnixMilli()) / 1000)
	}
	c.info.Reset()
	if r.Hash != "" {
		c.info.WithLabelValues(r.Hash).Set(1)
	}
	c.rules.Reset()
	for domain, n := range r.Rules {
		c.rules.WithLabelValues(domain).Set(float64(n))
	}
	c.rejected.Reset()
	for _, domain := range r.Rejected {
		c.rejected.WithLabelValues(domain).Set(1)
	}
}
