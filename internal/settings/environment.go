package settings

import (
	"regexp"
	"slices"
	"strings"
)

// environment holds the variables of a process, less those that Kubernetes
// injects for its services.
type environment map[string]string

// Kubernetes gives a pod, for a service named grpc, GRPC_SERVICE_HOST,
// GRPC_SERVICE_PORT…, GRPC_PORT=tcp://… and GRPC_PORT_8081_TCP…: names of ours
// among them.
var (
	injectedName  = regexp.MustCompile(`_SERVICE_HOST$|_SERVICE_PORT(_|$)|_PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$`)
	injectedValue = regexp.MustCompile(`^(tcp|udp|sctp)://`)
)

func injected(name, value string) bool {
	return injectedName.MatchString(name) ||
		strings.Contains(name, "_PORT") && injectedValue.MatchString(value)
}

func readEnvironment(environ []string) environment {
	env := environment{}
	for _, pair := range environ {
		name, value, ok := strings.Cut(pair, "=")
		if ok && !injected(name, value) {
			env[name] = value
		}
	}
	return env
}

// guarded are the beginnings of names that nobody else uses: an unknown one is
// a slip. foreign are exceptions: names of the gRPC
// libraries.
var (
	guarded = []string{"REDIS_", "GRPC_", "RUNTIME_", "CONFIG_", "LIMIT_"}
	foreign = []string{"GRPC_GO_", "GRPC_XDS_", "GRPC_EXPERIMENTAL_", "GRPC_ENFORCE_", "GRPC_DEFAULT_", "GRPC_TRACE", "GRPC_VERBOSITY"}
)

// meant are names that people write for one of ours and that do not look alike.
var meant = map[string]string{
	"REDIS_ADDR":     "REDIS_URL",
	"REDIS_ADDRESS":  "REDIS_URL",
	"REDIS_DB":       "REDIS_URL",
	"REDIS_HOST":     "REDIS_URL",
	"REDIS_PASSWORD": "REDIS_AUTH",
	"REDIS_USER":     "REDIS_AUTH",
	"REDIS_USERNAME": "REDIS_AUTH",
}

// unknown warns of variables that look like settings and are none.
func (env environment) unknown(table []Row) []string {
	var known, warnings []string
	for i := range table {
		known = append(append(known, table[i].Name), table[i].Aliases...)
	}
	for name := range env {
		if strings.HasPrefix(name, "DOG_STATSD_MOGRIFIER_") { // and a name of the user's
			warnings = append(warnings, name+" does nothing here: "+whyStatsd)
		}
		if !hasPrefix(name, guarded) || hasPrefix(name, foreign) || slices.Contains(known, name) {
			continue
		}
		near, ok := meant[name]
		if !ok {
			near = Nearest(name, known)
		}
		hint := ""
		if near != "" {
			hint = ": did you mean " + near + "?"
		}
		warnings = append(warnings, name+" is not a setting"+hint)
	}
	slices.Sort(warnings)
	return warnings
}

func hasPrefix(name string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

// Nearest is the known name with the fewest differing letters; "" if more than one
// and a quarter of its own differ.
func Nearest(name string, known []string) string {
	best, bestDistance := "", -1
	for _, k := range known {
		if d := distance(name, k); d <= 1+len(k)/4 && (bestDistance < 0 || d < bestDistance) {
			best, bestDistance = k, d
		}
	}
	return best
}

// distance is the number of letters to put in, take out or change, of a to b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(row[j]+1, row[j+1]+1, change)
		}
	}
	return row[len(b)]
}
