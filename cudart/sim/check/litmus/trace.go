package litmus

import (
	"fmt"
	"slices"
)

// kind is what an event does.
type kind uint8

const (
	read kind = iota
	write
	fence
	proxyFence
	barrier
)

// event is what an instruction does in an execution. An atomic operation is a read and the write behind it.
type event struct {
	kind   kind
	in     *Instruction // nil for the initial writes
	thread int          // -1 for the initial writes
	order  Order
	scope  Scope
	proxy  Proxy
	// location is the index of a read or write in Test.Locations, and value what it reads or writes.
	location int
	value    int64
	update   bool // the read or the write of an atomic operation
	// depends are the reads of the thread, by number in its trace, on which value or execution depends, and data those
	// on which the value does.
	depends, data set
	barrier       arrival
}

// arrival is what a thread says at a barrier.
type arrival struct {
	form            BarrierForm
	instruction, id int64 // instruction is 0 without BarrierForm.Static; id is -1 where none was given
	count           int64 // 0 for all
}

// trace is a run of one thread, with a guess for what each read returns.
type trace struct {
	events    []event
	registers []int64
}

// walk makes the traces of a thread.
type walk struct {
	*explorer
	number int
	thread *Thread
	out    []trace
}

// step is where a walk is.
type step struct {
	at        int
	registers []int64
	origins   []set // the reads on which the value of each register depends
	control   set   // the reads on which the branches so far depend
	events    []event
	jumps     []int // how often each instruction has jumped backwards
}

func (s step) clone() step {
	s.registers, s.origins = slices.Clone(s.registers), slices.Clone(s.origins)
	s.events, s.jumps = slices.Clone(s.events), slices.Clone(s.jumps)
	return s
}

func (s *step) operand(o Operand) (int64, set) {
	if o.Register < 0 {
		return o.Value, 0
	}
	return s.registers[o.Register], s.origins[o.Register]
}

func (s *step) assign(register int, value int64, origins set) {
	if register >= 0 {
		s.registers[register], s.origins[register] = value, origins
	}
}

// traces lists the runs of a thread in which each read returns a value that its memory may have.
func (x *explorer) traces(number int) (*walk, error) {
	t := &x.test.Threads[number]
	w := &walk{explorer: x, number: number, thread: t}
	s := step{origins: make([]set, len(t.Registers)), jumps: make([]int, len(t.Code))}
	for _, r := range t.Registers {
		s.registers = append(s.registers, r.Initial)
	}
	return w, w.run(s)
}

// run executes instructions until the thread ends. A read continues once for each value.
func (w *walk) run(s step) error {
	for s.at < len(w.thread.Code) {
		if len(s.events) > maxEvents-2 {
			return fmt.Errorf("%s does more than %d things; shorten it", w.thread.Name, maxEvents)
		}
		in := &w.thread.Code[s.at]
		s.at++
		switch in.Opcode {
		case Move:
			v, from := s.operand(in.Operands[0])
			s.assign(in.Register, v, from)
		case Arithmetic:
			a, from := s.operand(in.Operands[0])
			b, and := s.operand(in.Operands[1])
			v, err := calculate(in.Operation, a, b)
			if err != nil {
				return fmt.Errorf("line %d: %s: %w", in.Line, in.Text, err)
			}
			s.assign(in.Register, v, from|and)
		case Branch:
			if !w.branch(&s, in) {
				w.bounded = true
				return nil
			}
		case Load, Atomic:
			return w.reads(s, in)
		default:
			s.events = append(s.events, w.event(&s, in))
		}
	}
	w.out = append(w.out, trace{s.events, s.registers})
	return nil
}

// branch jumps, and reports whether the loop is still within its bound.
func (w *walk) branch(s *step, in *Instruction) bool {
	if in.Operation != "" {
		a, from := s.operand(in.Operands[0])
		b, and := s.operand(in.Operands[1])
		s.control |= from | and
		if !comparison(in.Operation, a, b) {
			return true
		}
	}
	if in.Target < s.at {
		s.jumps[s.at-1]++
		if s.jumps[s.at-1] > w.options.Unroll {
			return false
		}
	}
	s.at = in.Target
	return true
}

// event is that of an instruction that reads nothing.
func (w *walk) event(s *step, in *Instruction) event {
	e := event{
		in: in, thread: w.number, order: in.Order, scope: in.Scope, proxy: in.Proxy, location: in.Location,
		depends: s.control,
	}
	switch in.Opcode {
	case Store:
		v, from := s.operand(in.Operands[0])
		e.kind, e.value, e.depends, e.data = write, v, e.depends|from, from
	case Fence:
		e.kind = fence
	case ProxyFence:
		e.kind = proxyFence
	case Barrier:
		e.kind, e.barrier = barrier, arrive(s, in)
	}
	return e
}

func arrive(s *step, in *Instruction) arrival {
	a := arrival{form: in.Barrier, id: -1}
	operands := in.Operands
	if in.Barrier.Static {
		a.instruction, _ = s.operand(operands[0])
		operands = operands[1:]
	}
	if len(operands) > 0 {
		a.id, _ = s.operand(operands[0])
	}
	if len(operands) > 1 {
		a.count, _ = s.operand(operands[1])
	}
	return a
}

// reads continues a run for each value that a load or an atomic operation may find.
func (w *walk) reads(s step, in *Instruction) error {
	for _, v := range w.values.of(w.test.Locations[in.Location].Memory) {
		if !w.spend() {
			return w.enough()
		}
		next := s.clone()
		r := event{
			kind: read, in: in, thread: w.number, order: in.Order, scope: in.Scope, proxy: in.Proxy, location: in.Location,
			value: v, update: in.Opcode == Atomic, depends: s.control,
		}
		origin := set(1) << len(s.events)
		next.events = append(next.events, r)
		if in.Opcode == Atomic {
			stored, from := replace(&next, in, v, origin)
			r.kind, r.value, r.depends, r.data = write, stored, r.depends|from, from
			next.events = append(next.events, r)
		}
		next.assign(in.Register, v, origin)
		if err := w.run(next); err != nil {
			return err
		}
	}
	return nil
}

// replace is what an atomic operation writes for the value that it has read, and on which reads this depends.
func replace(s *step, in *Instruction, old int64, origin set) (int64, set) {
	operand, from := s.operand(in.Operands[0])
	switch in.Operation {
	case "exch":
		return operand, from
	case "cas": // one that fails writes what it has read
		if stored, and := s.operand(in.Operands[1]); old == operand {
			return stored, from | and | origin
		}
		return old, from | origin
	}
	v, _ := calculate(in.Operation, old, operand) // only a division fails
	return v, from | origin
}
