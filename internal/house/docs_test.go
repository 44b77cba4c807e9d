package house

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/envoy-rls/envoy-rls/internal/settings"
	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
)

// Marks around the generated part of a document.
const (
	begin = "<!-- generated: internal/house -rewrite -->\n"
	end   = "<!-- end of the generated part -->\n"
)

// generated compares the generated part of a document, or rewrites it.
func generated(t *testing.T, file, want string) {
	t.Helper()
	file = filepath.Join(root(t), file)
	text := read(t, file)
	head, rest, ok := strings.Cut(text, begin)
	part, foot, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no part between %q and %q", file, begin, end)
	}
	if *rewrite {
		if err := os.WriteFile(file, []byte(head+begin+want+end+foot), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(part, want); diff != "" {
		t.Errorf("%s is not as generated; run the test with -rewrite (-file +want):\n%s", file, diff)
	}
}

// cell makes a text fit for a cell of a table.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

// TestSettingsReference generates the tables of docs/reference/settings.md.
func TestSettingsReference(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	group := ""
	for _, row := range settings.Rows() {
		if row.Group != group {
			group = row.Group
			fmt.Fprintf(&b, "\n## %s\n\n| environment | default | what |\n|---|---|---|\n", group)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", row.Name, defaultOf(row), cell(describe(row)))
	}
	generated(t, "docs/reference/settings.md", b.String()+"\n")
}

func defaultOf(row settings.Row) string {
	text := "–"
	if row.Default != "" {
		text = "`" + row.Default + "`"
	}
	if row.RatelimitDefault != "" {
		text += " (`" + row.RatelimitDefault + "` under PROFILE=ratelimit)"
	}
	return text
}

func describe(row settings.Row) string {
	text := row.Help
	if len(row.Aliases) > 0 {
		text += " Also named " + strings.Join(row.Aliases, ", ") + "."
	}
	return strings.TrimSpace(text)
}

// TestCodeMap: the code map of ARCHITECTURE.md names every folder of the tree,
// and no other.
func TestCodeMap(t *testing.T) {
	t.Parallel()
	var mapped []string
	entry := regexp.MustCompile("(?m)^\\s*- `([^`]+)/`")
	for _, m := range entry.FindAllStringSubmatch(read(t, filepath.Join(root(t), "ARCHITECTURE.md")), -1) {
		mapped = append(mapped, m[1])
	}
	slices.Sort(mapped)
	var folders []string
	for _, file := range files(t, "") {
		if dir := path.Dir(file); dir != "." {
			folders = append(folders, dir)
		}
	}
	slices.Sort(folders)
	if diff := cmp.Diff(slices.Compact(folders), mapped); diff != "" {
		t.Errorf("the code map of ARCHITECTURE.md is not the tree (-tree +map):\n%s", diff)
	}
}

// TestLinks: what a document links to within the repository is there.
func TestLinks(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(([^)#]+)(#[^)]*)?\)`)
	for _, file := range files(t, ".md") {
		for _, m := range link.FindAllStringSubmatch(read(t, filepath.Join(root(t), file)), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			target := filepath.Join(root(t), path.Dir(file), m[1])
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s, which is not there", file, m[1])
			}
		}
	}
}

// TestRulesReference generates the tables of docs/reference/rules.md from the
// table of fields that the compiler decodes by.
func TestRulesReference(t *testing.T) {
	t.Parallel()
	titles := map[string]string{
		"document": "Document", "defaults": "Defaults", "descriptor": "Rule", "rate_limit": "Limit", "replaces": "An item of replaces",
	}
	var b strings.Builder
	for _, level := range descriptors.Language() {
		title, known := titles[level.Name]
		if !known {
			t.Errorf("level %s has no title", level.Name)
		}
		fmt.Fprintf(&b, "\n## %s\n\n| field | default | what |\n|---|---|---|\n", title)
		for _, f := range level.Fields {
			fallback := f.Default
			if f.Required {
				fallback = "required"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", f.Name, cell(fallback), cell(f.Doc+words(f.Values)))
		}
		if level.Name == "document" {
			b.WriteString("| `x-…` | | Ignored: a place for YAML anchors. |\n")
		}
	}
	generated(t, "docs/reference/rules.md", b.String()+"\n")
}

// words lists the words that a field takes.
func words(values []string) string {
	if len(values) < 2 {
		return ""
	}
	return " One of `" + strings.Join(values, "` `") + "`."
}
