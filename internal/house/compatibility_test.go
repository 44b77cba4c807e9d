package house

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"
)

// elsewhere names, for rows of the table of differences that are not about the
// answer to a call, the test that shows what we do.
var elsewhere = map[string]string{
	"A bad rule file":           "TestOneBadDomain",
	"Rules that vanish":         "TestEmptiedFolder",
	"Values that are not UTF-8": "TestInvalidUTF8IsDecided",
	"`/json`":                   "TestH9_JSONStatuses",
	"A store that hangs":        "TestM6StoreFailureIsAnErrorWithItsCause",
	"The start without Redis":   "TestS3_StoreIsDown",
	"The store":                 "TestRatelimitHasNoDefaultStore",
	"Counters":                  "TestLayout1IsRead",
	"SIGTERM":                   "TestDrain",
	"SIGHUP":                    "TestHangupReloads",
	"The debug port":            "TestS10_DebugListensOnLoopback",
	"`/rlconfig`":               "TestDebugPages",
	"Refused xDS answers":       "TestRefusalPauses",
	"A raised limit":            "TestChangedAmountIsAsked",
	"gRPC health":               "TestHealth",
	"Metrics":                   "TestReferenceMetrics",
	"Defaults of settings":      "TestSettingsReference",
}

// TestDifferences: the rows of docs/reference/compatibility.md are the differences
// that tests show, no more and no less.
func TestDifferences(t *testing.T) {
	t.Parallel()
	var behaviours []struct {
		Differs string
		Calls   []struct{ Differs string }
	}
	if err := yaml.Unmarshal([]byte(read(t, filepath.Join(root(t), "pkg/rls/testdata/reference/behaviours.yaml"))), &behaviours); err != nil {
		t.Fatal(err)
	}
	var shown []string
	for _, b := range behaviours {
		shown = append(shown, b.Differs)
		for _, c := range b.Calls {
			shown = append(shown, c.Differs)
		}
	}
	var tests strings.Builder
	for _, file := range files(t, "_test.go") {
		tests.WriteString(read(t, filepath.Join(root(t), file)))
	}
	for row, test := range elsewhere {
		shown = append(shown, row)
		if !strings.Contains(tests.String(), "\nfunc "+test+"(") {
			t.Errorf("the row %q is shown by %s, which there is not", row, test)
		}
	}
	slices.Sort(shown)
	shown = slices.DeleteFunc(slices.Compact(shown), func(s string) bool { return s == "" })

	var rows []string
	row := regexp.MustCompile(`(?m)^\| ([^|]+) \|`)
	for _, m := range row.FindAllStringSubmatch(read(t, filepath.Join(root(t), "docs/reference/compatibility.md")), -1) {
		if m[1] != "what" {
			rows = append(rows, m[1])
		}
	}
	slices.Sort(rows)
	if diff := cmp.Diff(shown, rows); diff != "" {
		t.Errorf("docs/reference/compatibility.md (-shown by tests +rows):\n%s", diff)
	}
}
