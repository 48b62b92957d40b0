package exec

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// printfSpec is one "%[flags][width][.precision][size]type" of a format, without size and type.
type printfSpec struct {
	spec  string // as Go's fmt takes it
	bytes uint64 // of an integer argument
	bits  int    // of them that count
}

// conversion formats what format begins with, and returns its length. An unknown type is printed as it
// stands.
func (p *printer) conversion(format string) int {
	c, i := printfSpec{spec: "%", bytes: 4, bits: 32}, 1
	for ; i < len(format) && strings.IndexByte("-+ #0123456789.*", format[i]) >= 0; i++ {
		if format[i] != '*' {
			c.spec += format[i : i+1]
			continue
		}
		n := int32(p.next(4))
		if c.spec[len(c.spec)-1] == '.' && n < 0 { // as if there were none
			c.spec = c.spec[:len(c.spec)-1]
			continue
		}
		c.spec += strconv.Itoa(int(n))
	}
	for ; i < len(format) && strings.IndexByte("hlLqjzt", format[i]) >= 0; i++ {
		switch format[i] {
		case 'h':
			c.bits /= 2
		case 'l', 'q', 'j', 'z', 't':
			c.bytes, c.bits = 8, 64
		}
	}
	if i == len(format) {
		p.out.WriteString(format)
		return i
	}
	if !p.value(c, format[i]) {
		p.out.WriteString(format[:i+1])
	}
	return i + 1
}

// value formats an argument. It reports whether it knows the type.
func (p *printer) value(c printfSpec, typ byte) bool {
	switch typ {
	case '%':
		p.out.WriteByte('%')
	case 'd', 'i':
		shift := 64 - max(c.bits, 8)
		fmt.Fprintf(&p.out, c.spec+"d", int64(p.next(c.bytes)<<shift)>>shift)
	case 'u', 'o', 'x', 'X':
		v := p.next(c.bytes) & widthMask(max(c.bits, 8))
		fmt.Fprintf(&p.out, c.unsigned(typ, v), v)
	case 'e', 'E', 'f', 'F', 'g', 'G', 'a', 'A':
		p.out.WriteString(c.float(typ, math.Float64frombits(p.next(8))))
	case 'c':
		fmt.Fprintf(&p.out, c.without("0+ #")+"s", []byte{byte(p.next(4))})
	case 's':
		text, err := p.warp.text(p.next(8), p.lane)
		if p.err == nil {
			p.err = err
		}
		fmt.Fprintf(&p.out, c.without("0+ #")+"s", text)
	case 'p':
		fmt.Fprintf(&p.out, c.without("0+ #")+"s", fmt.Sprintf("%#x", p.next(8)))
	default:
		return false
	}
	return true
}

// without is the conversion without some flags. Zeros of a width are no flags.
func (c printfSpec) without(flags string) string {
	rest := strings.TrimLeft(c.spec[1:], "-+ #0")
	kept := strings.Map(func(r rune) rune {
		if strings.ContainsRune(flags, r) {
			return -1
		}
		return r
	}, c.spec[1:len(c.spec)-len(rest)])
	return "%" + kept + rest
}

// unsigned is the format of an unsigned number in Go: signs do not apply, and 0 has no prefix.
func (c printfSpec) unsigned(typ byte, v uint64) string {
	flags := "+ "
	if v == 0 && typ != 'o' || typ == 'u' {
		flags += "#"
	}
	if typ == 'u' {
		typ = 'd'
	}
	return c.without(flags) + string(typ)
}

// float formats as C does: 6 digits by default, "inf" and "nan" padded with spaces, and hexadecimal exponents
// without leading zeros.
func (c printfSpec) float(typ byte, v float64) string {
	upper := 'A' <= typ && typ <= 'Z'
	var text string
	switch {
	case math.IsInf(v, 0) || math.IsNaN(v):
		text = fmt.Sprintf(c.width()+"s", c.special(v))
	case typ == 'a' || typ == 'A':
		text = fmt.Sprintf(c.width()+"s", hexFloat(v))
	case !strings.Contains(c.spec, "."):
		text = fmt.Sprintf(c.spec+".6"+string(typ), v)
	default:
		text = fmt.Sprintf(c.spec+string(typ), v)
	}
	if upper {
		return strings.ToUpper(text)
	}
	return text
}

// special is an infinity or no number.
func (c printfSpec) special(v float64) string {
	name, sign := "nan", c.sign()
	if math.IsInf(v, 0) {
		name = "inf"
	}
	if math.Signbit(v) {
		sign = "-"
	}
	return sign + name
}

// sign is the flag for positive numbers.
func (c printfSpec) sign() string {
	switch {
	case strings.Contains(c.spec, "+"):
		return "+"
	case strings.Contains(c.spec, " "):
		return " "
	}
	return ""
}

// width is the conversion with nothing but width and the flag that aligns to the left.
func (c printfSpec) width() string {
	spec, _, _ := strings.Cut(c.without("+ #0"), ".")
	return spec
}

// hexFloat is C's %a.
func hexFloat(v float64) string {
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(v, 'x', -1, 64), "p")
	n, _ := strconv.Atoi(exponent)
	return fmt.Sprintf("%sp%+d", mantissa, n)
}
