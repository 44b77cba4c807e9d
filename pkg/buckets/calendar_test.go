package buckets_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
)

// zones includes those whose clocks are set forward at midnight, so that some
// days have none, and some that set them back to it, so that it comes twice.
var zones = []string{
	"UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Asia/Kathmandu", "Australia/Lord_Howe",
	"Africa/Cairo", "America/Santiago", "Asia/Beirut", "America/Havana", "America/Sao_Paulo", "America/Asuncion",
	"Pacific/Apia", "Pacific/Kiritimati", "Asia/Amman", "Asia/Gaza", "Atlantic/Azores",
}

// TestCalendarWindows walks each zone hour by hour through years with odd days:
// every moment lies in the middle window, windows touch, and each is as long as
// such a period can be. Apia skipped a whole day in 2011.
func TestCalendarWindows(t *testing.T) {
	t.Parallel()
	const hour = int64(time.Hour / time.Microsecond)
	longest := map[buckets.Period][2]int64{ // hours
		buckets.Day: {22, 26}, buckets.Week: {6 * 24, 8 * 24}, buckets.Month: {27 * 24, 32 * 24}, buckets.Year: {364 * 24, 367 * 24},
	}
	for _, zone := range zones {
		for period, hours := range longest {
			t.Run(fmt.Sprintf("%s/%d", zone, period), func(t *testing.T) {
				t.Parallel()
				calendar, err := buckets.NewCalendar(period, zone)
				if err != nil {
					t.Fatal(err)
				}
				from := time.Date(2010, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()
				to := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()
				var last buckets.Bounds
				for now := from; now < to; now += hour / 2 {
					b := *calendar.Bounds(now)
					if now < b[1] || now >= b[2] {
						t.Fatalf("%v is not in the window %v to %v", at(now), at(b[1]), at(b[2]))
					}
					if b == last {
						continue
					}
					for i := range 3 {
						if length := b[i+1] - b[i]; length < hours[0]*hour || length > hours[1]*hour {
							t.Fatalf("around %v: window %v to %v", at(now), at(b[i]), at(b[i+1]))
						}
					}
					if last != (buckets.Bounds{}) && b[0] != last[1] {
						t.Fatalf("window %v to %v is followed by one from %v", at(last[1]), at(last[2]), at(b[1]))
					}
					last = b
				}
			})
		}
	}
}

func at(micros int64) string { return time.UnixMicro(micros).UTC().Format("2006-01-02T15:04:05") }

func TestCalendarNames(t *testing.T) {
	t.Parallel()
	for _, zone := range []string{"Local", "Nowhere/Town", "../etc/passwd", "europe/berlin ", "UTC\x00"} {
		if _, err := buckets.NewCalendar(buckets.Day, zone); err == nil {
			t.Errorf("%q is a zone", zone)
		}
	}
	if _, err := buckets.NewCalendar(0, "UTC"); err == nil {
		t.Error("no period is a period")
	}
	if _, ok := buckets.ParsePeriod(""); ok {
		t.Error(`"" is a period`)
	}
	calendar, err := buckets.NewCalendar(buckets.Day, "")
	if err != nil || calendar.With("hour") != nil || calendar.With("week") == nil {
		t.Errorf("With: %v", err)
	}
}
