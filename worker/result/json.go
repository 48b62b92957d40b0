package result

import (
	"encoding/json"
	"io"

	"gpurun/cudart"
)

// jsonDocument prints the whole report at the end.
type jsonDocument struct{ w io.Writer }

func (jsonDocument) Begin(Report) error   { return nil }
func (jsonDocument) Add(Result) error     { return nil }
func (j jsonDocument) End(r Report) error { return WriteJSON(j.w, r) }

// WriteJSON writes the report as one JSON object.
func WriteJSON(w io.Writer, r Report) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(r.withLists())
}

// withLists turns nil lists into empty ones, so that JSON has [] and not null.
func (r Report) withLists() Report {
	if r.Command == nil {
		r.Command = []string{}
	}
	if r.Devices == nil {
		r.Devices = []cudart.Info{}
	}
	if r.Results == nil {
		r.Results = []Result{}
	}
	return r
}

// jsonLines prints a line for each result, and at the end a line with the rest of the
// report. Only that one has the key "passed".
type jsonLines struct{ w io.Writer }

func (jsonLines) Begin(Report) error { return nil }

func (j jsonLines) Add(r Result) error { return json.NewEncoder(j.w).Encode(r) }

func (j jsonLines) End(r Report) error {
	type rest struct {
		Report
		Results []Result `json:"results,omitempty"` // hides the report's
	}
	return json.NewEncoder(j.w).Encode(rest{Report: r.withLists()})
}

// WriteFile writes the report as JSON, as [Replace] does.
func WriteFile(path string, r Report) error {
	return Replace(path, func(w io.Writer) error { return WriteJSON(w, r) })
}
