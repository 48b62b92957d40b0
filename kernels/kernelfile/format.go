package kernelfile

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Format writes the file in TOML. Parse reads the same from it, lines and comments aside.
func (f *File) Format() []byte {
	w := &writer{}
	base := filepath.Base(f.Path)
	if f.Name != strings.TrimSuffix(base, filepath.Ext(base)) {
		w.text("name", f.Name)
	}
	w.text("collective", f.Collective)
	w.text("summary", f.Summary)
	w.words("op", "ops", f.Ops)
	w.words("type", "types", f.Types)
	w.world(f.World)
	single := len(f.Steps) == 1 && f.Steps[0].Launch != nil
	shared := f.sharedCode()
	if single {
		w.optional("when", f.Steps[0].When)
		w.launch(f.Steps[0].Launch, Code{})
	} else {
		w.code(shared)
	}
	w.lets(f.Let)
	for i := range f.Buffers {
		w.buffer(&f.Buffers[i], f.Collective == Custom)
	}
	w.globals(f.Globals)
	if !single {
		for i := range f.Steps {
			w.step(&f.Steps[i], shared)
		}
	}
	w.contract(&f.Contract)
	if f.Reference != nil {
		w.header("reference")
		w.launch(f.Reference.Launch, Code{})
	}
	return w.Bytes()
}

// sharedCode is where the code of all launches is, if that is one place.
func (f *File) sharedCode() Code {
	var shared Code
	for i, l := range f.Launches() {
		c := Code{Module: l.Module, Source: l.Source, Compile: l.Compile}
		if i > 0 && !c.samePlace(shared) {
			return Code{}
		}
		shared = c
	}
	return shared
}

func (c Code) samePlace(other Code) bool {
	return c.Module.Text == other.Module.Text && c.Source.Text == other.Source.Text && c.Compile.Text == other.Compile.Text
}

// writer writes TOML. Its methods leave out what is absent.
type writer struct{ bytes.Buffer }

func (w *writer) line(key, value string) { fmt.Fprintf(w, "%s = %s\n", key, value) }

func (w *writer) header(name string) { fmt.Fprintf(w, "\n[%s]\n", name) }

func (w *writer) text(key, text string) {
	if text != "" {
		w.line(key, quoted(text))
	}
}

func (w *writer) truth(key string, is bool) {
	if is {
		w.line(key, "true")
	}
}

func (w *writer) expr(key string, x Expr) {
	if !x.IsZero() {
		w.line(key, literal(x))
	}
}

func (w *writer) optional(key string, x *Expr) {
	if x != nil {
		w.expr(key, *x)
	}
}

// exprs writes dimensions; one alone needs no list.
func (w *writer) exprs(key string, all []Expr) {
	switch len(all) {
	case 0:
	case 1:
		w.expr(key, all[0])
	default:
		w.line(key, literals(all))
	}
}

func (w *writer) words(one, several string, words []string) {
	switch len(words) {
	case 0:
	case 1:
		w.text(one, words[0])
	default:
		all := make([]string, len(words))
		for i, word := range words {
			all[i] = quoted(word)
		}
		w.line(several, "["+strings.Join(all, ", ")+"]")
	}
}

func (w *writer) world(all []int) {
	switch len(all) {
	case 0:
	case 1:
		w.line("world", strconv.Itoa(all[0]))
	default:
		w.line("world", strings.ReplaceAll(fmt.Sprint(all), " ", ", "))
	}
}

func (w *writer) code(c Code) {
	w.text("module", c.Module.Text)
	w.text("source", c.Source.Text)
	w.text("compile", c.Compile.Text)
	w.text("entry", c.Entry.Text)
	w.text("match", c.Match.Text)
}

// launch writes a launch, without the place of its code where that is the shared one.
func (w *writer) launch(l *Launch, shared Code) {
	c := l.Code
	if c.samePlace(shared) {
		c = Code{Entry: c.Entry, Match: c.Match}
	}
	w.code(c)
	w.exprs("grid", l.Grid)
	w.exprs("block", l.Block)
	w.exprs("cluster", l.Cluster)
	w.expr("shared", l.Shared)
	w.truth("cooperative", l.Cooperative)
	w.truth("pdl", l.PDL)
	w.optional("resident", l.Resident)
	if len(l.Args) == 0 {
		return
	}
	w.WriteString("args = [\n")
	w.args(l.Args, "  ")
	w.WriteString("]\n")
}

func (w *writer) lets(all map[string]Expr) {
	if len(all) == 0 {
		return
	}
	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		if d := all[a].Line - all[b].Line; d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	w.header("let")
	for _, name := range names {
		w.expr(bareKey(name), all[name])
	}
}

// literal is an expression as a number, or else in quotes.
func literal(x Expr) string {
	if isLiteral(x.Text) {
		return x.Text
	}
	return quoted(x.Text)
}

func literals(all []Expr) string {
	texts := make([]string, len(all))
	for i, x := range all {
		texts[i] = literal(x)
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

// isLiteral reports whether TOML reads a text as the number or truth that it is as an expression.
func isLiteral(text string) bool {
	if text == "true" || text == "false" {
		return true
	}
	digits := strings.TrimPrefix(text, "-")
	whole, fraction, point := strings.Cut(digits, ".")
	if whole == "" || strings.Trim(whole+fraction, "0123456789") != "" || point && fraction == "" {
		return false
	}
	if len(whole) > 1 && whole[0] == '0' {
		return false
	}
	if point {
		return len(text) < 16 // few digits, which come back the same
	}
	_, err := strconv.ParseInt(text, 10, 64)
	return err == nil
}

// quoted is a text of TOML: in single quotes if that saves escapes.
func quoted(text string) string {
	notLiteral := func(r rune) bool { return r == '\'' || isControl(r) }
	if strings.ContainsAny(text, `"\`) && !strings.ContainsFunc(text, notLiteral) {
		return "'" + text + "'"
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case isControl(r):
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// bareKey is a key, in quotes where it has other characters than letters, digits, _ and -.
func bareKey(key string) string {
	special := func(r rune) bool { return r != '-' && (r >= 0x80 || !isWordByte(byte(r))) }
	if key == "" || strings.ContainsFunc(key, special) {
		return quoted(key)
	}
	return key
}
