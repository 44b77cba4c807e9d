package settings

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"
)

// kind reads one sort of value into a field.
type kind struct {
	want string // what is expected, in words
	word string // the same as a placeholder in help; "" for a switch
	set  func(text string) error
}

// errUnread says that a text is not of the kind; the kind says what is.
var errUnread = errors.New("unreadable")

func text(to *string) kind {
	return kind{"a text", "TEXT", func(s string) error { *to = s; return nil }}
}

func path(to *string) kind {
	k := text(to)
	k.want, k.word = "a path", "PATH"
	return k
}

func boolean(to *bool) kind {
	return kind{"true or false", "", func(s string) (err error) {
		*to, err = strconv.ParseBool(s)
		return err
	}}
}

func onOff(to *bool) kind {
	return kind{"on or off", "", func(s string) (err error) {
		switch s {
		case "on":
			*to = true
		case "off":
			*to = false
		default:
			*to, err = strconv.ParseBool(s)
		}
		return err
	}}
}

func integer(to *int, from, upTo int) kind {
	return kind{fmt.Sprintf("a whole number from %d to %d", from, upTo), "N", func(s string) error {
		n, err := strconv.Atoi(s)
		if err != nil || n < from || n > upTo {
			return errUnread
		}
		*to = n
		return nil
	}}
}

// duration reads a time of at least from.
func duration(to *time.Duration, from time.Duration) kind {
	want := "a duration such as 100ms, 10s or 30m"
	if from > 0 {
		want += fmt.Sprintf(", at least %v", from)
	}
	return kind{want, "DURATION", func(s string) error {
		d, err := time.ParseDuration(s)
		if err != nil || d < from {
			return errUnread
		}
		*to = d
		return nil
	}}
}

func ratio(to *float64) kind {
	return kind{"a number above 0, at most 1", "RATIO", func(s string) error {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil || !(f > 0 && f <= 1) {
			return errUnread
		}
		*to = f
		return nil
	}}
}

// share is a ratio that may also be 0.
func share(to *float64) kind {
	return kind{"a number from 0 to 1", "RATIO", func(s string) error {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil || !(f >= 0 && f <= 1) {
			return errUnread
		}
		*to = f
		return nil
	}}
}

// pairs reads names and values, with a sign between the two and commas between
// the pairs.
func pairs(to *map[string]string, sign string) kind {
	form := "k" + sign + "v,k2" + sign + "v2"
	return kind{"pairs such as " + form, form, func(s string) error {
		all := map[string]string{}
		for item := range strings.SplitSeq(s, ",") {
			name, value, ok := strings.Cut(strings.TrimSpace(item), sign)
			if !ok || name == "" {
				return errUnread
			}
			all[name] = value
		}
		*to = all
		return nil
	}}
}

// headers are pairs that may go out as headers.
func headers(to *map[string]string) kind {
	k := pairs(to, ":")
	read := k.set
	k.set = func(s string) error {
		if err := read(s); err != nil {
			return err
		}
		var name string
		for header, value := range *to {
			if err := headerName(&name).set(header); err != nil || strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }) {
				return errUnread
			}
		}
		return nil
	}
	return k
}

// oneOf reads one of a few names, in any case.
func oneOf[T ~string](to *T, names ...T) kind {
	words := make([]string, len(names))
	for i, n := range names {
		words[i] = string(n)
	}
	return kind{"one of " + strings.Join(words, ", "), strings.Join(words, "|"), func(s string) error {
		for _, n := range names {
			if strings.EqualFold(s, string(n)) {
				*to = n
				return nil
			}
		}
		return errUnread
	}}
}

// named reads a value that a package knows by name.
func named[T fmt.Stringer](to *T, parse func(string) (T, bool), all []T) kind {
	words := make([]string, len(all))
	for i, v := range all {
		words[i] = v.String()
	}
	return kind{"one of " + strings.Join(words, ", "), "NAME", func(s string) error {
		v, ok := parse(strings.ToLower(s))
		if !ok {
			return errUnread
		}
		*to = v
		return nil
	}}
}

// list reads values with commas between them; names, if any, are all there are.
func list(to *[]string, names ...string) kind {
	k := kind{want: "values with commas between them", word: "A,B,…"}
	if len(names) > 0 {
		k.want = "any of " + strings.Join(names, ", ") + ", with commas between them"
	}
	k.set = func(s string) error {
		var all []string
		for item := range strings.SplitSeq(s, ",") {
			item = strings.TrimSpace(item)
			if item == "" || len(names) > 0 && !slices.Contains(names, item) {
				return errUnread
			}
			if !slices.Contains(all, item) {
				all = append(all, item)
			}
		}
		*to = all
		return nil
	}
	return k
}

func headerName(to *string) kind {
	return kind{"the name of an HTTP header", "NAME", func(s string) error {
		for i := range len(s) {
			if s[i] <= ' ' || s[i] >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, s[i]) >= 0 {
				return errUnread
			}
		}
		*to = s
		return nil
	}}
}

// logLevels are envoyproxy/ratelimit's, as far as slog has them.
var logLevels = []struct {
	name  string
	level slog.Level
}{
	{"debug", slog.LevelDebug},
	{"info", slog.LevelInfo},
	{"warn", slog.LevelWarn},
	{"error", slog.LevelError},
	{"trace", slog.LevelDebug},
	{"warning", slog.LevelWarn},
	{"fatal", slog.LevelError},
	{"panic", slog.LevelError},
}

func logLevel(to *slog.Level) kind {
	return kind{"one of debug, info, warn, error", "debug|info|warn|error", func(s string) error {
		for _, l := range logLevels {
			if strings.EqualFold(s, l.name) {
				*to = l.level
				return nil
			}
		}
		return errUnread
	}}
}
