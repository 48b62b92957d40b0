// Package inspect describes files of GPU code: their kernels, and which of these the simulator can run.
package inspect

import (
	"cmp"
	"slices"
)

// Report is what some files hold.
type Report struct {
	Files   []File `json:"files"`
	Kernels int    `json:"kernels"`
	Run     int    `json:"run"` // kernels that the simulator can run
	// Refused counts the kernels that it cannot run, the most frequent reason first.
	Refused []Count `json:"refused"`
}

// Count is a number of kernels for a reason.
type Count struct {
	Kernels int    `json:"kernels"`
	Reason  string `json:"reason"`
}

// File is one file.
type File struct {
	Name string `json:"file"`
	// Kind is "ptx", "cubin", "fatbin" or "host", an executable or object with GPU code; "" with Error.
	Kind      string     `json:"kind,omitempty"`
	Version   string     `json:"ptx_version,omitempty"`
	Target    string     `json:"target,omitempty"`
	Kernels   []Kernel   `json:"kernels"`
	Variables []Variable `json:"variables,omitempty"`
	Functions []string   `json:"functions,omitempty"`
	Notes     []string   `json:"notes,omitempty"`
	// Error says why the file cannot be read as GPU code.
	Error string `json:"error,omitempty"`
}

// Kernel is an entry point.
type Kernel struct {
	Name       string         `json:"name"`
	Target     string         `json:"target,omitempty"` // of machine code
	Line       int            `json:"line,omitempty"`
	Parameters []Parameter    `json:"parameters,omitempty"`
	ParamBytes int64          `json:"parameter_bytes"`
	Registers  map[string]int `json:"registers,omitempty"` // by type, as PTX uses them
	Shared     int            `json:"shared_bytes"`        // static
	Dynamic    bool           `json:"dynamic_shared,omitempty"`
	Local      int64          `json:"local_bytes"` // .local variables, per thread
	Bounds     []string       `json:"launch_bounds,omitempty"`
	Runs       bool           `json:"simulator"`
	Refusal    *Refusal       `json:"refusal,omitempty"`
}

// Parameter is one of a kernel.
type Parameter struct {
	Name   string `json:"name"`
	Type   string `json:"type"` // "b8[16]" is a struct of 16 bytes
	Offset int64  `json:"offset"`
	Size   int64  `json:"size"`
	Align  int    `json:"align"`
}

// Variable is one of a module.
type Variable struct {
	Name   string `json:"name"`
	Space  string `json:"space"`
	Type   string `json:"type"`
	Size   int64  `json:"size"`
	Align  int    `json:"align"`
	Extern bool   `json:"extern,omitempty"`
}

// Refusal is why the simulator cannot run a kernel.
type Refusal struct {
	Line   int    `json:"line,omitempty"`
	Text   string `json:"instruction,omitempty"`
	Source string `json:"source,omitempty"`
	Reason string `json:"reason"`
}

// Of describes files, each a name and its contents.
func Of(files []Input) Report {
	r := Report{Files: []File{}, Refused: []Count{}}
	counts := map[string]int{}
	for _, in := range files {
		f := describe(in)
		r.Files = append(r.Files, f)
		for _, k := range f.Kernels {
			r.Kernels++
			if k.Runs {
				r.Run++
			} else {
				counts[k.Refusal.Reason]++
			}
		}
	}
	for reason, n := range counts {
		r.Refused = append(r.Refused, Count{n, reason})
	}
	slices.SortFunc(r.Refused, func(a, b Count) int {
		return cmp.Or(cmp.Compare(b.Kernels, a.Kernels), cmp.Compare(a.Reason, b.Reason))
	})
	return r
}

// Unreadable are the files that are no GPU code.
func (r Report) Unreadable() (bad []File) {
	for _, f := range r.Files {
		if f.Error != "" {
			bad = append(bad, f)
		}
	}
	return bad
}

// Input is a file to describe.
type Input struct {
	Name string
	Data []byte
}
