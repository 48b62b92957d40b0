package litmus

import "fmt"

// atomics are the operations of atom and red, with the number of values that each takes.
var atomics = map[string]int{
	"add": 1, "sub": 1, "and": 1, "or": 1, "xor": 1, "min": 1, "max": 1, "inc": 1, "dec": 1,
	"exch": 1, "cas": 2,
}

// access reads a load, a store, or an atomic operation.
func (w *words) access(in *Instruction) error {
	a := accesses[w.names[0]]
	in.Opcode, in.Proxy = a.opcode, a.proxy
	returns := a.opcode == Load || w.names[0] == "atom" || w.names[0] == "suatom"
	count := 0
	switch a.opcode {
	case Store:
		count = 1
	case Atomic:
		count, in.Operation = choose(w, atomics)
		if in.Operation == "" || !returns && (in.Operation == "exch" || in.Operation == "cas") {
			return fmt.Errorf("no operation that %s has", w.names[0])
		}
	case Load:
		if len(w.names) == 1 && len(w.operands) == 2 && isValue(w.operands[1]) { // ld r0, 1
			in.Opcode = Move
			return w.result(in, 2)
		}
	}
	otherwise := Weak
	if a.opcode == Atomic {
		otherwise = Relaxed
	}
	if err := w.strength(in, otherwise); err != nil {
		return err
	}
	if err := allowed(in); err != nil {
		return err
	}
	return w.places(in, returns, count)
}

// allowed is an error where an access cannot have its order.
func allowed(in *Instruction) error {
	wrong := false
	switch in.Opcode {
	case Load:
		wrong = in.Order >= Release
	case Store:
		wrong = in.Order == Acquire || in.Order >= AcquireRelease
	case Atomic:
		wrong = in.Order == Weak || in.Order == SequentiallyConsistent
	}
	if wrong {
		return fmt.Errorf("no access of this kind has that order")
	}
	return nil
}

// places reads the operands of an access: a register, a location, and so many values.
func (w *words) places(in *Instruction, returns bool, count int) error {
	at := 0
	if returns {
		at = 1
	}
	err := w.finished(at + 1 + count)
	if err != nil {
		return err
	}
	if returns {
		if in.Register, err = w.destination(w.operands[0]); err != nil {
			return err
		}
	}
	if in.Location, err = w.location(w.operands[at]); err != nil {
		return err
	}
	in.Operands, err = w.values(w.operands[at+1:])
	return err
}

func isValue(operand string) bool {
	_, err := number(operand)
	return err == nil || registerName.MatchString(operand)
}
