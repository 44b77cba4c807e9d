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
	if row.Inert != "" {
		text += " " + row.Inert
	}
	if row.Later {
		text += " *Not supported yet.*"
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

// TestRulesReference: docs/reference/rules.md has a row for each field of the
// rule language, and no other.
func TestRulesReference(t *testing.T) {
	t.Parallel()
	sources, err := filepath.Glob(filepath.Join(root(t), "pkg", "descriptors", "schema*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var fields []string
	field := regexp.MustCompile(`(?:field\{name: |flagRow\()"([a-z_]+)"`)
	for _, source := range sources {
		for _, m := range field.FindAllStringSubmatch(read(t, source), -1) {
			fields = append(fields, m[1])
		}
	}
	var documented []string
	row := regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\|")
	for _, m := range row.FindAllStringSubmatch(read(t, filepath.Join(root(t), "docs/reference/rules.md")), -1) {
		documented = append(documented, m[1])
	}
	slices.Sort(fields)
	slices.Sort(documented)
	if diff := cmp.Diff(slices.Compact(fields), slices.Compact(documented)); diff != "" {
		t.Errorf("docs/reference/rules.md is not the rule language (-language +document):\n%s", diff)
	}
}
