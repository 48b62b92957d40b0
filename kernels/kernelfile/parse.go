package kernelfile

import (
	"path/filepath"
	"slices"
	"strings"

	"gpurun/kernels/collective"
)

// Limits of what a file describes.
const (
	maxSteps   = 64
	maxBuffers = 64
	maxLets    = 200
	maxArgs    = 1000 // of a launch, members of structs included
)

// Parse reads a kernel file in TOML, YAML or JSON, by the extension of its path. It checks all that can be checked
// without the kernel's code: keys, kinds of values, names in expressions, and where these may be used.
func Parse(path string, text []byte) (*File, error) {
	root, err := parseTree(path, text)
	if err != nil {
		return nil, err
	}
	d := &decoder{path: path}
	f := d.file(root)
	if d.err != nil {
		return nil, d.err
	}
	return f, nil
}

func (d *decoder) file(root *node) *File {
	t := d.table(root, "a kernel file")
	f := &File{Path: d.path}
	base := filepath.Base(d.path)
	f.Name = t.textOr("name", strings.TrimSuffix(base, filepath.Ext(base)))
	f.Summary = t.text("summary").Text
	f.Collective = d.collective(t)
	f.Ops = d.words(t, "op", "ops", parseOp, "operation", operationNames())
	d.checkOps(f, t)
	f.Types = d.words(t, "type", "types", parseType, "element type", typeNames())
	d.checkTypes(f, t)
	f.World = d.world(t)
	d.of, d.absent = f.Collective, absentNames(f.Collective)
	d.nameBuffers(t, ownBuffers(f.Collective))
	d.lets(f, t)
	d.buffers(f, t)
	d.globals(f, t)
	d.steps(f, t)
	d.contract(f, t)
	d.reference(f, t)
	t.done()
	d.checkBuffers(f)
	return f
}

func parseOp(text string) (string, bool) {
	op, ok := collective.ParseOp(text)
	return string(op), ok
}

func operationNames() []string {
	var names []string
	for _, op := range collective.Ops() {
		names = append(names, string(op))
	}
	return names
}

func parseType(text string) (string, bool) {
	d, ok := collective.ParseDType(text)
	return d.Name, ok
}

func typeNames() []string {
	var names []string
	for _, d := range collective.DTypes() {
		names = append(names, d.Name)
	}
	return names
}

// words reads one word, or a list of several, by their canonical names.
func (d *decoder) words(t *table, one, several string, parse func(string) (string, bool), what string,
	all []string,
) []string {
	var words []Text
	single, list := t.get(one), t.get(several)
	switch {
	case single != nil && list != nil:
		d.fail(list.line, "%s and %s say the same: write one of them", one, several)
	case single != nil:
		words = append(words, d.text(single, one))
	case list != nil:
		for _, item := range d.items(list, several) {
			words = append(words, d.text(item, several))
		}
	}
	var names []string
	for _, w := range words {
		name, ok := parse(w.Text)
		if !ok {
			d.fail(w.Line, "unknown %s %q%s", what, w.Text, didYouMean(w.Text, all))
		}
		names = append(names, name)
	}
	return names
}

// world reads the numbers of ranks.
func (d *decoder) world(t *table) []int {
	n := t.get("world")
	if n == nil {
		return nil
	}
	items := []*node{n}
	if n.kind == listNode {
		items = d.items(n, "world")
	}
	var all []int
	for _, item := range items {
		all = append(all, d.whole(item, "world", 1, collective.MaxRanks))
	}
	return all
}

// nameBuffers collects the names of buffers, which expressions may use before the buffers are described.
func (d *decoder) nameBuffers(t *table, own []string) {
	all := []string{}
	if n := t.node.child("buffers"); n != nil && n.kind == tableNode {
		for i, name := range n.keys {
			all = append(all, name)
			if d.first == "" && symmetric(n.values[i]) {
				d.first = name
			}
		}
	}
	for _, name := range own {
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	d.compiler.buffers = all
	if d.first == "" && len(own) > 0 {
		d.first = own[0]
	}
}

// symmetric reports whether peers have an address of the buffer that a node describes.
func symmetric(n *node) bool {
	for _, key := range []string{"private", "host"} {
		if v := n.child(key); v != nil && v.truth {
			return false
		}
	}
	return true
}
