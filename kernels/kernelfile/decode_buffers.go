package kernelfile

import (
	"slices"
	"strings"
)

// buffers reads [buffers].
func (d *decoder) buffers(f *File, t *table) {
	n := t.get("buffers")
	if n == nil {
		return
	}
	all := d.table(n, "[buffers]").node
	if len(all.keys) > maxBuffers {
		d.fail(n.line, "there are more than %d buffers", maxBuffers)
		return
	}
	for i, name := range all.keys {
		f.Buffers = append(f.Buffers, d.buffer(f, name, all.values[i]))
	}
}

// mostBufferAlign is what every buffer is aligned to, as cudaMalloc's memory is.
const mostBufferAlign = 256

func (d *decoder) buffer(f *File, name string, n *node) Buffer {
	t := d.table(n, "[buffers."+name+"]")
	custom := f.Collective == Custom
	b := Buffer{Name: name, Line: n.line, Private: t.truth("private"), Host: t.truth("host")}
	if !isIdentifier(name) {
		d.fail(n.line, "%q is no name for a buffer: use letters, digits and _", name)
	}
	known := ofBuffer
	if b.Private || b.Host {
		known |= nameRank | nameRoot
	}
	b.Size = t.number("size", known)
	b.Align = int64(t.whole("align", 1, mostBufferAlign))
	if b.Align&(b.Align-1) != 0 {
		d.fail(n.line, "align of buffer %s is %d, and must be a power of two", name, b.Align)
	}
	b.Init = d.init(t)
	b.InitFile = d.placeholders(t.text("init_file"), false)
	b.Reset, b.Restored = t.truth("reset"), t.truth("restored")
	b.Rotate = t.whole("rotate", 1, 64)
	if custom {
		d.customBuffer(t, &b)
	}
	t.done()
	d.checkBuffer(&b, slices.Contains(ownBuffers(f.Collective), name))
	return b
}

// customBuffer reads the keys that only a custom file has.
func (d *decoder) customBuffer(t *table, b *Buffer) {
	roles := map[string]Role{"": Scratch, "scratch": Scratch, "input": Input, "output": Output}
	role := t.text("role")
	r, ok := roles[role.Text]
	if !ok {
		d.fail(role.Line, "role is input, output or scratch, not %q", role.Text)
	}
	b.Role = r
	if text := t.text("type"); text.Text != "" {
		if b.Type, ok = parseType(text.Text); !ok {
			d.fail(text.Line, "unknown element type %q%s", text.Text, didYouMean(text.Text, typeNames()))
		}
	}
	b.Expect = t.optional("expect", ofElement)
	b.ExpectFile = d.placeholders(t.text("expect_file"), false)
	proof := b.Expect != nil || b.ExpectFile.Text != ""
	switch {
	case proof && b.Role != Output:
		d.fail(b.Line, "expect of buffer %s is for an output: add role = \"output\"", b.Name)
	case b.Expect != nil && b.ExpectFile.Text != "":
		d.fail(b.Line, "expect and expect_file of buffer %s: write one of them", b.Name)
	case b.Expect != nil && b.Type != "" && numberTypeOf(b.Type) == "":
		d.fail(b.Line, "expect of buffer %s: no expression gives elements %s; write expect_file", b.Name, b.Type)
	case b.Role != Scratch && b.Host:
		d.fail(b.Line, "buffer %s of the host is neither an input nor an output: those are memory of the device", b.Name)
	case b.Role != Scratch && b.Type == "":
		d.fail(b.Line, "buffer %s is an %s, and has no type of its elements", b.Name, role.Text)
	}
}

// checkBuffer finds keys that contradict each other.
func (d *decoder) checkBuffer(b *Buffer, own bool) {
	switch {
	case own && !b.Size.IsZero():
		d.fail(b.Line, "the size of buffer %s follows from the collective: leave it out", b.Name)
	case own && (b.Init != nil || b.InitFile.Text != "" || b.Reset || b.Restored || b.Rotate > 1 || b.Host):
		d.fail(b.Line, "gpurun itself writes buffer %s before each call; it takes align and private alone", b.Name)
	case !own && b.Size.IsZero():
		d.fail(b.Line, "buffer %s has no size, in bytes", b.Name)
	case b.Init != nil && b.InitFile.Text != "":
		d.fail(b.Line, "init and init_file of buffer %s: write one of them", b.Name)
	case b.Reset && b.Init == nil:
		d.fail(b.Line, "reset of buffer %s needs init, the value to write", b.Name)
	case b.Reset && d.err == nil && !b.isUniform():
		d.fail(b.Line, "reset of buffer %s needs an init with the same value in every byte, such as 0", b.Name)
	case b.Role != Input && b.Init != nil && b.Init.DependsOnSize():
		limit := "write it for the largest calls and set max_bytes in [contract], or "
		if isProduct(d.of) { // they have no limit
			limit = ""
		}
		d.fail(b.Init.Value.Line, "init of buffer %s is written once, before the first call, and this one depends on the "+
			"size of a call: %sgive the kernel such a number in args", b.Name, limit)
	case b.Restored && b.Init == nil && b.InitFile.Text == "":
		d.fail(b.Line, "restored of buffer %s needs init, the value to compare with", b.Name)
	case b.Restored && b.Role == Output:
		d.fail(b.Line, "buffer %s is an output, which gpurun poisons before each call, and cannot be restored: leave out "+
			"restored", b.Name)
	case b.Host && b.Rotate > 1:
		d.fail(b.Line, "buffer %s of the host cannot rotate", b.Name)
	}
}

