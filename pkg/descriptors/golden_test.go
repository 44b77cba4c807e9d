package descriptors

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// ruleFiles lists the rule files of a folder of testdata.
func ruleFiles(t testing.TB, folder string) []File {
	t.Helper()
	all, err := filepath.Glob(filepath.Join("testdata", folder, "*.[yj][as][mo][ln]"))
	if err != nil || len(all) == 0 {
		t.Fatalf("no files in testdata/%s: %v", folder, err)
	}
	var files []File
	for _, path := range all {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, File{Name: filepath.Base(path), Data: data})
	}
	return files
}

// TestBad shows what is said about each mistake: one a file.
func TestBad(t *testing.T) {
	t.Parallel()
	for _, file := range ruleFiles(t, "bad") {
		t.Run(file.Name, func(t *testing.T) {
			t.Parallel()
			rs, diagnostics := Compile([]File{file}, nil, Options{})
			if rs == nil || len(diagnostics) == 0 {
				t.Fatal("nothing is reported")
			}
			var text strings.Builder
			if err := WriteText(&text, diagnostics, 1); err != nil {
				t.Fatal(err)
			}
			golden(t, filepath.Join("testdata", "bad", strings.TrimSuffix(file.Name, ".yaml")+".golden"), text.String())
		})
	}
}

// TestOK shows what each sound file is compiled to.
func TestOK(t *testing.T) {
	t.Parallel()
	for _, file := range ruleFiles(t, "ok") {
		t.Run(file.Name, func(t *testing.T) {
			t.Parallel()
			rs, diagnostics := Compile([]File{file}, nil, Options{})
			for _, d := range diagnostics {
				t.Errorf("unexpected: %s", d)
			}
			golden(t, filepath.Join("testdata", "ok", strings.TrimSuffix(file.Name, filepath.Ext(file.Name))+".golden"), listing(rs))
		})
	}
}
