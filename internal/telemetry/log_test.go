package telemetry

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
)

func TestLog(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"text", "json"} {
		var b bytes.Buffer
		log := NewLog(&b, format, slog.LevelInfo)
		log.Debug("unseen")
		log.Info("a line\nand another", "key", 7)
		out := b.String()
		if strings.Count(out, "\n") != 1 || strings.Contains(out, "unseen") {
			t.Errorf("%s: want one line of the record at level info, got %q", format, out)
		}
		if isJSON := json.Valid(b.Bytes()); isJSON != (format == "json") {
			t.Errorf("%s: JSON is %v: %s", format, isJSON, out)
		}
	}
}

func TestBuild(t *testing.T) {
	t.Parallel()
	if b := ReadBuild("v9"); b.Version != "v9" || !strings.HasPrefix(b.Go, "go") || b.Revision == "" {
		t.Errorf("%+v", b)
	}
	if b := ReadBuild(""); b.Version == "" {
		t.Errorf("no version: %+v", b)
	}
}
