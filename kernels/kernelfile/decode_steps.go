package kernelfile

import "strings"

// launchKeys are those of a launch, at the top level or of a step.
var launchKeys = []string{
	"module", "source", "compile", "entry", "match", "grid", "block", "cluster", "shared", "cooperative", "pdl",
	"resident", "args", "when",
}

// steps reads the launch at the top level, or the list of steps.
func (d *decoder) steps(f *File, t *table) {
	top := d.code(t)
	list := t.get("steps")
	if list == nil {
		f.Steps = []Step{{Line: t.node.line, When: d.when(t), Launch: d.launch(t, top)}}
		return
	}
	for _, key := range launchKeys[3:] {
		if n := t.get(key); n != nil {
			d.fail(n.line, "%s belongs into one of steps, because the file has steps", key)
		}
	}
	items := d.items(list, "steps")
	if len(items) > maxSteps {
		d.fail(list.line, "there are more than %d steps", maxSteps)
		return
	}
	for _, item := range items {
		f.Steps = append(f.Steps, d.step(item, top))
	}
}

// code reads where the code is.
func (d *decoder) code(t *table) Code {
	c := Code{
		Module: t.text("module"), Source: t.text("source"), Compile: t.text("compile"),
		Entry: t.text("entry"), Match: t.text("match"),
	}
	for _, text := range []Text{c.Module, c.Source, c.Compile, c.Entry, c.Match} {
		d.placeholders(text, text == c.Compile)
	}
	switch {
	case c.Module.Text != "" && c.Source.Text != "":
		d.fail(c.Source.Line, "module and source: the code is in one of them")
	case c.Source.Text != "" && c.Compile.Text == "":
		d.fail(c.Source.Line, `source needs compile = "nvcc -ptx -arch=sm_90 -o {output} {source}", or another command`)
	case c.Source.Text == "" && c.Compile.Text != "":
		d.fail(c.Compile.Line, "compile needs source, the file to compile")
	case c.Compile.Text != "" && !strings.Contains(c.Compile.Text, "{output}"):
		d.fail(c.Compile.Line, "compile does not say where {output} belongs")
	case c.Entry.Text != "" && c.Match.Text != "":
		d.fail(c.Match.Line, "entry and match: a kernel is named by one of them")
	}
	return c
}

// launch reads a launch. What it does not say of the code is as at the top level.
func (d *decoder) launch(t *table, top Code) *Launch {
	l := &Launch{Code: d.code(t)}
	if l.Module.Text == "" && l.Source.Text == "" {
		l.Module, l.Source, l.Compile = top.Module, top.Source, top.Compile
	}
	if l.Module.Text == "" && l.Source.Text == "" {
		d.fail(t.node.line, `%s does not say where its code is: write module = "FILE.ptx", or source and compile`, t.what)
	}
	l.Grid = d.exprs(t.get("grid"), "grid", 3, ofLaunch)
	l.Block = d.exprs(t.get("block"), "block", 3, ofLaunch)
	l.Cluster = d.exprs(t.get("cluster"), "cluster", 3, ofLaunch)
	if len(l.Grid) == 0 {
		d.fail(t.node.line, "%s has no grid: write how many blocks there are", t.what)
	}
	l.Shared = t.number("shared", ofArgs&^bufferFuncs)
	l.Resident = t.optional("resident", ofArgs&^bufferFuncs)
	l.Cooperative, l.PDL = t.truth("cooperative"), t.truth("pdl")
	l.Args = d.args(t.get("args"), "args", ofArgs, 0)
	for i, a := range l.Args {
		if a.Rest && i != len(l.Args)-1 {
			d.fail(a.Line, `null = "rest" is only for the last argument of a kernel`)
		}
	}
	return l
}

// when reads the condition of a step.
func (d *decoder) when(t *table) *Expr {
	n := t.get("when")
	if n == nil {
		return nil
	}
	e := d.expr(n, "when", truth, ofStep)
	return &e
}

func (d *decoder) step(n *node, top Code) Step {
	t := d.table(n, "a step")
	s := Step{Line: n.line, When: d.when(t)}
	fill, copied := t.get("fill"), t.get("copy")
	s.Barrier = t.truth("barrier")
	switch {
	case fill != nil && copied != nil, s.Barrier && (fill != nil || copied != nil):
		d.fail(n.line, "a step is one of a launch, fill, copy and barrier")
	case fill != nil:
		s.Fill = d.fill(t, fill)
	case copied != nil:
		s.Copy = d.copy(t, copied)
	case !s.Barrier:
		t.what = "a launch"
		s.Launch = d.launch(t, top)
	}
	t.done()
	return s
}

func (d *decoder) fill(t *table, n *node) *Fill {
	t.what = "a step fill"
	return &Fill{
		Buffer: d.bufferName(n, "fill"),
		Value:  t.number("value", ofStep),
		Offset: t.number("offset", ofStep),
		Bytes:  t.number("bytes", ofStep),
	}
}

func (d *decoder) copy(t *table, n *node) *Copy {
	t.what = "a step copy"
	c := &Copy{
		From:       d.bufferName(n, "copy"),
		FromRank:   t.optional("from_rank", ofStep),
		ToRank:     t.optional("to_rank", ofStep),
		FromOffset: t.number("from_offset", ofStep),
		ToOffset:   t.number("to_offset", ofStep),
		Bytes:      t.number("bytes", ofStep),
	}
	if to := t.get("to"); to != nil {
		c.To = d.bufferName(to, "to")
	} else {
		d.fail(n.line, "copy needs to, the buffer that is written")
	}
	return c
}

// reference reads the launch that computes the outputs of a custom file.
func (d *decoder) reference(f *File, t *table) {
	n := t.get("reference")
	if n == nil {
		return
	}
	if f.Collective != Custom {
		d.fail(n.line, "[reference] is for custom: gpurun itself knows what %s computes", f.Collective)
		return
	}
	r := d.table(n, "[reference]")
	f.Reference = &Step{Line: n.line, Launch: d.launch(r, f.firstCode())}
	r.done()
	d.checkReference(f, f.Reference.Launch.Args)
}

// checkReference refuses what is not on the one device where the reference runs.
func (d *decoder) checkReference(f *File, args []Arg) {
	for i := range args {
		a := &args[i]
		d.checkReference(f, a.Members)
		b := f.buffer(a.Buffer.Text)
		switch {
		case a.Buffer.Text == "":
		case b == nil || b.Role == Scratch:
			d.fail(a.Line, "[reference] has inputs and outputs alone, and buffer %s is neither", a.Buffer.Text)
		case a.Kind == Multicast:
			d.fail(a.Line, "[reference] runs on one device, where %s has no multicast address", a.Buffer.Text)
		}
	}
}

// firstCode is that of the first launch.
func (f *File) firstCode() Code {
	for _, l := range f.Launches() {
		return l.Code
	}
	return Code{}
}

// Launches are the launches of the steps, in order, without that of Reference.
func (f *File) Launches() []*Launch {
	var all []*Launch
	for i := range f.Steps {
		if l := f.Steps[i].Launch; l != nil {
			all = append(all, l)
		}
	}
	return all
}