// init reads a byte, or a table of one number such as {u32 = "1"}.
func (d *decoder) init(t *table) *Init {
	n := t.get("init")
	switch {
	case n == nil:
		return nil
	case n.kind != tableNode:
		return &Init{Type: "u8", Value: d.expr(n, "init", exact, ofElement)}
	case len(n.keys) != 1 || numberBytes(n.keys[0]) == 0:
		d.fail(n.line, "init is a byte, or one number such as {u32 = 1}, of %s", strings.Join(numberTypeNames(), ", "))
		return nil
	}
	return &Init{Type: n.keys[0], Value: d.expr(n.values[0], "init", exact, ofElement)}
}

// checkBuffers refuses a file whose outputs nobody proves.
func (d *decoder) checkBuffers(f *File) {
	if f.Collective != Custom || d.err != nil {
		return
	}
	outputs := 0
	for _, b := range f.Buffers {
		if b.Role != Output {
			continue
		}
		outputs++
		if f.Reference == nil && b.Expect == nil && b.ExpectFile.Text == "" {
			d.fail(b.Line, "nothing says what output %s must hold: write expect, expect_file, or [reference]", b.Name)
		}
	}
	if outputs == 0 {
		d.fail(1, `a custom file has at least one buffer with role = "output"`)
	}
}

// globals reads [globals].
func (d *decoder) globals(f *File, t *table) {
	n := t.get("globals")
	if n == nil {
		return
	}
	all := d.table(n, "[globals]").node
	for i, name := range all.keys {
		value := all.values[i]
		list := &node{kind: listNode, line: value.line, values: []*node{value}}
		args := d.args(list, "[globals]", ofModule, 0)
		if len(args) != 1 || args[0].Rest {
			d.fail(value.line, "variable %s has one value", name)
			return
		}
		f.Globals = append(f.Globals, Global{Name: name, Line: value.line, Arg: args[0]})
	}
}

// contract reads [contract].
func (d *decoder) contract(f *File, t *table) {
	n := t.get("contract")
	if n == nil {
		return
	}
	c := d.table(n, "[contract]")
	f.Contract = Contract{
		CountMultiple: c.optional("count_multiple", ofContract),
		Alignment:     c.optional("alignment", ofContract),
		MaxBytes:      c.optional("max_bytes", ofContract),
		InPlace:       d.oneOf(c, "in_place", "yes", "no", "only"),
		Order:         d.oneOf(c, "order", "rank", "any"),
		Accumulate:    c.text("accumulate").Text,
		Stepwise:      c.truth("stepwise"),
		MMultiple:     c.optional("m_multiple", ofContract),
		NMultiple:     c.optional("n_multiple", ofContract),
		KMultiple:     c.optional("k_multiple", ofContract),
		Tolerance:     c.optional("tolerance", ofBuffer),

		AbsoluteTolerance: c.optional("absolute_tolerance", ofBuffer),
	}
	if a := c.text("accumulate"); a.Text != "" {
		name, ok := parseType(a.Text)
		if !ok {
			d.fail(a.Line, "unknown element type %q%s", a.Text, didYouMean(a.Text, typeNames()))
		}
		f.Contract.Accumulate = name
	}
	if f.Contract.Order == "any" {
		f.Contract.Order = ""
	}
	d.checkProductContract(f, c)
	switch {
	case f.Collective == Custom:
	case f.Contract.Tolerance != nil:
		d.fail(n.line, "tolerance is for custom: the bounds of %s follow from its types", f.Collective)
	case f.Contract.AbsoluteTolerance != nil:
		d.fail(n.line, "absolute_tolerance is for custom: the bounds of %s follow from its types", f.Collective)
	}
	c.done()
}

// oneOf reads one of a few words.
func (d *decoder) oneOf(t *table, key string, words ...string) string {
	text := t.text(key)
	for _, w := range words {
		if text.Text == w || text.Text == "" {
			return text.Text
		}
	}
	d.fail(text.Line, "%s is %q, and must be one of %s", key, text.Text, strings.Join(words, ", "))
	return ""
}
