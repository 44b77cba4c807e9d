package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/envoy-rls/envoy-rls/internal/settings"
	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
	"github.com/envoy-rls/envoy-rls/pkg/rls"
)

// parseCall reads a call from words: a domain, then descriptors of the form
// key=value,key=value. They end with their word or at a semicolon.
func parseCall(words []string) (*rls.Request, error) {
	req := &rls.Request{Domain: words[0]}
	for _, word := range words[1:] {
		parts, err := splitWord(word, ';')
		if err != nil {
			return nil, err
		}
		for _, part := range parts {
			if strings.TrimSpace(part) == "" {
				continue
			}
			entries, err := parseEntries(part)
			if err != nil {
				return nil, err
			}
			req.AddDescriptor().Entries = entries
		}
	}
	if len(req.Descriptors) == 0 {
		return nil, &settings.UsageError{Text: "there is no descriptor after the domain"}
	}
	return req, nil
}

func parseEntries(text string) ([]descriptors.Entry, error) {
	parts, err := splitWord(text, ',')
	if err != nil {
		return nil, err
	}
	var entries []descriptors.Entry
	for _, part := range parts {
		key, value, found := strings.Cut(strings.TrimLeft(part, " "), "=")
		if !found || key == "" {
			return nil, &settings.UsageError{
				Text: fmt.Sprintf("%q is no entry", part),
				Hint: `an entry is key=value; a comma in a value is written \,`,
			}
		}
		value, err := unescape(value)
		if err != nil {
			return nil, err
		}
		entries = append(entries, descriptors.Entry{Key: key, Value: value})
	}
	return entries, nil
}

// splitWord splits at a sign that no \ stands before. The \ stay.
func splitWord(text string, sign byte) ([]string, error) {
	var parts []string
	from := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			if i++; i == len(text) {
				return nil, &settings.UsageError{Text: fmt.Sprintf("%q ends with a \\", text), Hint: `a \ itself is written \\`}
			}
		case sign:
			parts = append(parts, text[from:i])
			from = i + 1
		}
	}
	return append(parts, text[from:]), nil
}

func unescape(text string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			b.WriteByte(text[i])
			continue
		}
		i++
		if text[i] != 'x' {
			b.WriteByte(text[i])
			continue
		}
		if len(text) < i+3 {
			return "", &settings.UsageError{Text: fmt.Sprintf(`%q: \x wants two hexadecimal digits`, text)}
		}
		n, err := strconv.ParseUint(text[i+1:i+3], 16, 8)
		if err != nil {
			return "", &settings.UsageError{Text: fmt.Sprintf(`%q: \x wants two hexadecimal digits`, text)}
		}
		b.WriteByte(byte(n))
		i += 2
	}
	return b.String(), nil
}
