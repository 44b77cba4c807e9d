package settings

import (
	"io/fs"
	"net"
	"strconv"
	"strings"
)

func port(to *int) kind {
	k := integer(to, 0, 65535)
	k.want, k.word = "a port from 0 to 65535", "PORT"
	return k
}

func host(to *string) kind {
	return kind{"an address or a host name, without a port", "HOST", func(s string) error {
		s = strings.TrimSuffix(strings.TrimPrefix(s, "["), "]")
		if strings.ContainsAny(s, "/ []") || strings.Contains(s, ":") && net.ParseIP(strings.SplitN(s, "%", 2)[0]) == nil {
			return errUnread
		}
		*to = s
		return nil
	}}
}

func hostPort(to *string) kind {
	return kind{"host:port, or :port for all addresses", "ADDR", func(s string) error {
		_, port, err := net.SplitHostPort(s)
		if err != nil {
			return err
		}
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return err
		}
		*to = s
		return nil
	}}
}

func urlPath(to *string) kind {
	return kind{"a path that begins with /", "PATH", func(s string) error {
		if !strings.HasPrefix(s, "/") || strings.ContainsAny(s, " {}?#") {
			return errUnread
		}
		*to = s
		return nil
	}}
}

// fileMode is the rights of a file, as chmod takes them.
func fileMode(to *fs.FileMode) kind {
	return kind{"rights in octal, such as 0660", "MODE", func(s string) error {
		n, err := strconv.ParseUint(s, 8, 32)
		if err != nil || n == 0 || n > 0o777 {
			return errUnread
		}
		*to = fs.FileMode(n)
		return nil
	}}
}
