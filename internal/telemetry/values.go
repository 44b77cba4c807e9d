package telemetry

import (
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	// MaxValues is how many values the label value takes, of all rules
	// together. Further ones of a rule are counted together as [OtherValue].
	MaxValues = 2000
	// OtherValue stands for values beyond MaxValues, and for very long ones.
	OtherValue = "__other__"

	maxValueBytes = 128
)

// valueSeries are the handles of a limit for single values of calls.
type valueSeries struct {
	mu    sync.RWMutex
	known map[string]verdicts
	other *verdicts // made when first needed
	full  bool      // no further values are taken
}

// verdicts are the counters of one value.
type verdicts struct{ ok, over prometheus.Counter }

func (v verdicts) count(over bool) {
	if over {
		v.over.Inc()
	} else {
		v.ok.Inc()
	}
}

func (s *valueSeries) count() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.known)
}

// find gives what is known without making anything.
func (s *valueSeries) find(value string) (v verdicts, found bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if v, found = s.known[value]; found {
		return v, true
	}
	if s.other != nil && (s.full || len(value) > maxValueBytes) {
		return *s.other, true
	}
	return v, false
}

// CountValue counts a verdict under a value of the call. A value seen before
// costs a map lookup.
func (l *Limit) CountValue(value string, over bool) {
	v, found := l.values.find(value)
	if !found {
		v, found = l.owner.addValue(l, value)
	}
	if found {
		v.count(over)
	}
}

// addValue makes the handles for a value, or for all that have none of their
// own. A limit that is gone makes no series any more.
func (m *Metrics) addValue(l *Limit, value string) (verdicts, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.limits[l.name] != l {
		return verdicts{}, false
	}
	s := &l.values
	s.mu.Lock()
	defer s.mu.Unlock()
	if v, ok := s.known[value]; ok {
		return v, true
	}
	s.full = s.full || m.values >= MaxValues
	if s.full || len(value) > maxValueBytes {
		if s.other == nil {
			v := m.newVerdicts(l.name, OtherValue)
			s.other = &v
		}
		return *s.other, true
	}
	if s.known == nil {
		s.known = map[string]verdicts{}
	}
	m.values++
	v := m.newVerdicts(l.name, printable(value))
	s.known[strings.Clone(value)] = v
	return v, true
}

func (m *Metrics) newVerdicts(name limitName, value string) verdicts {
	return verdicts{
		ok:   m.byValue.WithLabelValues(name.domain, name.rule, codeOK, value),
		over: m.byValue.WithLabelValues(name.domain, name.rule, codeOver, value),
	}
}

// printable is a value as a label may carry it: bytes that are no UTF-8 become
// \xNN.
func printable(value string) string {
	if utf8.ValidString(value) {
		return value
	}
	var b strings.Builder
	for len(value) > 0 {
		r, size := utf8.DecodeRuneInString(value)
		if r == utf8.RuneError && size == 1 {
			b.WriteString(`\x` + strconv.FormatUint(uint64(value[0])+0x100, 16)[1:])
		} else {
			b.WriteString(value[:size])
		}
		value = value[size:]
	}
	return b.String()
}
