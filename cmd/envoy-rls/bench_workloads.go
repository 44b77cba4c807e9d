package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// compareRules are those of the servers that compare starts. No hour ends the
// buckets of one run, so that all that is denied stays so.
const compareRules = `domain: bench
defaults: {algorithm: %s}
descriptors:
- {key: user, rate_limit: {unit: hour, requests_per_unit: 1000000000}}
- {key: a, rate_limit: {unit: hour, requests_per_unit: 1000000000}}
- {key: b, rate_limit: {unit: hour, requests_per_unit: 1000000000}}
- {key: c, rate_limit: {unit: hour, requests_per_unit: 1000000000}}
- {key: denied, rate_limit: {unit: year, requests_per_unit: 1, denied_hits: free}}
`

const compareAlgorithm = "token_bucket"

// workload is a row of the comparison.
type workload struct {
	name, server string
	domain       string
	descriptors  []string
	keys         int
	rate         float64 // calls a second of an open loop; 0 is a closed one
}

func workloads() []workload {
	return []workload{
		{"one descriptor allowed", "memory", "bench", []string{"user"}, 100_000, 0},
		{"  of 1,000 rules", "memory", manyRules(1000), []string{"user"}, 1000, 0},
		{"  of 100,000 rules", "memory", manyRules(100_000), []string{"user"}, 100_000, 0},
		{"one descriptor allowed", "redis", "bench", []string{"user"}, 100_000, 0},
		{"hot denied", "redis", "bench", []string{"denied"}, 1000, 0},
		{"four descriptors", "redis", "bench", []string{"user", "a", "b", "c"}, 100_000, 0},
		{"one hot key", "redis", "bench", []string{"user"}, 1, 0},
		{"5,000 calls a second", "memory", "bench", []string{"user"}, 100_000, 5000},
		{"5,000 calls a second", "redis", "bench", []string{"user"}, 100_000, 5000},
	}
}

// manyRules is the domain with a rule for each of n values.
func manyRules(n int) string { return fmt.Sprintf("rules%d", n) }

// writeCompareRules puts the rules of all workloads into a folder.
func writeCompareRules(folder string) error {
	files := map[string][]byte{"bench.yaml": fmt.Appendf(nil, compareRules, compareAlgorithm)}
	for _, n := range []int{1000, 100_000} {
		text := fmt.Appendf(nil, "domain: %s\ndefaults: {algorithm: %s}\ndescriptors:\n", manyRules(n), compareAlgorithm)
		for i := range n {
			text = fmt.Appendf(text, "- {key: user, value: u%010d, rate_limit: {unit: hour, requests_per_unit: 1000000000}}\n", i)
		}
		files[manyRules(n)+".yaml"] = text
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}
