package settings

import "strings"

// Row is one setting.
type Row struct {
	Group   string   // heading in help
	Name    string   // in the environment
	Aliases []string // further names in the environment, which Name beats
	Default string   // "" = unset
	// RatelimitDefault is the default under PROFILE=ratelimit, where it differs.
	RatelimitDefault string
	Help             string
	Secret           bool // the value is shown to nobody
	URL              bool // the value may hold a password

	// Inert says why the setting does nothing here; Quiet is the value that
	// asks for what happens anyway and is not worth a warning.
	Inert, Quiet string

	repeat bool // the flag may be given several times
	kind   kind
}

// Flag is the name of the setting's flag, without dashes: the name in the
// environment in lower case, with dashes.
func (r *Row) Flag() string { return flagName(r.Name) }

func flagName(env string) string { return strings.ToLower(strings.ReplaceAll(env, "_", "-")) }

// Want says in words what values the setting takes.
func (r *Row) Want() string { return r.kind.want }

// isSwitch tells whether the flag may stand without a value.
func (r *Row) isSwitch() bool { return r.kind.word == "" }

// show is a value of the setting as it may be logged.
func (r *Row) show(value string) string {
	switch {
	case value == "":
		return value
	case r.Secret:
		return hidden
	case r.URL:
		return maskURL(value)
	}
	return value
}

// Rows lists all settings, in the order of help and documentation.
func Rows() []Row { return rows(new(Settings)) }

// rows is the table, with every row's value bound to a field of s.
func rows(s *Settings) []Row {
	var all []Row
	for _, g := range []struct {
		name string
		rows []Row
	}{
		{"Listeners", listenerRows(s)},
		{"Rules", rulesRows(s)},
		{"Rules over xDS", xdsRows(s)},
		{"Store", storeRows(s)},
		{"Redis, as envoyproxy/ratelimit names it", redisRows(s)},
		{"Answers", answerRows(s)},
		{"Logs, life, tracing", lifeRows(s)},
		{"Accepted, without effect", inertRows()},
	} {
		for _, r := range g.rows {
			r.Group = g.name
			all = append(all, r)
		}
	}
	return all
}
