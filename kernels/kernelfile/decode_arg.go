package kernelfile

import (
	"encoding/hex"
	"maps"
	"slices"
	"strings"
)

// Limits of one argument.
const (
	maxPad      = 1024     // entries of a table
	maxRawBytes = 16 << 10 // of bytes
	maxAlign    = 256
	maxNulls    = 64
	maxMembers  = 8 // structs in structs
)

// argKinds are the arguments that are no numbers, by their keys.
var argKinds = map[string]ArgKind{
	"pointer": Pointer, "pointers": Pointers, "table": Table, "struct": Struct, "structs": Structs, "multicast": Multicast,
	"tensormap": Tensor, "bytes": Raw, "null": Null,
}

// argKeys are the keys of which an argument has exactly one.
func argKeys() []string {
	return append(slices.Sorted(maps.Keys(argKinds)), numberTypeNames()...)
}

// argReader reads one argument.
type argReader struct {
	d     *decoder
	t     *table
	key   string
	arg   Arg
	known names
	depth int
	count int // how many arguments the text stands for
}

// args reads the arguments of a launch, or the members of a struct.
func (d *decoder) args(n *node, what string, known names, depth int) []Arg {
	if n == nil {
		return nil
	}
	var all []Arg
	if n.kind == listNode && len(n.values) == 0 {
		return nil
	}
	for _, item := range d.items(n, what) {
		a := argReader{d: d, known: known, depth: depth, count: 1}
		arg := a.read(item, what)
		if d.err != nil {
			return nil
		}
		for range a.count {
			all = append(all, arg)
		}
		if len(all) > maxArgs {
			d.fail(item.line, "%s: there are more than %d", what, maxArgs)
			return nil
		}
	}
	return all
}

func (a *argReader) read(n *node, what string) Arg {
	a.arg.Line = n.line
	a.t = a.d.table(n, "each of "+what)
	keys := argKeys()
	for _, key := range a.t.node.keys {
		if !slices.Contains(keys, key) {
			continue
		}
		if a.key != "" {
			a.d.fail(n.line, "%s and %s: an argument is one of them", a.key, key)
		}
		a.key = key
	}
	if a.key == "" {
		a.unnamed(n, keys)
		return a.arg
	}
	a.t.what = "an argument " + a.key
	a.value(a.t.get(a.key))
	a.t.done()
	return a.arg
}

// value reads the value of the key that says what the argument is, and the keys beside it.
func (a *argReader) value(n *node) {
	a.arg.Kind = argKinds[a.key] // of numbers: Number, the zero value
	switch a.arg.Kind {
	case Number:
		a.arg.Type = a.key
		a.arg.Value = a.d.expr(n, a.key, exact, a.known)
	case Pointer, Pointers, Table, Multicast:
		a.buffer(n)
	case Struct, Structs:
		a.members(n)
	case Tensor:
		a.tensor(n)
	case Raw:
		a.raw(n)
	case Null:
		a.null(n)
	}
}

// unnamed refuses an argument without a key that says what it is.
func (a *argReader) unnamed(n *node, keys []string) {
	for _, key := range a.t.node.keys {
		if near := nearest(key, keys); near != "" {
			a.d.fail(n.line, "unknown key %q of an argument; did you mean %s?", key, near)
			return
		}
	}
	a.d.fail(n.line, "an argument is one of %s", strings.Join(keys, ", "))
}

// buffer reads the keys of arguments that are addresses of a buffer.
func (a *argReader) buffer(n *node) {
	kind := a.arg.Kind
	a.arg.Buffer = a.d.bufferName(n, a.key)
	known := a.known
	if kind == Pointers || kind == Table {
		a.entries()
		known |= nameI
	}
	if kind != Multicast {
		a.arg.Rank = a.t.optional("rank", known)
	}
	a.arg.Offset = a.t.optional("offset", known)
}

// entries reads how many entries an array has.
func (a *argReader) entries() {
	a.arg.Entries = a.t.optional("entries", a.known)
	a.arg.Pad = a.t.whole("pad", 1, maxPad)
}

