package kernelfile

import (
	"fmt"
	"strings"
)

// compiled is an expression that [Parse] has checked.
type compiled struct {
	root  *term
	kind  valueKind
	names names  // what it depends on, through [let] as well
	used  letSet // through others of [let] as well
	own   int    // steps of an evaluation without those of used
	cost  int    // and with them
}

// IsZero reports whether the expression is absent.
func (e Expr) IsZero() bool { return e.Text == "" }

func (e Expr) String() string { return e.Text }

// env is what an expression is evaluated over.
type env struct {
	file        *File
	call        Call
	memory      Memory
	grid, block int64
	i           int64
	sizes       map[string]int64 // of buffers: they depend on the call alone, and not on its number
	lets        []letValue       // by letTerm.at
	evaluation  int64            // counts evaluations: the number of the current one
	depth       int              // 1 in an evaluation, 2 in the size of a buffer that it asks for
}

// letValue is the value that an expression of [let] had in an evaluation.
type letValue struct {
	value      value
	evaluation int64
}

// fail says of an expression what is wrong with it for this rank.
func (e *env) fail(x Expr, reason string) error {
	return e.file.errorAt(x.Line, "for rank %d of %d, %q %s", e.call.Rank, e.call.World, x.Text, reason)
}

// value evaluates an expression, and each expression of [let] that it uses once. The size of a buffer that length()
// asks for is a part of the evaluation: it finds the same values.
func (e *env) value(x Expr) (value, error) {
	if x.root == nil {
		return value{}, e.fail(x, "has not been checked by Parse")
	}
	if e.depth == 0 {
		e.evaluation++
	}
	e.depth++
	v, err := x.root.eval(e)
	e.depth--
	if err != nil {
		return value{}, e.fail(x, err.Error())
	}
	return v, nil
}

// let is the value of an expression of [let].
func (e *env) let(l *letTerm) (value, error) {
	if l.at < len(e.lets) && e.lets[l.at].evaluation == e.evaluation {
		return e.lets[l.at].value, nil
	}
	v, err := l.expr.root.eval(e)
	if err != nil {
		return value{}, err
	}
	if l.at >= len(e.lets) {
		e.lets = append(e.lets, make([]letValue, l.at+1-len(e.lets))...)
	}
	e.lets[l.at] = letValue{v, e.evaluation}
	return v, nil
}

// truth evaluates a condition.
func (e *env) truth(x Expr) (bool, error) {
	v, err := e.value(x)
	return v.truth, err
}

// whole evaluates an expression that must be a whole number.
func (e *env) whole(x Expr) (value, error) {
	v, err := e.value(x)
	if err != nil {
		return value{}, err
	}
	n, ok := v.whole()
	if !ok {
		return value{}, e.fail(x, fmt.Sprintf("is %s, which is not a whole number: write ceil(...) or floor(...)", v))
	}
	return n, nil
}

// between evaluates an expression that must be a whole number in a range.
func (e *env) between(x Expr, what string, least, most int64) (int64, error) {
	n, err := e.whole(x)
	if err != nil {
		return 0, err
	}
	if compare(n, wholeValue(least)) < 0 || compare(n, wholeValue(most)) > 0 {
		return 0, e.fail(x, fmt.Sprintf("is %s, and %s is %d to %d", n, what, least, most))
	}
	if n.negative {
		return -int64(n.num), nil
	}
	return int64(n.num), nil
}

// name is the value of a name.
func (e *env) name(n names) (value, error) {
	c := &e.call
	switch n {
	case nameInPlace:
		return ofTruth(c.InPlace), nil
	case nameType:
		return value{kind: word, word: c.Type}, nil
	case nameOp:
		return value{kind: word, word: c.Op}, nil
	case nameBytes, nameVectors:
		bytes, err := multiply(wholeValue(c.Count), wholeValue(c.ElementBytes))
		if err != nil || n == nameBytes {
			return bytes, err
		}
		return ceil(fraction(bytes.negative, bytes.num, 16))
	}
	return wholeValue(e.number(n)), nil
}

func (e *env) number(n names) int64 {
	c := &e.call
	switch n {
	case nameRank:
		return int64(c.Rank)
	case nameWorld:
		return int64(c.World)
	case nameRoot:
		return int64(c.Root)
	case nameCount:
		return c.Count
	case nameSize:
		return c.ElementBytes
	case nameSMs:
		return int64(c.SMs)
	case nameBlocks:
		return int64(c.Blocks)
	case nameTimeout:
		return c.TimeoutNS
	case nameM:
		return c.M
	case nameN:
		return c.N
	case nameK:
		return c.K
	case nameCall:
		return c.Number
	case nameGrid:
		return e.grid
	case nameBlock:
		return e.block
	}
	return e.i
}

// distance is the value of offset(to, from), in bytes.
func (e *env) distance(to, from string) (value, error) {
	a, err := e.memory.Address(to, e.call.Rank)
	if err != nil {
		return value{}, err
	}
	b, err := e.memory.Address(from, e.call.Rank)
	if err != nil {
		return value{}, err
	}
	return add(unsignedValue(a), negate(unsignedValue(b)))
}

// length is the size of one of this rank's buffers, in bytes. It is evaluated once, since an expression counts length()
// as one step.
func (e *env) length(buffer string) (int64, error) {
	b := e.file.buffer(buffer)
	if b == nil || b.Size.IsZero() {
		return e.call.ownBytes(buffer), nil
	}
	if n, ok := e.sizes[buffer]; ok {
		return n, nil
	}
	n, err := e.between(b.Size, "the size of a buffer", 0, maxBufferBytes)
	if err != nil {
		return 0, err
	}
	if e.sizes == nil {
		e.sizes = map[string]int64{}
	}
	e.sizes[buffer] = n
	return n, nil
}

// ownBytes is the size of a buffer that gpurun gives each call.
func (c *Call) ownBytes(buffer string) int64 {
	return map[string]int64{
		inputName: c.InputBytes, outputName: c.OutputBytes,
		matrixA: c.Matrices.A, matrixB: c.Matrices.B, matrixC: c.Matrices.C, matrixGathered: c.Matrices.Gathered,
	}[buffer]
}

// maxBufferBytes is more than any device has.
const maxBufferBytes = 1 << 46

// buffer is the description of a buffer, or nil where the file has none.
func (f *File) buffer(name string) *Buffer {
	for i := range f.Buffers {
		if f.Buffers[i].Name == name {
			return &f.Buffers[i]
		}
	}
	return nil
}

// binarySuffixes are those of sizes such as 8M.
var binarySuffixes = map[string]int64{"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}

// withoutSuffix rewrites a size such as 8M, if the text is one.
func withoutSuffix(text string) string {
	if text == "" {
		return text
	}
	digits, suffix := text[:len(text)-1], text[len(text)-1:]
	unit, ok := binarySuffixes[suffix]
	if !ok || digits == "" || strings.Trim(digits, "0123456789") != "" {
		return text
	}
	return fmt.Sprintf("%s * %d", digits, unit)
}
