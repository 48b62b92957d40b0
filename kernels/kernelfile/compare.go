package kernelfile

import (
	"fmt"
	"strings"
)

// compareParams compares the arguments of a launch with the parameters of its kernel: their number, sizes and offsets.
func (b *binder) compareParams(l *Launch, params []Param) error {
	fields := b.out.Fields
	at := 0
	for i, f := range fields {
		if i >= len(params) {
			return b.file.errorAt(f.Line, "the launch has %s, and kernel %s has %s: argument %d, %s, is too many",
				count(len(fields), "argument"), b.out.Entry, count(len(params), "parameter"), i, f.What)
		}
		p := params[i]
		at = roundUp(at, max(p.Align, 1))
		if f.Bytes != p.Bytes || f.At != at {
			return b.file.errorAt(f.Line, "argument %d, %s, is %d bytes at %d, and the kernel's parameter %d has %d bytes "+
				"at %d%s", i, f.What, f.Bytes, f.At, i, p.Bytes, at, hint(f, p))
		}
		at += p.Bytes
	}
	if len(fields) < len(params) {
		line := l.line()
		if len(fields) > 0 {
			line = fields[len(fields)-1].Line
		}
		return b.file.errorAt(line, "the launch has %s, and kernel %s has %s; missing: %s", count(len(fields), "argument"),
			b.out.Entry, count(len(params), "parameter"), missing(params[len(fields):], len(fields)))
	}
	return nil
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// hint says what to write for a parameter.
func hint(f Field, p Param) string {
	number := strings.HasPrefix(f.What, "i") || strings.HasPrefix(f.What, "u") || strings.HasPrefix(f.What, "f") ||
		strings.HasPrefix(f.What, "bf")
	kind, _, _ := strings.Cut(f.What, " ")
	switch {
	case f.Bytes == p.Bytes:
		return fmt.Sprintf(": the parameter's alignment is %d, the argument's %d; structs, bytes and tensor maps take "+
			"align = %d",
			p.Align, f.Align, p.Align)
	case number && p.Bytes > 8:
		return ": it is a struct by value"
	case number && p.Bytes > 0 && p.Bytes&(p.Bytes-1) == 0:
		letters := strings.TrimRight(kind, "0123456789")
		if letters == "bf" {
			letters = "f"
		}
		if use := fmt.Sprintf("%s%d", letters, 8*p.Bytes); numberBytes(use) > 0 {
			return ": use " + use
		}
	case f.Bytes == 8 && p.Bytes == 4:
		return ": it is no pointer; use u32"
	}
	return ""
}

// missing lists parameters without an argument.
func missing(params []Param, first int) string {
	const most = 8
	var all []string
	for i, p := range params {
		if i == most {
			all = append(all, "...")
			break
		}
		all = append(all, fmt.Sprintf("parameter %d of %s", first+i, count(p.Bytes, "byte")))
	}
	return strings.Join(all, ", ")
}
