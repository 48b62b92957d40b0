package exec

import "strings"

// meeting is a .sync instruction at which lanes exchange values: shfl, vote, match, redux or elect. Lanes meet that
// execute one with the same qualifiers and the same member mask, be it at one place or at several (PTX ISA,
// "shfl.sync" and others).
type meeting struct {
	qualifiers string
	members    int32 // the register of member masks
	pred       int32 // that vote reads, and which bits of it are negated
	flip       uint32
	writes     bool // register op.d; predicate op.p is written unless it is -1
	// exchange computes what each lane of a group gets, whose lanes have the same member mask.
	exchange func(v *exchanged, group uint32)
}

// exchanged is what lanes bring to a meeting, and what they get: a value for each lane.
type exchanged struct {
	in   [3]*lanes
	yes  uint32 // of the predicate
	out  lanes
	pred uint32
}

// meeting begins an instruction of which lanes meet.
func (c *compiler) meeting() *meeting {
	if !c.has("sync") {
		c.fail("%s needs .sync", c.in.Op)
	}
	return &meeting{qualifiers: c.in.Op + "." + strings.Join(c.in.Mods, "."), writes: true}
}

// meets makes an op a meeting.
func (c *compiler) meets(o *op, m *meeting) {
	o.kind, o.meeting, o.control = opControl, m, exchangeLanes
}

// exchangeLanes lets those lanes of the running path go on whose partners have all come. The others are put aside.
func exchangeLanes(w *warp, o *op, mask uint32) (verdict, error) {
	m := o.meeting
	var ready, elsewhere uint32
	for rest := mask; rest != 0; rest &= rest - 1 {
		lane := lowest(rest)
		want := uint32(w.regs[m.members][lane])
		if want>>lane&1 == 0 {
			return suspended, w.fault(IllegalInstruction, lane, "lane %d is not in its own member mask %#x", lane, want)
		}
		missing := want & w.live &^ mask
		if missing != 0 && missing&^w.waitingAt(m, want) != 0 {
			continue
		}
		ready |= 1 << lane
		elsewhere |= missing
	}
	if rest := mask &^ ready; rest != 0 {
		s := w.current
		s.mask, s.state = rest, reconverging
		w.pushPath(s)
		w.current.mask = ready
	}
	if ready == 0 {
		return suspended, nil
	}
	v := exchanged{in: w.brought(o), yes: w.preds[m.pred] ^ m.flip}
	if elsewhere != 0 {
		v = w.gather(v, m, elsewhere)
	}
	for left := ready; left != 0; {
		group := uint32(w.regs[m.members][lowest(left)]) & (ready | elsewhere)
		m.exchange(&v, group)
		left &^= group
	}
	w.deliver(o, &v, ready)
	w.metElsewhere = elsewhere
	for i := 0; i < w.others && elsewhere != 0; i++ {
		if s := &w.paths[i]; s.waitsAt(w, m) && s.mask&elsewhere != 0 {
			elsewhere &^= w.endMeeting(s, &v, s.mask&elsewhere)
		}
	}
	return proceed, nil
}

// waitsAt reports whether a path waits at a meeting with the same qualifiers.
func (s *path) waitsAt(w *warp, m *meeting) bool {
	other := w.grid.kernel.code[s.pc].meeting
	return s.state == reconverging && other != nil && other.qualifiers == m.qualifiers
}

// waitingAt returns the lanes of other paths that wait at a meeting with the same qualifiers and this member mask.
func (w *warp) waitingAt(m *meeting, want uint32) (waiting uint32) {
	for i := range w.paths[:w.others] {
		s := &w.paths[i]
		if !s.waitsAt(w, m) {
			continue
		}
		members := w.grid.kernel.code[s.pc].meeting.members
		for rest := s.mask & want; rest != 0; rest &= rest - 1 {
			if lane := lowest(rest); uint32(w.regs[members][lane]) == want {
				waiting |= 1 << lane
			}
		}
	}
	return waiting
}

// brought is what all lanes have in the operands of a meeting.
func (w *warp) brought(o *op) [3]*lanes { return [3]*lanes{&w.regs[o.a], &w.regs[o.b], &w.regs[o.c]} }

// gather adds what lanes of other paths bring to a meeting.
func (w *warp) gather(v exchanged, m *meeting, lanesOf uint32) exchanged {
	var in [3]lanes
	for i := range in {
		in[i] = *v.in[i]
		v.in[i] = &in[i]
	}
	for _, s := range w.paths[:w.others] {
		from := s.mask & lanesOf
		if from == 0 || !s.waitsAt(w, m) {
			continue
		}
		o := &w.grid.kernel.code[s.pc]
		w.expandOperands(o)
		for i, brought := range w.brought(o) {
			choose(&in[i], brought, &in[i], from)
		}
		v.yes = v.yes&^from | (w.preds[o.meeting.pred]^o.meeting.flip)&from
	}
	return v
}

// endMeeting lets lanes of a path that waits at a meeting go on, and returns them. The other lanes stay there.
func (w *warp) endMeeting(s *path, v *exchanged, met uint32) uint32 {
	w.deliver(&w.grid.kernel.code[s.pc], v, met)
	waits := *s
	s.mask, s.state = met, runnable
	s.pc++
	if waits.mask &^= met; waits.mask != 0 {
		w.pushPath(waits)
	}
	return met
}

// deliver writes what lanes get from a meeting.
func (w *warp) deliver(o *op, v *exchanged, to uint32) {
	if o.meeting.writes {
		w.setReg(o.d, &v.out, to)
	}
	w.setPred(o.p, v.pred, to)
}
