package check

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/settings"
	engine "gpurun/cudart/sim/check"
	"gpurun/kernels/rulefile"
)

// suppressions are findings that are accepted.
type suppressions struct {
	file  string
	rules []suppression
	used  []bool
}

// suppression is a rule of the file. It matches a finding of which one side has all that the rule names, and another
// side what the rule's Other names.
type suppression struct {
	Kind   string `toml:"kind"`
	Entry  string `toml:"entry"`  // the kernel's name
	Module string `toml:"module"` // its name, or the end of its path
	Line   int    `toml:"line"`   // in the PTX
	Source string `toml:"source"` // FILE:LINE, or the end of that
	Text   string `toml:"text"`   // a part of the instruction
	Other  string `toml:"other"`  // a part of the other side's instruction
	Reason string `toml:"reason"`
}

const suppressionKeys = "a [[rule]] has kind, entry, module, line, source, text, other and reason"

const maxSuppressionBytes = 1 << 20

// readSuppressions reads the file; without a path there are none.
func readSuppressions(path string) (*suppressions, error) {
	s := &suppressions{file: path}
	if path == "" {
		return s, nil
	}
	text, err := settings.ReadFile(path, maxSuppressionBytes)
	if err != nil {
		return nil, exit.Usagef("reading the suppressions: %w", err)
	}
	var document struct {
		Rule []suppression `toml:"rule"`
	}
	if err := rulefile.Decode(path, text, &document, suppressionKeys); err != nil {
		return nil, &exit.UsageError{Err: err}
	}
	for i, r := range document.Rule {
		if err := r.check(); err != nil {
			return nil, &exit.UsageError{Err: rulefile.Blame(path, text, i, err)}
		}
	}
	s.rules, s.used = document.Rule, make([]bool, len(document.Rule))
	return s, nil
}

func (r suppression) check() error {
	switch {
	case strings.TrimSpace(r.Reason) == "":
		return errors.New("a suppression needs a reason")
	case r.Entry+r.Module+r.Source+r.Text == "" && r.Line == 0:
		return errors.New("a suppression names what it is about: entry, module, line, source or text")
	}
	return nil
}

// match returns the reason of the first rule that matches a finding.
func (s *suppressions) match(f *engine.Finding) (reason string, ok bool) {
	for i, r := range s.rules {
		if r.matches(f) {
			s.used[i] = true
			return r.Reason, true
		}
	}
	return "", false
}

func (r suppression) matches(f *engine.Finding) bool {
	if r.Kind != "" && r.Kind != string(f.Kind) {
		return false
	}
	for i, side := range f.Sides {
		if !r.matchesSide(side) {
			continue
		}
		if r.Other == "" {
			return true
		}
		for j, other := range f.Sides {
			if j != i && strings.Contains(other.Text, r.Other) {
				return true
			}
		}
	}
	return false
}

func (r suppression) matchesSide(a engine.Access) bool {
	return (r.Entry == "" || a.Kernel == r.Entry) &&
		(r.Module == "" || isPathEnd(a.Module, r.Module)) &&
		(r.Line == 0 || a.Line == r.Line && a.Module != "") &&
		(r.Source == "" || isPathEnd(a.Source, r.Source) || r.isCaller(a.InlinedAt)) &&
		(r.Text == "" || strings.Contains(a.Text, r.Text))
}

// isCaller reports whether a rule names the line of a call by which code was inlined.
func (r suppression) isCaller(inlinedAt string) bool {
	for line := range strings.SplitSeq(inlinedAt, ", inlined at ") {
		if isPathEnd(line, r.Source) {
			return true
		}
	}
	return false
}

// isPathEnd reports whether a path ends with whole elements of another.
func isPathEnd(path, end string) bool {
	path, end = filepath.ToSlash(path), strings.TrimPrefix(filepath.ToSlash(end), "./")
	return path == end || strings.HasSuffix(path, "/"+end)
}

// unused names the rules that matched nothing.
func (s *suppressions) unused() (all []string) {
	for i, r := range s.rules {
		if !s.used[i] {
			all = append(all, fmt.Sprintf("%s: rule %d matches no finding (%s)", s.file, i+1, r.Reason))
		}
	}
	return all
}
