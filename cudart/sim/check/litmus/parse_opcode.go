package litmus

import (
	"fmt"
	"slices"
	"strings"
)

var (
	orders = map[string]Order{
		"weak": Weak, "relaxed": Relaxed, "acquire": Acquire, "release": Release, "acq_rel": AcquireRelease,
		"sc": SequentiallyConsistent, "volatile": Relaxed,
	}
	scopes  = map[string]Scope{"cta": CTA, "gpu": GPU, "sys": System}
	proxies = map[string]Proxy{
		"generic": Generic, "surface": Surface, "texture": Texture, "constant": Constant, "alias": Alias,
	}
	// accesses are the opcodes of memory operations, with their proxies.
	accesses = map[string]struct {
		opcode Opcode
		proxy  Proxy
	}{
		"ld": {Load, Generic}, "st": {Store, Generic}, "atom": {Atomic, Generic}, "red": {Atomic, Generic},
		"tld": {Load, Texture}, "suld": {Load, Surface}, "cold": {Load, Constant}, "sust": {Store, Surface},
		"suatom": {Atomic, Surface}, "sured": {Atomic, Surface},
	}
)

// instruction reads the instruction. The name is the label of a branch.
func (w *words) instruction() (in Instruction, label string, err error) {
	in.Register = -1
	switch name := w.names[0]; name {
	case "add", "sub", "mul", "div", "and", "or", "xor":
		in.Opcode, in.Operation = Arithmetic, name
		err = w.result(&in, 3)
	case "mov":
		err = w.result(&in, 2)
	case "beq", "bne", "blt", "bgt", "ble", "bge":
		in.Opcode, in.Operation = Branch, name[1:]
		if err = w.finished(3); err == nil {
			label = w.operands[2]
			in.Operands, err = w.values(w.operands[:2])
		}
	case "goto", "bra":
		in.Opcode = Branch
		if err = w.finished(1); err == nil {
			label = w.operands[0]
		}
	case "fence":
		err = w.fence(&in)
	case "membar":
		w.names = append(w.names, "sc")
		if w.take("gl") {
			w.names = append(w.names, "gpu")
		}
		err = w.fence(&in)
	case "bar", "barrier":
		err = w.barrier(&in)
	default:
		if _, ok := accesses[name]; !ok {
			return in, "", &Unsupported{w.line, "the instruction " + strings.Join(w.names, ".")}
		}
		err = w.access(&in)
	}
	return in, label, err
}

// result reads a destination and the values of which it is made.
func (w *words) result(in *Instruction, operands int) error {
	err := w.finished(operands)
	if err != nil {
		return err
	}
	if in.Register, err = w.destination(w.operands[0]); err != nil {
		return err
	}
	in.Operands, err = w.values(w.operands[1:])
	return err
}

// strength reads order and scope of a memory operation or a fence, with the order that it has when it names none.
func (w *words) strength(in *Instruction, otherwise Order) error {
	order, name := choose(w, orders)
	if in.Order = order; name == "" {
		in.Order = otherwise
	}
	if name == "volatile" {
		in.Scope = System
	}
	if slices.Contains(w.names[1:], "cluster") {
		return &Unsupported{w.line, "the scope .cluster"}
	}
	scope, scopeName := choose(w, scopes)
	if scopeName != "" {
		if name == "volatile" || in.Order == Weak {
			return fmt.Errorf("a weak or volatile access has no scope .%s", scopeName)
		}
		in.Scope = scope
	}
	switch {
	case in.Order == Weak || in.Scope != NoScope:
		return nil
	case in.Opcode == Atomic:
		in.Scope = GPU // that of atom and red without one
		return nil
	}
	return fmt.Errorf("the scope is missing: .cta, .gpu or .sys")
}

func (w *words) fence(in *Instruction) error {
	if w.take("proxy") {
		proxy, name := choose(w, proxies)
		if name == "" {
			return &Unsupported{w.line, strings.Join(append([]string{"fence.proxy"}, w.names[1:]...), ".")}
		}
		in.Opcode, in.Proxy = ProxyFence, proxy
		return w.finished(0)
	}
	in.Opcode, in.Proxy = Fence, Generic
	if err := w.strength(in, AcquireRelease); err != nil {
		return err
	}
	if in.Order < Acquire {
		return fmt.Errorf("no fence has that order")
	}
	return w.finished(0)
}

// barrier reads bar.cta.sync i, b, n: instruction i, barrier b, n threads; or bar.sync b, n; or one that arrives.
func (w *words) barrier(in *Instruction) error {
	in.Opcode = Barrier
	cta := w.take("cta")
	in.Barrier.Static = cta && w.names[0] == "bar"
	w.take("aligned")
	in.Barrier.Arrive = w.take("arrive")
	if !in.Barrier.Arrive && !w.take("sync") {
		return &Unsupported{w.line, "a barrier other than .sync and .arrive"}
	}
	most := 2
	if in.Barrier.Static {
		most = 3
	} else if in.Barrier.Arrive && len(w.operands) < 2 {
		return fmt.Errorf("it needs the number of threads as its second operand")
	}
	if len(w.operands) < 1 || len(w.operands) > most {
		return fmt.Errorf("%d operands, and 1 to %d are allowed", len(w.operands), most)
	}
	if err := w.finished(len(w.operands)); err != nil {
		return err
	}
	var err error
	in.Operands, err = w.values(w.operands)
	return err
}
