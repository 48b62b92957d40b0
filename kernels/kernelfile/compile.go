package kernelfile

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"

	"gpurun/kernels/collective"
)

// Limits of an expression. Neither the language nor a [let] has loops, and an evaluation takes each expression of [let]
// once, so that its steps can be counted.
const (
	maxExprBytes = 1000
	maxExprCost  = 5000
	maxTotalCost = 100_000 // of a file
)

// compiler makes terms of the library's syntax tree. The library gives the grammar; what numbers mean is value.go.
type compiler struct {
	text    string // as the library parses it
	lets    map[string]*letTerm
	buffers []string // all of the file
	first   string   // the first one that peers have an address of
	names   names
	used    letSet
	cost    int // without those of used
}

// compile checks an expression. Those of [let] that it uses must have been compiled.
func (c compiler) compile(text string) (compiled, error) {
	if len(text) > maxExprBytes {
		return compiled{}, fmt.Errorf("an expression has at most %d bytes", maxExprBytes)
	}
	if strings.TrimSpace(text) == "" {
		return compiled{}, errors.New("the expression is empty")
	}
	c.text = withoutSuffix(text)
	if found := findInvisible(c.text); found != "" {
		return compiled{}, fmt.Errorf("%q: %s", text, found)
	}
	tree, err := parseExpr(c.text)
	if err != nil {
		return compiled{}, err
	}
	c.used = letSet{}
	root, kind, err := c.term(tree)
	own := c.cost
	for let := range c.used {
		c.cost += let.expr.own
	}
	if err == nil && c.cost > maxExprCost {
		err = fmt.Errorf("%q takes more than %d steps, with those of [let]", c.text, maxExprCost)
	}
	return compiled{root, kind, c.names, c.used, own, c.cost}, err
}

// parseExpr has the library parse a text. The library may panic for texts that nobody has tried, which becomes an
// error.
func parseExpr(text string) (root ast.Node, err error) {
	defer func() {
		if failure := recover(); failure != nil {
			err = fmt.Errorf("%q is no expression: %v", text, failure)
		}
	}()
	tree, err := parser.Parse(text)
	if err == nil {
		return tree.Node, nil
	}
	var wrong *file.Error
	if !errors.As(err, &wrong) {
		return nil, fmt.Errorf("%q is no expression: %w", text, err)
	}
	hint := ""
	if strings.Contains(text, "<<") || strings.Contains(text, ">>") || strings.ContainsAny(text, "&|") {
		hint = "; bits are for bitshl(a, b), bitshr, bitand, bitor and bitxor"
	}
	message := strings.Replace(wrong.Message, "strconv.ParseInt: ", "", 1)
	return nil, fmt.Errorf("%q is no expression: %s at column %d%s", text, message, wrong.From+1, hint)
}

// invisible are parts of the library's language of which the syntax tree keeps nothing, and what to write instead.
var invisible = []struct{ text, instead string }{
	{"//", "a comment there: write floor(a / b) for whole division"},
	{"/*", "a comment there: write it outside of the text"},
	{"::", "a name of the library: leave it out"},
	{";", "the end of an expression: leave it out"},
	{"|", "a pipe: write f(x), or bitor(a, b)"},
}

// findInvisible says which of those a text has, outside of quotes, or is "".
func findInvisible(text string) string {
	for i := 0; i < len(text); i++ {
		switch rest := text[i:]; {
		case strings.ContainsRune("\"'`", rune(text[i])):
			i = endOfQuote(text, i) - 1
		case strings.HasPrefix(rest, "||"):
			i++
		default:
			for _, part := range invisible {
				if strings.HasPrefix(rest, part.text) {
					return part.text + " is " + part.instead
				}
			}
		}
	}
	return ""
}

// refuse says where in the expression something is that has no meaning here.
func (c *compiler) refuse(n ast.Node, format string, args ...any) error {
	return fmt.Errorf("%q, column %d: %s", c.text, n.Location().From+1, fmt.Sprintf(format, args...))
}

