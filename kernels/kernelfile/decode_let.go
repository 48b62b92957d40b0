package kernelfile

import "slices"

// everything is what an expression of [let] may use. Where it is used decides what of it is known.
const everything = ^names(0)

// lets compiles [let]. An expression of it may use others, before or behind it, without a circle.
func (d *decoder) lets(f *File, t *table) {
	n := t.get("let")
	if n == nil {
		return
	}
	names := d.table(n, "[let]").node
	if len(names.keys) > maxLets {
		d.fail(n.line, "[let] has more than %d names", maxLets)
		return
	}
	f.Let = map[string]Expr{}
	d.compiler.lets = map[string]*letTerm{}
	o := letOrder{d: d, table: names, state: map[string]int{}}
	for i := range names.keys {
		o.visit(i)
	}
	for name, let := range d.compiler.lets {
		f.Let[name] = let.expr
	}
}

// letOrder compiles each expression behind those that it uses.
type letOrder struct {
	d     *decoder
	table *node
	state map[string]int // 1: being compiled; 2: done
}

func (o *letOrder) visit(i int) {
	name, n := o.table.keys[i], o.table.values[i]
	switch {
	case o.d.err != nil || o.state[name] == 2:
		return
	case o.state[name] == 1:
		o.d.fail(n.line, "[let]: %s is defined by itself", name)
		return
	case !isIdentifier(name):
		o.d.fail(n.line, "[let]: %q is not a name: use letters, digits and _", name)
		return
	}
	if _, taken := nameOf(name); taken {
		o.d.fail(n.line, "[let]: %s already has a meaning: take another name", name)
		return
	}
	o.state[name] = 1
	for _, used := range identifiers(n.text) {
		if at := slices.Index(o.table.keys, used); at >= 0 {
			o.visit(at)
		}
	}
	o.state[name] = 2
	lets := o.d.compiler.lets
	lets[name] = &letTerm{name, o.d.anyExpr(n, "[let]: "+name), len(lets)}
}

// anyExpr is an expression of any kind.
func (d *decoder) anyExpr(n *node, what string) Expr {
	kind := exact
	if n.kind == textNode {
		if c, err := d.compile(n.text); err == nil {
			kind = c.kind
		}
	} else if n.kind == truthNode {
		kind = truth
	}
	return d.expr(n, what, kind, everything)
}

// isIdentifier reports whether a text is a name for expressions.
func isIdentifier(text string) bool {
	all := identifiers(text)
	return len(all) == 1 && all[0] == text && !slices.Contains(keywords, text) && !slices.Contains(functionNames, text)
}

var keywords = []string{
	"and", "or", "not", "in", "if", "else", "let", "true", "false", "nil", "matches", "contains", "startsWith", "endsWith",
}

// identifiers are the words of an expression, those in quotes aside.
func identifiers(text string) []string {
	var all []string
	for i := 0; i < len(text); {
		start := i
		switch b := text[i]; {
		case b == '"' || b == '\'' || b == '`':
			i = endOfQuote(text, i)
		case !isWordByte(b):
			i++
		default:
			for i < len(text) && isWordByte(text[i]) {
				i++
			}
			if b < '0' || b > '9' {
				all = append(all, text[start:i])
			}
		}
	}
	return all
}

// endOfQuote is the offset behind a text in quotes.
func endOfQuote(text string, start int) int {
	for i := start + 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case text[start]:
			return i + 1
		}
	}
	return len(text)
}

func isWordByte(b byte) bool {
	return b == '_' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9'
}
