package plan

import (
	"fmt"
	"slices"

	"gpurun/cmd/gpurun/settings"
	"gpurun/cmd/gpurun/suggest"
	"gpurun/kernels/collective"
	"gpurun/kernels/kernelfile"
)

// chooseAlgorithms checks names; "all" is every one of gpurun's own: a library of
// others is named. Kernel files are named by their paths.
func chooseAlgorithms(words []string, what *collective.Collective) ([]string, error) {
	names := algorithmNames(what)
	own := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		a, _ := what.Algorithm(name)
		return a.Needs.Library != ""
	})
	return choose("algorithm", words, own, append([]string{settings.Auto, settings.All}, names...),
		func(word string) (string, bool) {
			return word, word == settings.Auto || slices.Contains(names, word) || kernelfile.IsPath(word)
		})
}

func algorithmNames(what *collective.Collective) []string {
	var names []string
	for _, a := range what.Algorithms {
		names = append(names, a.Name)
	}
	return names
}

// abilities finds out what the algorithms chosen can do, for "all" types and
// "all" operations.
type abilities struct {
	what     *collective.Collective
	words    []string // of --algo
	files    []*kernelfile.File
	epilogue collective.EpilogueKind
}

// can reports whether a type and operation are supported: by every algorithm in --algo, or, with auto or all, by any
// and by the kernel files.
func (b abilities) can(d collective.DType, op collective.Op) bool {
	if slices.ContainsFunc(b.files, func(f *kernelfile.File) bool { return !does(f, d, op) }) {
		return false
	}
	open := slices.Contains(b.words, settings.Auto) || slices.Contains(b.words, settings.All)
	for _, a := range b.what.Algorithms {
		if open && a.Needs.Library != "" {
			continue
		}
		supports := a.Supports(d, op, b.epilogue)
		switch {
		case open && supports:
			return true
		case !open && !supports && slices.Contains(b.words, a.Name):
			return false
		}
	}
	return !open
}

// ops lists the operations that the collective could have.
func (b abilities) ops() []collective.Op {
	if b.what.Shape.Reduces {
		return collective.Ops()
	}
	return []collective.Op{collective.None}
}

// chooseDTypes canonicalizes names; "all" are those with any operation at all.
func (b abilities) chooseDTypes(words []string) ([]string, error) {
	var common []string
	valid := []string{settings.All}
	for _, d := range collective.DTypes() {
		valid = append(valid, d.Name)
		if slices.ContainsFunc(b.ops(), func(op collective.Op) bool { return b.can(d, op) }) {
			common = append(common, d.Name)
		}
	}
	return choose("datatype", words, common, valid, func(word string) (string, bool) {
		d, ok := collective.ParseDType(word)
		return d.Name, ok
	})
}

// chooseOps checks names; "all" are those that there are for all the types.
func (b abilities) chooseOps(words, dtypes []string) ([]string, error) {
	var common []string
	valid := []string{settings.All}
	for _, op := range collective.Ops() {
		valid = append(valid, string(op))
		if !slices.ContainsFunc(dtypes, func(name string) bool {
			d, _ := collective.ParseDType(name)
			return !b.can(d, op)
		}) {
			common = append(common, string(op))
		}
	}
	return choose("operation", words, common, valid, func(word string) (string, bool) {
		op, ok := collective.ParseOp(word)
		return string(op), ok
	})
}

// formats are what -o means to kubectl.
var formats = []string{"csv", "json", "markdown", "table", "wide", "yaml"}

// choose canonicalizes words, drops repetitions, and replaces "all".
func choose(kind string, words, all, valid []string, parse func(string) (string, bool)) ([]string, error) {
	var chosen []string
	for _, word := range words {
		names := all
		if word != settings.All {
			name, ok := parse(word)
			if text := suggest.File(word); !ok && text != "" {
				return nil, fmt.Errorf("unknown %s %q; %s", kind, word, text)
			}
			if !ok && kind == "operation" && slices.Contains(formats, word) {
				return nil, fmt.Errorf("unknown %s %q; --output sets the format of the results", kind, word)
			}
			if !ok {
				return nil, suggest.UnknownName(kind, word, valid, typeAliases(word))
			}
			names = []string{name}
		}
		for _, name := range names {
			if !slices.Contains(chosen, name) {
				chosen = append(chosen, name)
			}
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("no %s is left to choose", kind)
	}
	return chosen, nil
}

// typeAliases has the name of a type for each other spelling. It is empty if word names a type: that is not misspelled.
func typeAliases(word string) map[string]string {
	names := map[string]string{}
	if _, ok := collective.ParseDType(word); ok {
		return names
	}
	for _, d := range collective.DTypes() {
		for _, alias := range d.Aliases {
			names[alias] = d.Name
		}
	}
	return names
}
