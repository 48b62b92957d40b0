package ptx

import (
	"encoding/binary"
	"math"
)

// parseInit reads an initializer. The rows are those of parseBounds.
func (p *parser) parseInit(v *Var, rows []int64) error {
	if !p.is("{") {
		return p.parseDatum(v)
	}
	return p.parseBraces(v, rows)
}

// parseBraces reads a list in braces. A list in it is a row of the array; what it leaves out is zero (5.4.4).
func (p *parser) parseBraces(v *Var, rows []int64) error {
	if len(rows) == 0 {
		return p.errorf("the initializer of %s is nested deeper than its array", shorten(v.Name))
	}
	p.advance()
	for !p.accept("}") {
		start, err := int64(len(v.Init)), error(nil)
		switch {
		case p.accept(","):
		case p.is("{"):
			if err = p.parseBraces(v, rows[1:]); err == nil {
				err = p.finishRow(v, start, rows[0])
			}
		default:
			err = p.parseDatum(v)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// finishRow fills a row that begins at start up to its size.
func (p *parser) finishRow(v *Var, start, size int64) error {
	missing := start + size - int64(len(v.Init))
	switch {
	case size > 0 && start%size != 0:
		return p.errorf("a row in the initializer of %s begins inside of another", shorten(v.Name))
	case missing < 0 || v.Size > 0 && start+size > v.Size:
		return p.errorf("the initializer of %s is longer than its row of %d bytes", shorten(v.Name), size)
	}
	if p.padding += missing; p.padding > maxPadding {
		return p.errorf("the rows of initializers may leave out at most %d bytes of the module", maxPadding)
	}
	v.Init = append(v.Init, make([]byte, missing)...)
	return nil
}

// parseDatum reads one element: a number, the address of a variable or a function, as in
// "generic(name)+8", or a byte of an address, as in "0xff00(name)".
func (p *parser) parseDatum(v *Var) error {
	at, size := int64(len(v.Init)), v.Type.Width()/8
	if v.Size > 0 && at+int64(size) > v.Size {
		return p.errorf("the initializer of %s is longer than its %d bytes", shorten(v.Name), v.Size)
	}
	var bits uint64
	if p.tok.kind == tokWord {
		ref, err := p.parseReloc()
		if err != nil {
			return err
		}
		ref.Offset, ref.Bytes = at, uint8(size)
		if v.Refs = append(v.Refs, ref); len(v.Refs) > maxRelocs {
			return p.errorf("an initializer may name at most %d addresses", maxRelocs)
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
