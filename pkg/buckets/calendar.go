package buckets

import (
	"fmt"
	"sync/atomic"
	"time"
)

// Period is a stretch of the calendar.
type Period uint8

const (
	Day  Period = iota + 1
	Week        // from Monday
	Month
	Year
)

var periodNames = [...]string{"", "day", "week", "month", "year"}

// ParsePeriod finds a period by its name.
func ParsePeriod(name string) (Period, bool) {
	for i, n := range periodNames {
		if i > 0 && n == name {
			return Period(i), true
		}
	}
	return 0, false
}

// Calendar cuts time into the days, weeks, months or years of a time zone.
// It is safe for concurrent use.
type Calendar struct {
	period Period
	zone   *time.Location
	name   string
	last   atomic.Pointer[Bounds]
}

// NewCalendar makes the calendar of a zone of the IANA time zone database; ""
// is UTC.
func NewCalendar(period Period, zone string) (*Calendar, error) {
	if period == 0 || int(period) >= len(periodNames) {
		return nil, fmt.Errorf("unknown period %d", period)
	}
	if zone == "" {
		zone = "UTC"
	}
	loc, err := time.LoadLocation(zone)
	if err != nil || zone == "Local" {
		return nil, fmt.Errorf("unknown time zone %q: write a name like Europe/Berlin or UTC", zone)
	}
	return &Calendar{period: period, zone: loc, name: zone}, nil
}

// With is the calendar of the same zone for another period, by its name; nil if
// there is no such period.
func (c *Calendar) With(period string) *Calendar {
	p, ok := ParsePeriod(period)
	if !ok {
		return nil
	}
	return &Calendar{period: p, zone: c.zone, name: c.name}
}

// Bounds are the edges of three windows in a row, in µs: the one before, the
// one that holds the moment they were made for, and the one after. A store
// whose clock differs picks the one that holds its own time.
type Bounds [4]int64

// Bounds returns the three windows around nowMicros.
func (c *Calendar) Bounds(nowMicros int64) *Bounds {
	if b := c.last.Load(); b != nil && b[1] <= nowMicros && nowMicros < b[2] {
		return b
	}
	start := c.start(time.UnixMicro(nowMicros).In(c.zone))
	end := c.next(start)
	b := &Bounds{
		c.start(start.Add(-time.Microsecond)).UnixMicro(),
		start.UnixMicro(),
		end.UnixMicro(),
		c.next(end).UnixMicro(),
	}
	c.last.Store(b)
	return b
}

// start is when the window that holds t began.
func (c *Calendar) start(t time.Time) time.Time {
	year, month, day := t.Date()
	switch c.period {
	case Week:
		day -= sinceMonday(t)
	case Month:
		day = 1
	case Year:
		month, day = time.January, 1
	}
	return c.midnight(year, month, day)
}

// next is when the window that began at start ends.
func (c *Calendar) next(start time.Time) time.Time {
	year, month, day := start.Date()
	switch c.period {
	case Day:
		day++
	case Week:
		day += 7 - sinceMonday(start)
	case Month:
		month++
	case Year:
		year++
	}
	return c.midnight(year, month, day)
}

func sinceMonday(t time.Time) int { return (int(t.Weekday()) + 6) % 7 }

// midnight is the first moment of a day. Some zones set their clocks forward at
// midnight, so that the day begins at 01:00; some set them back to it, so that
// it comes twice; Samoa once left a whole day out.
func (c *Calendar) midnight(year int, month time.Month, day int) time.Time {
	t := time.Date(year, month, day, 0, 0, 0, 0, c.zone)
	wanted := time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	_, offset := t.Zone()
	from, to := t.ZoneBounds()
	switch shown := t.UTC().Add(time.Duration(offset) * time.Second); {
	case shown.Before(wanted):
		return to
	case shown.After(wanted):
		return from
	case from.IsZero():
		return t
	}
	_, before := from.Add(-1).Zone()
	if first := t.Add(time.Duration(offset-before) * time.Second); first.Before(from) {
		return first
	}
	return t
}

func (c *Calendar) appendIdentity(dst []byte) []byte {
	dst = append(dst, periodNames[c.period]...)
	dst = append(dst, ":calendar="...)
	return append(dst, c.name...)
}

// around picks the window that holds now, else the nearest.
func (b *Bounds) around(now int64) (start, end int64) {
	switch {
	case now < b[1]:
		return b[0], b[1]
	case now < b[2]:
		return b[1], b[2]
	}
	return b[2], b[3]
}
