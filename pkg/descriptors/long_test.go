package descriptors

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// TestLongTextByAlias repeats one long text by aliases: what is made of it must
// not be as large as the text times its uses, a gigabyte here.
func TestLongTextByAlias(t *testing.T) { // not parallel: it measures
	for name, rule := range map[string]string{
		"key":   "- {key: *a, value: v%d}\n",
		"value": "- {key: k%d, value: *a}\n",
		"name":  "- {key: k%d, rate_limit: {name: *a, unit: day, requests_per_unit: 1}}\n",
		"list":  "- {key: k%d, values: [*a, b]}\n",
		"below": "- {key: k%d, descriptors: [{key: *a, descriptors: [{key: *a}]}]}\n",
	} {
		var b strings.Builder
		b.WriteString("domain: d\nx-a: &a \"" + strings.Repeat("k", 60_000) + "\"\ndescriptors:\n")
		for i := range 2_000 {
			fmt.Fprintf(&b, rule, i)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		Compile(yamlFiles(b.String()), nil, Options{})
		runtime.ReadMemStats(&after)
		if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > 50 {
			t.Errorf("%s: %d MB", name, used)
		}
	}
}