// bufferName reads the name of a buffer of the file.
func (d *decoder) bufferName(n *node, what string) Text {
	text := d.text(n, what)
	if d.err == nil && !slices.Contains(d.compiler.buffers, text.Text) {
		d.fail(n.line, "%s: there is no buffer %q%s", what, text.Text, didYouMean(text.Text, d.compiler.buffers))
	}
	return text
}

func (a *argReader) members(n *node) {
	known := a.known
	if a.entries(); a.arg.isArray() {
		known |= nameI
	}
	if a.depth == maxMembers {
		a.d.fail(n.line, "structs are nested more than %d deep", maxMembers)
		return
	}
	a.arg.Members = a.d.args(n, "the members of "+a.key, known, a.depth+1)
	if len(a.arg.Members) == 0 {
		a.d.fail(n.line, "a struct has at least one member")
	}
	for _, m := range a.arg.Members {
		if m.Rest {
			a.d.fail(m.Line, `null = "rest" is only for the last argument of a kernel`)
		}
	}
	a.align()
}

// align reads the alignment of a struct, of bytes or of a tensor map.
func (a *argReader) align() {
	a.arg.Align = a.t.whole("align", 1, maxAlign)
	if a.arg.Align&(a.arg.Align-1) != 0 {
		a.d.fail(a.t.node.line, "align is %d, and must be a power of two", a.arg.Align)
	}
}

func (a *argReader) raw(n *node) {
	text := a.d.text(n, "bytes").Text
	content, err := hex.DecodeString(strings.Join(strings.Fields(text), ""))
	switch {
	case err != nil:
		a.d.fail(n.line, `bytes are pairs of hexadecimal digits, such as "00 01 ff": %v`, err)
	case len(content) == 0 || len(content) > maxRawBytes:
		a.d.fail(n.line, "bytes are 1 to %d, not %d", maxRawBytes, len(content))
	}
	a.arg.Bytes = content
	a.align()
}

// null reads true, a number of null pointers, or "rest".
func (a *argReader) null(n *node) {
	switch {
	case n.kind == truthNode && n.truth:
	case n.kind == textNode && n.text == "rest":
		a.arg.Rest = true
	case n.kind == wholeNode:
		a.count = a.d.whole(n, "null", 1, maxNulls)
	default:
		a.d.fail(n.line, `null is true, a number of null pointers, or "rest"`)
	}
}

func (a *argReader) tensor(n *node) {
	a.arg.Buffer = a.d.bufferName(n, a.key)
	a.arg.Rank = a.t.optional("rank", a.known)
	a.arg.Offset = a.t.optional("offset", a.known)
	m := &TensorMap{}
	a.arg.Map = m
	if text := a.t.text("type"); text.Text != "" {
		at, ok := tensorTypeIndex(text.Text)
		if !ok {
			a.d.fail(text.Line, "unknown type %q of a tensor map%s", text.Text, didYouMean(text.Text, tensorTypes))
			return
		}
		m.Type = tensorTypes[at]
	}
	list := func(key string) []Expr { return a.d.exprs(a.t.get(key), key, 5, a.known) }
	m.Sizes, m.Strides, m.Box, m.Steps = list("sizes"), list("strides"), list("box"), list("steps")
	m.Swizzle = a.t.number("swizzle", a.known)
	m.L2 = a.t.number("l2", a.known)
	m.FillNaN = a.t.truth("fill_nan")
	a.align()
	switch {
	case len(m.Sizes) == 0:
		a.d.fail(n.line, "a tensor map has sizes, the elements of each dimension, the innermost first")
	case len(m.Box) != len(m.Sizes):
		a.d.fail(n.line, "a tensor map of %d dimensions has a box of as many, not %d", len(m.Sizes), len(m.Box))
	case len(m.Strides) != 0 && len(m.Strides) != len(m.Sizes)-1:
		a.d.fail(n.line, "a tensor map of %d dimensions has %d strides, not %d", len(m.Sizes), len(m.Sizes)-1, len(m.Strides))
	case len(m.Steps) != 0 && len(m.Steps) != len(m.Sizes):
		a.d.fail(n.line, "a tensor map of %d dimensions has as many steps, not %d", len(m.Sizes), len(m.Steps))
	}
}
