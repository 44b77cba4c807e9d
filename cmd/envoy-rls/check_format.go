package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
)

// checkFormats write what check found, by the name of the format.
var checkFormats = map[string]func(w io.Writer, diagnostics []descriptors.Diagnostic, files int) error{
	"text":   descriptors.WriteText,
	"json":   writeCheckJSON,
	"github": writeCheckGitHub,
}

// checkReport is the JSON document of check.
type checkReport struct {
	Files       int                      `json:"files"`
	Errors      int                      `json:"errors"`
	Warnings    int                      `json:"warnings"`
	Notes       int                      `json:"notes"`
	Diagnostics []descriptors.Diagnostic `json:"diagnostics"`
}

func writeCheckJSON(w io.Writer, diagnostics []descriptors.Diagnostic, files int) error {
	r := checkReport{Files: files, Diagnostics: diagnostics}
	r.Errors, r.Warnings, r.Notes = descriptors.Count(diagnostics)
	if r.Diagnostics == nil {
		r.Diagnostics = []descriptors.Diagnostic{}
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// What GitHub's runner takes for syntax in a workflow command. In a property,
// colons and commas are, too.
var (
	githubData     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	githubProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// writeCheckGitHub writes workflow commands, which GitHub shows as annotations
// of the lines of a pull request.
func writeCheckGitHub(w io.Writer, diagnostics []descriptors.Diagnostic, files int) error {
	for i := range diagnostics {
		if _, err := fmt.Fprintln(w, githubCommand(&diagnostics[i])); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(w, descriptors.Summary(diagnostics, files))
	return err
}

func githubCommand(d *descriptors.Diagnostic) string {
	word := d.Severity.String()
	if d.Severity == descriptors.Note {
		word = "notice"
	}
	properties := "file=" + githubProperty.Replace(d.File)
	for _, p := range []struct {
		name  string
		value int
	}{{"line", d.Line}, {"col", d.Col}, {"endColumn", d.EndCol}} {
		if p.value > 0 {
			properties += "," + p.name + "=" + strconv.Itoa(p.value)
		}
	}
	text := d.Message
	if d.Hint != "" {
		text += " (" + d.Hint + ")"
	}
	return "::" + word + " " + properties + "::" + githubData.Replace(text)
}
