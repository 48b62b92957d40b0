package kernelfile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// decoder makes a File of a tree. It keeps the first error; what it makes after that is of no use.
type decoder struct {
	path string
	err  error
	compiler
	total  int    // steps of one evaluation of all expressions
	of     string // the collective, whose calls lack the names absent
	absent names
}

func (d *decoder) fail(line int, format string, args ...any) {
	if d.err == nil {
		d.err = &Error{d.path, line, fmt.Sprintf(format, args...)}
	}
}

// table reads the keys of a table, and knows afterwards which of them nobody wanted.
type table struct {
	d     *decoder
	node  *node
	what  string
	known []string
}

// table opens a node that must be a table.
func (d *decoder) table(n *node, what string) *table {
	if n.kind != tableNode {
		d.fail(n.line, "%s is %s, not %s", what, tableNode, n.kind)
		n = &node{kind: tableNode, line: n.line}
	}
	return &table{d: d, node: n, what: what}
}

// get is the value of a key, or nil.
func (t *table) get(key string) *node {
	if !slices.Contains(t.known, key) {
		t.known = append(t.known, key)
	}
	return t.node.child(key)
}

// done refuses keys that nobody asked for.
func (t *table) done() {
	for i, key := range t.node.keys {
		if !slices.Contains(t.known, key) {
			t.d.fail(t.node.values[i].line, "unknown key %s of %s%s", strconv.Quote(key), t.what, didYouMean(key, t.known))
			return
		}
	}
}

func (t *table) text(key string) Text {
	n := t.get(key)
	if n == nil {
		return Text{}
	}
	return t.d.text(n, key)
}

func (t *table) textOr(key, absent string) string {
	if text := t.text(key); text.Text != "" {
		return text.Text
	}
	return absent
}

func (t *table) truth(key string) bool {
	n := t.get(key)
	if n == nil {
		return false
	}
	if n.kind != truthNode {
		t.d.fail(n.line, "%s is true or false, not %s", key, n.kind)
	}
	return n.truth
}

// whole is a number of the file itself, not an expression; 0 where it is absent.
func (t *table) whole(key string, least, most int) int {
	n := t.get(key)
	if n == nil {
		return 0
	}
	return t.d.whole(n, key, least, most)
}

// number is an expression for a number, or its zero value.
func (t *table) number(key string, known names) Expr {
	n := t.get(key)
	if n == nil {
		return Expr{}
	}
	return t.d.expr(n, key, exact, known)
}

// optional is number as a pointer, nil where the key is absent.
func (t *table) optional(key string, known names) *Expr {
	if t.get(key) == nil {
		return nil
	}
	e := t.number(key, known)
	return &e
}

func (d *decoder) text(n *node, what string) Text {
	switch {
	case n.kind != textNode:
		d.fail(n.line, "%s is %s, not %s", what, textNode, n.kind)
	case n.text == "":
		d.fail(n.line, "%s is empty: write it, or leave the key out", what)
	case strings.ContainsRune(n.text, 0):
		d.fail(n.line, "%s has a zero byte", what)
	}
	return Text{n.text, n.line}
}

func (d *decoder) whole(n *node, what string, least, most int) int {
	if n.kind != wholeNode {
		d.fail(n.line, "%s is %s, not %s", what, wholeNode, n.kind)
		return least
	}
	if n.whole < int64(least) || n.whole > int64(most) {
		d.fail(n.line, "%s is %d, and must be %d to %d", what, n.whole, least, most)
		return least
	}
	return int(n.whole)
}

func (d *decoder) items(n *node, what string) []*node {
	switch {
	case n.kind != listNode:
		d.fail(n.line, "%s is %s, not %s", what, listNode, n.kind)
	case len(n.values) == 0:
		d.fail(n.line, "%s is an empty list", what)
	}
	if n.kind != listNode {
		return nil
	}
	return n.values
}

// expr compiles the expression of a node, which may be a plain number. It must have a kind of value, and use only names
// that are known where it is evaluated.
func (d *decoder) expr(n *node, what string, kind valueKind, known names) Expr {
	e := Expr{Line: n.line}
	switch n.kind {
	case textNode:
		e.Text = n.text
	case wholeNode:
		e.Text = strconv.FormatInt(n.whole, 10)
	case realNode:
		e.Text = strconv.FormatFloat(n.real, 'g', -1, 64)
		if !strings.ContainsAny(e.Text, ".einIN") {
			e.Text += ".0"
		}
	case truthNode:
		e.Text = strconv.FormatBool(n.truth)
	default:
		d.fail(n.line, "%s is an expression, not %s", what, n.kind)
		return e
	}
	var err error
	if e.compiled, err = d.compile(e.Text); err != nil {
		d.fail(n.line, "%s: %s", what, err)
		return e
	}
	d.total += e.cost
	switch {
	case d.total > maxTotalCost:
		d.fail(n.line, "the expressions of the file take more than %d steps", maxTotalCost)
	case e.kind != kind:
		d.fail(n.line, "%s: %q is %s, where %s belongs", what, e.Text, kindNames[e.kind], kindNames[kind])
	case e.names.has(d.absent):
		d.fail(n.line, "%s: %s in %q is not known of %s, which has %s", what, (e.names & d.absent).first(), e.Text, d.of,
			instead(d.of))
	case e.names.has(^known):
		d.fail(n.line, "%s: %s in %q is not known here", what, (e.names &^ known).first(), e.Text)
	}
	return e
}

// exprs reads one to three expressions, or one that is no list.
func (d *decoder) exprs(n *node, what string, most int, known names) []Expr {
	if n == nil {
		return nil
	}
	if n.kind != listNode {
		return []Expr{d.expr(n, what, exact, known)}
	}
	items := d.items(n, what)
	if len(items) > most {
		d.fail(n.line, "%s has %d dimensions, and %d are possible", what, len(items), most)
		return nil
	}
	var all []Expr
	for _, item := range items {
		all = append(all, d.expr(item, what, exact, known))
	}
	return all
}
