package kerneldraft

import (
	"fmt"
	"strings"

	"gpurun/cudart/sim/ptx"
)

// arguments writes args: one for each parameter.
func (k kernel) arguments() string {
	if !k.known {
		return "args = [] # machine code does not say which parameters it takes: write them, such as {pointer = \"input\"}\n"
	}
	var b strings.Builder
	b.WriteString("args = [\n")
	g := guesser{kernel: k}
	for i, p := range k.params {
		argument, comment := g.guess(i, p)
		fmt.Fprintf(&b, "  {%s},%s# %s\n", argument, strings.Repeat(" ", max(1, 28-len(argument))), comment)
	}
	b.WriteString("]\n")
	return b.String()
}

// guesser guesses arguments, each in the light of those before it.
type guesser struct {
	kernel
	pointers, numbers int // so many have been guessed
}

// guess says what a parameter could be, and in a comment what is known of it.
func (g *guesser) guess(i int, p *ptx.Var) (argument, comment string) {
	declared := ""
	if len(g.types) == len(g.params) {
		declared = g.types[i]
	}
	what := fmt.Sprintf("parameter %d, ", i)
	array := p.Size > int64(p.Type.Width()/8)
	switch {
	case array:
		what += fmt.Sprintf("%d bytes aligned to %d", p.Size, p.Align)
	default:
		what += p.Type.String()
	}
	if declared != "" {
		what += ": " + declared
	}
	switch {
	case array && p.Size == 128 && p.Align >= 64:
		return zeros(p), what + "; ? a tensor map"
	case array:
		return zeros(p), what + "; ? a struct: {struct = [...]}, or {pointers = \"input\"} for the addresses of all ranks"
	case strings.HasSuffix(declared, "*") || declared == "" && p.Pointer:
		return g.pointer(declared) + "", what + "; ? whose buffer"
	case declared == "" && p.Type.Width() == 64 && !isFloat(p):
		return g.pointer(""), what + "; ? a pointer or a size"
	case isFloat(p):
		return fmt.Sprintf("f%d = 1.0", p.Type.Width()), what + "; ? which number"
	}
	return g.number(p), what + "; ? which number"
}

func isFloat(p *ptx.Var) bool { return strings.HasPrefix(p.Type.String(), "f") }

// pointer is the input first, then the output. A pointer to pointers is a table of all ranks' buffers.
func (g *guesser) pointer(declared string) string {
	if strings.HasSuffix(strings.ReplaceAll(strings.ReplaceAll(declared, " const", ""), " ", ""), "**") {
		return `table = "input"`
	}
	g.pointers++
	switch {
	case g.pointers == 1:
		return `pointer = "input"`
	case g.pointers == 2:
		return `pointer = "output"`
	}
	return "null = true"
}

// number is the count first, then rank and number of ranks.
func (g *guesser) number(p *ptx.Var) string {
	words := []string{"count", "rank", "world"}
	value := "0"
	if g.numbers < len(words) {
		value = words[g.numbers]
	}
	g.numbers++
	kind := "i"
	if name := p.Type.String(); strings.HasPrefix(name, "u") {
		kind = "u"
	}
	if p.Type.Width() < 32 {
		value = "0"
	}
	return fmt.Sprintf("%s%d = %q", kind, p.Type.Width(), value)
}

// zeros is a struct of null pointers where it is aligned as they are, or else bytes.
func zeros(p *ptx.Var) string {
	const pointerBytes, mostPointers = 8, 64
	if p.Align%pointerBytes == 0 && p.Size%pointerBytes == 0 && p.Size <= pointerBytes*mostPointers {
		return fmt.Sprintf("struct = [{null = %d}], align = %d", p.Size/pointerBytes, p.Align)
	}
	if p.Size <= mostBytes {
		return fmt.Sprintf("%s, align = %d", zeroBytes(p.Size), p.Align)
	}
	var members []string
	for rest := p.Size; rest > 0; rest -= mostBytes {
		members = append(members, "{"+zeroBytes(min(rest, mostBytes))+"}")
	}
	return fmt.Sprintf("struct = [%s], align = %d", strings.Join(members, ", "), p.Align)
}

// mostBytes are the most that a kernel file takes as one argument of bytes.
const mostBytes = 16 << 10

func zeroBytes(n int64) string {
	return fmt.Sprintf("bytes = %q", strings.TrimSpace(strings.Repeat("00 ", int(n))))
}
