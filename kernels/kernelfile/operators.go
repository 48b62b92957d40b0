package kernelfile

import (
	"slices"

	"github.com/expr-lang/expr/ast"
)

// binaryOperators are those of two numbers.
var binaryOperators = map[string]operation{
	"+": opAdd, "-": opSubtract, "*": opMultiply, "/": opDivide, "%": opRemainder, "**": opPower,
}

var comparisons = map[string]operation{
	"==": opEqual, "!=": opUnequal, "<": opLess, "<=": opLessOrEqual, ">": opMore, ">=": opMoreOrEqual,
}

var logic = map[string]operation{"and": opAnd, "&&": opAnd, "or": opOr, "||": opOr}

func (c *compiler) binary(n *ast.BinaryNode) (*term, valueKind, error) {
	if op, ok := binaryOperators[n.Operator]; ok {
		t, err := c.pair(op, n, exact)
		return t, exact, err
	}
	if op, ok := logic[n.Operator]; ok {
		t, err := c.pair(op, n, truth)
		return t, truth, err
	}
	if op, ok := comparisons[n.Operator]; ok {
		t, err := c.comparison(op, n)
		return t, truth, err
	}
	hint := ""
	if n.Operator == "^" {
		hint = "; write ** for a power, bitxor(a, b) for bits"
	}
	return nil, 0, c.refuse(n, "operator %s has no meaning in a kernel file%s", n.Operator, hint)
}

func (c *compiler) pair(op operation, n *ast.BinaryNode, kind valueKind) (*term, error) {
	left, err := c.want(n.Left, kind)
	if err != nil {
		return nil, err
	}
	right, err := c.want(n.Right, kind)
	return &term{op: op, args: []*term{left, right}}, err
}

func (c *compiler) comparison(op operation, n *ast.BinaryNode) (*term, error) {
	left, kind, err := c.term(n.Left)
	if err != nil {
		return nil, err
	}
	if kind != exact && op != opEqual && op != opUnequal {
		return nil, c.refuse(n, "%s is only equal or not: write == or !=", kindNames[kind])
	}
	right, err := c.want(n.Right, kind)
	return &term{op: op, args: []*term{left, right}}, err
}

// functions are those of numbers, with the least and the largest number of arguments.
var functions = map[string]struct {
	op          operation
	least, most int
}{
	"floor":  {opFloor, 1, 1},
	"ceil":   {opCeil, 1, 1},
	"min":    {opMin, 1, 16},
	"max":    {opMax, 1, 16},
	"bitand": {opBitAnd, 2, 2},
	"bitor":  {opBitOr, 2, 2},
	"bitxor": {opBitXor, 2, 2},
	"bitshl": {opShiftLeft, 2, 2},
	"bitshr": {opShiftRight, 2, 2},
}

// functionNames are all functions, for messages.
var functionNames = []string{
	"ceil", "floor", "min", "max", "offset", "length", "bitand", "bitor", "bitxor", "bitshl", "bitshr",
}

func (c *compiler) function(n ast.Node, name string, arguments []ast.Node) (*term, valueKind, error) {
	if name == "offset" || name == "length" {
		t, err := c.bufferFunction(n, name, arguments)
		return t, exact, err
	}
	f, ok := functions[name]
	switch {
	case !ok:
		return nil, 0, c.refuse(n, "unknown function %s%s", name, didYouMean(name, functionNames))
	case len(arguments) < f.least || len(arguments) > f.most:
		return nil, 0, c.refuse(n, "%s takes %s, not %d", name, arity(f.least, f.most), len(arguments))
	}
	t := &term{op: f.op}
	for _, argument := range arguments {
		arg, err := c.want(argument, exact)
		if err != nil {
			return nil, 0, err
		}
		t.args = append(t.args, arg)
	}
	return t, exact, nil
}

func arity(least, most int) string {
	switch {
	case least < most:
		return "1 to 16 numbers"
	case least == 2:
		return "2 numbers"
	}
	return "1 number"
}

// bufferFunction is offset(to), offset(to, from) or length(buffer).
func (c *compiler) bufferFunction(n ast.Node, name string, arguments []ast.Node) (*term, error) {
	t := &term{op: opLength}
	most := 1
	used := funcLength
	if name == "offset" {
		t.op, most = opOffset, 2
		used = funcOffset
	}
	c.names |= used
	if len(arguments) < 1 || len(arguments) > most {
		return nil, c.refuse(n, `%s takes the name of a buffer, such as %s("input")`, name, name)
	}
	for i, argument := range arguments {
		text, ok := argument.(*ast.StringNode)
		if !ok {
			return nil, c.refuse(argument, `%s takes the name of a buffer in quotes, such as %s("input")`, name, name)
		}
		if !slices.Contains(c.buffers, text.Value) {
			return nil, c.refuse(argument, "there is no buffer %s%s", text.Value, didYouMean(text.Value, c.buffers))
		}
		t.buffers[i] = text.Value
	}
	if name == "offset" && len(arguments) == 1 {
		if t.buffers[1] = c.first; c.first == "" {
			return nil, c.refuse(n, "the file has no symmetric buffer to count from: name a second one")
		}
	}
	return t, nil
}
