package ptx

import (
	"encoding/binary"
	"math"
)

// parseInit reads an initialiser; nested braces only group.
func (p *parser) parseInit(v *Var) error {
	if !p.is("{") {
		return p.parseDatum(v)
	}
	for depth := 0; ; {
		switch {
		case p.accept("{"):
			depth++
		case p.accept("}"):
			if depth--; depth == 0 {
				return nil
			}
		case p.accept(","):
		default:
			if err := p.parseDatum(v); err != nil {
				return err
			}
		}
	}
}

// parseDatum reads one element: a number, the address of a variable or a function, as in
// "generic(name)+8", or a byte of an address, as in "0xff00(name)".
func (p *parser) parseDatum(v *Var) error {
	at, size := int64(len(v.Init)), v.Type.Width()/8
	if v.Size > 0 && at+int64(size) > v.Size {
		return p.errorf("the initialiser of %s is longer than its %d bytes", shorten(v.Name), v.Size)
	}
	var bits uint64
	if p.tok.kind == tokWord {
		ref, err := p.parseReloc()
		if err != nil {
			return err
		}
		ref.Offset, ref.Bytes = at, uint8(size)
		if v.Refs = append(v.Refs, ref); len(v.Refs) > maxRelocs {
			return p.errorf("an initialiser may name at most %d addresses", maxRelocs)
		}
	} else {
		n, err := p.number()
		if err != nil {
			return err
		}
		bits = initialBits(n, v.Type)
		if p.is("(") {
			return p.parseMasked(v, n.Bits)
		}
	}
	v.addInit(bits, size)
	return nil
}

func (v *Var) addInit(bits uint64, size int) {
	var word [16]byte
	binary.LittleEndian.PutUint64(word[:], bits)
	v.Init = append(v.Init, word[:size]...)
}

// parseMasked reads what follows the mask in "0xff00(name)", whose ones are those of one byte: that byte
// of the address is the element.
func (p *parser) parseMasked(v *Var, mask uint64) error {
	shift := uint8(0)
	for shift < 56 && mask != 0xff<<shift {
		shift += 8
	}
	if mask != 0xff<<shift {
		return p.errorf("a mask must have the ones of one byte, such as 0xff00")
	}
	p.advance()
	ref, err := p.parseReloc()
	if err != nil {
		return err
	}
	ref.Offset, ref.Bytes, ref.Shift = int64(len(v.Init)), 1, shift
	v.Refs = append(v.Refs, ref)
	v.addInit(0, v.Type.Width()/8)
	return p.expect(")")
}

// parseReloc reads "name+8" or "generic(name)+8". Generic addresses are those of all variables here.
func (p *parser) parseReloc() (Reloc, error) {
	name, err := p.word("the name of a variable or a function")
	if err == nil && name == "generic" && p.accept("(") {
		if name, err = p.word("the name of a variable"); err == nil {
			err = p.expect(")")
		}
	}
	if err != nil {
		return Reloc{}, err
	}
	p.module.Addressed[name] = true
	offset, err := p.offset()
	return Reloc{Symbol: name, Addend: offset}, err
}

// initialBits converts a literal to the bits of an element.
func initialBits(n Operand, t Type) uint64 {
	switch {
	case n.Kind == Float64 && t.Width() == 32:
		return uint64(math.Float32bits(float32(math.Float64frombits(n.Bits))))
	case n.Kind == Float32 && t.Width() == 64:
		return math.Float64bits(float64(math.Float32frombits(uint32(n.Bits))))
	}
	return n.Bits
}
