package pack

import (
	"bytes"
	"strconv"
)

// Registers and labels have numbers, which differ between copies of the same code: in unrolled loops, and in the
// modules of one source. Counted from what is named before them, copies are equal, and compress to half of the bytes.
//
// A register is counted from the result of the last statement whose result is of the same class, where a statement's
// result is the register that it names first, behind its predicate. In braces a register is counted from the one before
// it, and a label everywhere from the label before it. Digits count down, + is one up, and + with digits is so many up:
//
//	mov.b32 %r6,%r2;        mov.b32 %r+,%r3;
//	add.s32 %r7,%r6,1;      add.s32 %r+,%r0,1;
//	@%p3 bra $L0_12;        @%p0 bra $L0_+2;

// relative counts the registers and labels of a text from what is named before them.
func relative(text []byte) []byte { return recount(text, readNumber, appendDistance) }

// absolute undoes relative.
func absolute(text []byte) []byte { return recount(text, readDistance, appendNumber) }

// recount copies a text. It reads the numbers of registers and labels in one notation and writes them in another. Both
// take the number that is counted from; read returns the length of what it read, 0 if no number is there.
func recount(
	text []byte, read func(text []byte, from int) (number, length int), write func(to []byte, number, from int) []byte,
) []byte {
	to := make([]byte, 0, len(text)+len(text)/4)
	var c counter
	for {
		plain := bytes.IndexAny(text, special)
		if plain < 0 {
			return append(to, text...)
		}
		n := plain + classAt(text[plain:])
		class := text[plain:n]
		to, text = append(to, text[:n]...), text[n:]
		if len(class) == 1 {
			c.pass(class[0])
			continue
		}
		from := c.from(class)
		if number, n := read(text, from); n > 0 {
			to, text = write(to, number, from), text[n:]
			c.take(class, number)
		}
	}
}

// special are the characters that recount looks at: the first of a class, and those that counter.pass takes.
const special = "%${}@\n"

// classAt is the length of what stands in front of the number of a register or label at the begin of a text: %r or
// $L0_. It is 1 where none begins.
func classAt(text []byte) int {
	n := 1
	switch text[0] {
	case '%':
		for n < len(text) && isLetter(text[n]) {
			n++
		}
	case '$':
		for n < len(text) && (isLetter(text[n]) || isDigit(text[n])) {
			n++
		}
		if n == len(text) || text[n] != '_' {
			return 1
		}
		n++
	}
	return n
}

// counter holds what the numbers of a statement are counted from.
type counter struct {
	last []register // the last result of each class, and the last label
	// Of the statement:
	result, beside    register // beside is the register before the next one
	guarded, inBraces bool     // guarded: the next register is the predicate
}

// register is one by its number, or a label.
type register struct {
	class  []byte // none: no register
	number int
}

// pass takes a character between the registers.
func (c *counter) pass(text byte) {
	switch text {
	case '{', '}':
		c.inBraces = text == '{'
	case '@':
		c.guarded = true
	case '\n':
		if c.result.class != nil {
			c.lastOf(c.result.class).number = c.result.number
		}
		*c = counter{last: c.last}
	}
}

// from is the number that the next one of a class is counted from.
func (c *counter) from(class []byte) int {
	if c.inBraces && bytes.Equal(c.beside.class, class) {
		return c.beside.number
	}
	return c.lastOf(class).number
}

// take takes a register or a label.
func (c *counter) take(class []byte, number int) {
	now := register{class, number}
	switch {
	case class[0] == '$':
		c.lastOf(class).number = number
		return
	case c.guarded:
		c.guarded = false
	case c.result.class == nil:
		c.result = now
	}
	c.beside = now
}

func (c *counter) lastOf(class []byte) *register {
	for i := range c.last {
		if bytes.Equal(c.last[i].class, class) {
			return &c.last[i]
		}
	}
	c.last = append(c.last, register{class: class})
	return &c.last[len(c.last)-1]
}

func readNumber(text []byte, _ int) (number, length int) {
	for length < len(text) && isDigit(text[length]) {
		number = 10*number + int(text[length]-'0')
		length++
	}
	return number, length
}

func appendNumber(to []byte, number, _ int) []byte { return strconv.AppendInt(to, int64(number), 10) }

func readDistance(text []byte, from int) (number, length int) {
	if len(text) == 0 || text[0] != '+' {
		down, length := readNumber(text, 0)
		return from - down, length
	}
	up, length := readNumber(text[1:], 0)
	if length == 0 {
		up = 1
	}
	return from + up, 1 + length
}

func appendDistance(to []byte, number, from int) []byte {
	switch up := number - from; {
	case up <= 0:
		return appendNumber(to, -up, 0)
	case up == 1:
		return append(to, '+')
	default:
		return appendNumber(append(to, '+'), up, 0)
	}
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
