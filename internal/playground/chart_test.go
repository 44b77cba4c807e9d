package playground

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/envoy-rls/envoy-rls/pkg/buckets"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the charts of docs/algorithms")

// charted is the traffic of the charts: a quiet second, a burst, a second one across
// the edge of a window of 10 seconds, and then more than the rate.
func charted() Config {
	c := Config{Amount: 10, WindowMillis: 10_000, DurationMillis: 40_000, Traffic: "own"}
	for i := range int64(12) {
		c.Own = append(c.Own, 9_700+i*40, 10_200+i*40)
	}
	for at := int64(18_000); at < 40_000; at += 500 {
		c.Own = append(c.Own, at)
	}
	return c
}

// TestCharts holds the charts of docs/algorithms to what the algorithms do.
func TestCharts(t *testing.T) {
	t.Parallel()
	for name, a := range byName(t, charted()) {
		file := filepath.Join("..", "..", "docs", "algorithms", name+".svg")
		want := chart(a)
		if *rewrite {
			if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(got), want); diff != "" {
			t.Errorf("%s is not what the algorithm does; run the test with -rewrite (-file +now):\n%s", file, diff)
		}
	}
}

// chart draws what was allowed above a line and what was denied below it.
func chart(a Algorithm) string {
	var b strings.Builder
	b.WriteString(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 150" font-family="sans-serif" font-size="12">` + "\n")
	fmt.Fprintf(&b, "<title>%s: 10 in 10 s. %d allowed, %d denied, at most %d in any 10 s</title>\n", a.Name, a.Allowed, a.Denied, a.MostInWindow)
	b.WriteString(`<rect width="720" height="150" fill="#fff"/>` + "\n")
	for second := 0; second <= 40; second += 10 {
		fmt.Fprintf(&b, `<line x1="%d" x2="%d" y1="10" y2="130" stroke="#d0d7de"/><text x="%d" y="145" fill="#57606a">%d s</text>`+"\n", second*18, second*18, min(second*18+3, 690), second)
	}
	for i := range a.Steps {
		if n := a.Steps[i]; n > 0 {
			fmt.Fprintf(&b, `<rect x="%d" y="%d" width="5" height="%d" fill="#116329"/>`+"\n", i*6, 70-n*6, n*6)
		}
		if n := a.StepsDenied[i]; n > 0 {
			fmt.Fprintf(&b, `<rect x="%d" y="70" width="5" height="%d" fill="#b3261e"/>`+"\n", i*6, n*6)
		}
	}
	b.WriteString(`<line x1="0" x2="720" y1="70" y2="70" stroke="#57606a"/>` + "\n")
	fmt.Fprintf(&b, `<text x="6" y="22" fill="#1b1f24">%d allowed (green), %d denied (red), at most %d in any 10 s</text>`+"\n</svg>\n", a.Allowed, a.Denied, a.MostInWindow)
	return b.String()
}

// headings are those of every algorithm's page.
var headings = []string{"## When to choose it", "## How it decides", "## What it takes", "## Burst", "## At the edge of a window", "## Where it fails you", "## Fields"}

func TestPages(t *testing.T) {
	t.Parallel()
	index, err := os.ReadFile(filepath.Join("..", "..", "docs", "algorithms", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range buckets.Algorithms() {
		page, err := os.ReadFile(filepath.Join("..", "..", "docs", "algorithms", a.String()+".md"))
		if err != nil {
			t.Fatal(err)
		}
		rest := string(page)
		for _, heading := range headings {
			_, after, found := strings.Cut(rest, "\n"+heading+"\n")
			if !found {
				t.Errorf("%v.md lacks %q, or has it out of order", a, heading)
			}
			rest = after
		}
		if !strings.Contains(string(page), "("+a.String()+".svg)") || !strings.Contains(string(index), "("+a.String()+".md)") {
			t.Errorf("%v: the page has no chart, or the index no link", a)
		}
	}
}
