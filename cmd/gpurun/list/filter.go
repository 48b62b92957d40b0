package list

import (
	"fmt"
	"slices"

	"gpurun/cmd/gpurun/suggest"
	"gpurun/kernels/collective"
)

// Filter is what to list. An empty list of names stands for all.
type Filter struct {
	Collectives, Algorithms, Types, Ops []string
}

// Detailed reports whether the algorithms that are listed are described in full.
func (f Filter) Detailed() bool { return len(f.Collectives)+len(f.Algorithms) > 0 }

// Add adds a word: the name of a collective, of an algorithm or of an element type.
func (f *Filter) Add(l Listing, word string) error {
	names := map[string]string{}
	for _, x := range l.Algorithms {
		for _, name := range append(x.Aliases, x.Collective) {
			names[name] = x.Collective
		}
	}
	if d, ok := collective.ParseDType(word); ok {
		f.Types = append(f.Types, d.Name)
		return nil
	}
	for _, to := range []struct {
		list  *[]string
		names map[string]string
	}{{&f.Collectives, names}, {&f.Algorithms, l.algorithmNames()}} {
		if name, ok := to.names[word]; ok {
			*to.list = append(*to.list, name)
			return nil
		}
	}
	for name := range l.algorithmNames() {
		names[name] = name
	}
	for name := range typeNames() {
		names[name] = name
	}
	const what = "collective, algorithm or type"
	if _, ok := collective.ParseOp(word); ok {
		return fmt.Errorf("unknown %s %q; write -o %s for an operation", what, word, word)
	}
	if text := suggest.Command(word); text != "" {
		return fmt.Errorf("unknown %s %q; %s", what, word, text)
	}
	return suggest.Meant(what, word, names, "gpurun list shows all")
}

// AddType adds an element type.
func (f *Filter) AddType(word string) error {
	d, ok := collective.ParseDType(word)
	if !ok {
		return suggest.Meant("datatype", word, typeNames(), "the last lines of gpurun list name all")
	}
	f.Types = append(f.Types, d.Name)
	return nil
}

// AddOp adds a reduction operation.
func (f *Filter) AddOp(word string) error {
	names := map[string]string{}
	for _, op := range collective.Ops() {
		names[string(op)] = string(op)
	}
	if _, ok := names[word]; !ok {
		return suggest.Meant("operation", word, names, "-o is a reduction operation, and --json writes JSON")
	}
	f.Ops = append(f.Ops, word)
	return nil
}

// Only leaves those algorithms that the filter names, with one of its types and one of its operations.
func (l Listing) Only(f Filter) Listing {
	among := func(names []string, name string) bool { return len(names) == 0 || slices.Contains(names, name) }
	var kept []algorithm
	for _, x := range l.Algorithms {
		if among(f.Collectives, x.Collective) && among(f.Algorithms, x.Algorithm) && x.can(f) {
			kept = append(kept, x)
		}
	}
	l.Algorithms = kept
	return l
}

// can reports whether an algorithm has a type and an operation of a filter together.
func (x algorithm) can(f Filter) bool {
	if len(f.Types)+len(f.Ops) == 0 {
		return true
	}
	return !x.empty && slices.ContainsFunc(x.ByDType, func(d dtype) bool {
		return (len(f.Types) == 0 || slices.Contains(f.Types, d.DType)) &&
			(len(f.Ops) == 0 || slices.ContainsFunc(d.Ops, func(op string) bool { return slices.Contains(f.Ops, op) }))
	})
}

// algorithmNames are the names of the algorithms, each once.
func (l Listing) algorithmNames() map[string]string {
	names := map[string]string{}
	for _, x := range l.Algorithms {
		names[x.Algorithm] = x.Algorithm
	}
	return names
}

func typeNames() map[string]string {
	names := map[string]string{}
	for _, d := range allDTypes() {
		names[d] = d
	}
	return names
}
