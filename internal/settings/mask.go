package settings

import "strings"

// hidden stands for a secret.
const hidden = "***"

// maskURL hides what may be a password in a URL, also in one that is not well
// formed: all between the scheme and the last @, and all after a ?.
func maskURL(text string) string {
	from, at := 0, strings.LastIndexByte(text, '@')
	if i := strings.Index(text, "://"); i >= 0 {
		from = i + len("://")
	}
	if at >= from {
		text = text[:from] + hidden + text[at:]
		from += len(hidden)
	}
	if i := strings.IndexByte(text[from:], '?'); i >= 0 {
		text = text[:from+i+1] + hidden
	}
	return text
}
