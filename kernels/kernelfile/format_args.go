package kernelfile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// args writes arguments, one a line. Structs that are long have a line for each member.
func (w *writer) args(all []Arg, indent string) {
	const longest = 100
	for i := 0; i < len(all); i++ {
		a := &all[i]
		text := inlineArg(a)
		if n := nulls(all[i:]); n > 1 {
			text = fmt.Sprintf("{null = %d}", n)
			i += n - 1
		}
		if len(indent)+len(text) > longest && len(a.Members) > 0 || hasComments(a.Members) {
			fmt.Fprintf(w, "%s{%s = [\n", indent, a.key())
			w.args(a.Members, indent+"  ")
			text = "]" + a.modifiers() + "}"
		}
		w.WriteString(indent + text + ",")
		if comment := strings.Map(oneLine, a.Comment); comment != "" {
			w.WriteString(" # " + comment)
		}
		w.WriteString("\n")
	}
}

// nulls counts the null pointers in front that one key can stand for.
func nulls(all []Arg) int {
	n := 0
	for n < min(len(all), maxNulls) && all[n].Kind == Null && !all[n].Rest && (n == 0 || all[n].Comment == "") {
		n++
	}
	return n
}

func hasComments(all []Arg) bool {
	return slices.ContainsFunc(all, func(a Arg) bool { return a.Comment != "" || hasComments(a.Members) })
}

// oneLine leaves out what ends a comment, or may not be in it.
func oneLine(r rune) rune {
	if isControl(r) {
		return ' '
	}
	return r
}

// key is the key that says what the argument is.
func (a *Arg) key() string {
	if a.Kind == Number {
		return a.Type
	}
	for key, kind := range argKinds {
		if kind == a.Kind {
			return key
		}
	}
	return ""
}

// inlineArg is an argument in one line.
func inlineArg(a *Arg) string {
	value := ""
	switch a.Kind {
	case Number:
		value = literal(a.Value)
	case Raw:
		value = quoted(fmt.Sprintf("% x", a.Bytes))
	case Null:
		value = "true"
		if a.Rest {
			value = quoted("rest")
		}
	case Struct, Structs:
		members := make([]string, len(a.Members))
		for i := range a.Members {
			members[i] = inlineArg(&a.Members[i])
		}
		value = "[" + strings.Join(members, ", ") + "]"
	default:
		value = quoted(a.Buffer.Text)
	}
	return "{" + a.key() + " = " + value + a.modifiers() + "}"
}

// modifiers are the keys behind the first one.
func (a *Arg) modifiers() string {
	var b strings.Builder
	add := func(key, value string) { b.WriteString(", " + key + " = " + value) }
	if a.Entries != nil {
		add("entries", literal(*a.Entries))
	}
	if a.Pad > 0 {
		add("pad", strconv.Itoa(a.Pad))
	}
	if a.Rank != nil {
		add("rank", literal(*a.Rank))
	}
	if a.Offset != nil {
		add("offset", literal(*a.Offset))
	}
	if a.Align > 0 {
		add("align", strconv.Itoa(a.Align))
	}
	if a.Map != nil {
		a.Map.modifiers(add)
	}
	return b.String()
}

func (m *TensorMap) modifiers(add func(key, value string)) {
	if m.Type != "" {
		add("type", quoted(m.Type))
	}
	for _, list := range []struct {
		key string
		all []Expr
	}{{"sizes", m.Sizes}, {"strides", m.Strides}, {"box", m.Box}, {"steps", m.Steps}} {
		if len(list.all) > 0 {
			add(list.key, literals(list.all))
		}
	}
	if !m.Swizzle.IsZero() {
		add("swizzle", literal(m.Swizzle))
	}
	if !m.L2.IsZero() {
		add("l2", literal(m.L2))
	}
	if m.FillNaN {
		add("fill_nan", "true")
	}
}
