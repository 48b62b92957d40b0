package kernelfile

import (
	"fmt"
	"strconv"
)

func (w *writer) buffer(b *Buffer, custom bool) {
	w.header("buffers." + bareKey(b.Name))
	if custom && b.Role != Scratch {
		w.text("role", map[Role]string{Input: "input", Output: "output"}[b.Role])
	}
	w.text("type", b.Type)
	w.expr("size", b.Size)
	if b.Align > 0 {
		w.line("align", strconv.FormatInt(b.Align, 10))
	}
	w.truth("private", b.Private)
	w.truth("host", b.Host)
	if b.Init != nil {
		w.line("init", fmt.Sprintf("{%s = %s}", b.Init.Type, literal(b.Init.Value)))
	}
	w.text("init_file", b.InitFile.Text)
	w.truth("reset", b.Reset)
	w.truth("restored", b.Restored)
	if b.Rotate > 1 {
		w.line("rotate", strconv.Itoa(b.Rotate))
	}
	w.optional("expect", b.Expect)
	w.text("expect_file", b.ExpectFile.Text)
}

func (w *writer) globals(all []Global) {
	if len(all) == 0 {
		return
	}
	w.header("globals")
	for i := range all {
		w.line(bareKey(all[i].Name), inlineArg(&all[i].Arg))
	}
}

func (w *writer) step(s *Step, shared Code) {
	w.WriteString("\n[[steps]]\n")
	w.optional("when", s.When)
	switch {
	case s.Launch != nil:
		w.launch(s.Launch, shared)
	case s.Fill != nil:
		w.text("fill", s.Fill.Buffer.Text)
		w.expr("value", s.Fill.Value)
		w.expr("offset", s.Fill.Offset)
		w.expr("bytes", s.Fill.Bytes)
	case s.Copy != nil:
		w.text("copy", s.Copy.From.Text)
		w.text("to", s.Copy.To.Text)
		w.optional("from_rank", s.Copy.FromRank)
		w.optional("to_rank", s.Copy.ToRank)
		w.expr("from_offset", s.Copy.FromOffset)
		w.expr("to_offset", s.Copy.ToOffset)
		w.expr("bytes", s.Copy.Bytes)
	}
	w.truth("barrier", s.Barrier)
}

func (w *writer) contract(c *Contract) {
	if *c == (Contract{}) {
		return
	}
	w.header("contract")
	w.optional("count_multiple", c.CountMultiple)
	w.optional("alignment", c.Alignment)
	w.optional("m_multiple", c.MMultiple)
	w.optional("n_multiple", c.NMultiple)
	w.optional("k_multiple", c.KMultiple)
	w.optional("max_bytes", c.MaxBytes)
	w.text("in_place", c.InPlace)
	w.text("order", c.Order)
	w.text("accumulate", c.Accumulate)
	w.truth("stepwise", c.Stepwise)
	w.optional("tolerance", c.Tolerance)
	w.optional("absolute_tolerance", c.AbsoluteTolerance)
}