// term makes a term of a node, and says what kind of value it has.
func (c *compiler) term(n ast.Node) (*term, valueKind, error) {
	if c.cost++; c.cost > maxExprCost {
		return nil, 0, fmt.Errorf("%q takes more than %d steps", c.text, maxExprCost)
	}
	switch n := n.(type) {
	case *ast.IntegerNode:
		return &term{value: wholeValue(int64(n.Value))}, exact, nil
	case *ast.FloatNode:
		v, err := realValue(n.Value)
		return &term{value: v}, exact, err
	case *ast.BoolNode:
		return &term{value: ofTruth(n.Value)}, truth, nil
	case *ast.StringNode:
		return &term{value: value{kind: word, word: canonical(n.Value)}}, word, nil
	case *ast.IdentifierNode:
		return c.identifier(n)
	case *ast.UnaryNode:
		return c.unary(n)
	case *ast.BinaryNode:
		return c.binary(n)
	case *ast.ConditionalNode:
		if n.Ternary {
			return c.conditional(n)
		}
	case *ast.BuiltinNode:
		return c.function(n, n.Name, n.Arguments)
	case *ast.CallNode:
		if callee, ok := n.Callee.(*ast.IdentifierNode); ok {
			return c.function(n, callee.Value, n.Arguments)
		}
	}
	if n == nil {
		return nil, 0, fmt.Errorf("%q is no expression", c.text)
	}
	return nil, 0, c.refuse(n, "%s has no meaning in a kernel file; an expression is arithmetic with ceil, floor, min, "+
		"max, comparisons, and, or, not, and ?:", syntaxName(n))
}

// syntaxName says what a part of the library's language is that kernel files leave out.
func syntaxName(n ast.Node) string {
	switch n.(type) {
	case *ast.MemberNode, *ast.ChainNode, *ast.SliceNode:
		return "access to a member"
	case *ast.ArrayNode, *ast.MapNode, *ast.PairNode:
		return "a list or a map"
	case *ast.VariableDeclaratorNode:
		return "a variable (names for expressions are in [let])"
	case *ast.SequenceNode:
		return "a sequence with ;"
	case *ast.PredicateNode, *ast.PointerNode:
		return "a lambda"
	case *ast.ConditionalNode:
		return "if (write ?:)"
	case *ast.CallNode:
		return "a method"
	case *ast.NilNode:
		return "nil"
	case *ast.BytesNode:
		return "a text of bytes"
	}
	return "this"
}

// canonical is the name of an element type, where a text is one of its aliases.
func canonical(text string) string {
	if d, ok := collective.ParseDType(text); ok {
		return d.Name
	}
	return text
}

func (c *compiler) identifier(n *ast.IdentifierNode) (*term, valueKind, error) {
	if let, ok := c.lets[n.Value]; ok {
		c.names |= let.expr.names
		c.used[let] = true
		maps.Copy(c.used, let.expr.used)
		return &term{op: opLet, let: let}, let.expr.kind, nil
	}
	name, ok := nameOf(n.Value)
	if !ok {
		known := slices.DeleteFunc(slices.Clone(nameTexts), func(s string) bool { return strings.HasSuffix(s, ")") })
		known = append(known, slices.Sorted(maps.Keys(c.lets))...)
		return nil, 0, c.refuse(n, "unknown name %s%s", n.Value, didYouMean(n.Value, known))
	}
	c.names |= name
	return &term{op: opName, name: name}, kindOf(name), nil
}

// want compiles a node that must have a kind of value.
func (c *compiler) want(n ast.Node, want valueKind) (*term, error) {
	t, kind, err := c.term(n)
	if err == nil && kind != want {
		err = c.refuse(n, "this is %s, where %s belongs", kindNames[kind], kindNames[want])
	}
	return t, err
}

var kindNames = map[valueKind]string{exact: "a number", truth: "true or false", word: "a text"}

func (c *compiler) unary(n *ast.UnaryNode) (*term, valueKind, error) {
	switch n.Operator {
	case "not", "!":
		arg, err := c.want(n.Node, truth)
		return &term{op: opNot, args: []*term{arg}}, truth, err
	case "-":
		arg, err := c.want(n.Node, exact)
		return &term{op: opNegate, args: []*term{arg}}, exact, err
	case "+":
		arg, err := c.want(n.Node, exact)
		return arg, exact, err
	}
	return nil, 0, c.refuse(n, "operator %s has no meaning in a kernel file", n.Operator)
}

func (c *compiler) conditional(n *ast.ConditionalNode) (*term, valueKind, error) {
	if n.Exp1 == n.Cond {
		return nil, 0, c.refuse(n, "?: lacks the value between ? and :")
	}
	condition, err := c.want(n.Cond, truth)
	if err != nil {
		return nil, 0, err
	}
	yes, kind, err := c.term(n.Exp1)
	if err != nil {
		return nil, 0, err
	}
	no, err := c.want(n.Exp2, kind)
	return &term{op: opChoose, args: []*term{condition, yes, no}}, kind, err
}
