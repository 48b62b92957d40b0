package kernelfile

import (
	"slices"
	"strconv"
	"strings"
)

// placeholderNames are what stands for values in paths, commands and names of kernels.
var placeholderNames = []string{"rank", "world", "type", "ctype", "op"}

// compilePlaceholders are further ones of a command.
var compilePlaceholders = []string{"source", "output", "folder"}

// placeholders refuses unknown names in braces.
func (d *decoder) placeholders(text Text, command bool) Text {
	known := placeholderNames
	if command {
		known = append(slices.Clone(known), compilePlaceholders...)
	}
	for rest := text.Text; ; {
		_, behind, found := strings.Cut(rest, "{")
		if !found {
			return text
		}
		name, after, closed := strings.Cut(behind, "}")
		switch {
		case !closed:
			d.fail(text.Line, "%q has a { without }", text.Text)
			return text
		case !slices.Contains(known, name):
			d.fail(text.Line, "unknown {%s} in %q; there is {%s}", name, text.Text, strings.Join(known, "}, {"))
			return text
		}
		rest = after
	}
}

// cTypes are the names of element types in CUDA C++, as the demangler writes them.
var cTypes = map[string]string{
	"int8": "signed char", "uint8": "unsigned char", "int32": "int", "uint32": "unsigned int", "int64": "long",
	"uint64": "unsigned long", "half": "__half", "float": "float", "double": "double", "bfloat16": "__nv_bfloat16",
	"f8e4m3": "__nv_fp8_e4m3", "f8e5m2": "__nv_fp8_e5m2",
}

// Fill puts the values of a call for {rank}, {world}, {type}, {ctype} and {op}.
func (t Text) Fill(call Call) string {
	if !strings.Contains(t.Text, "{") {
		return t.Text
	}
	return strings.NewReplacer(
		"{rank}", strconv.Itoa(call.Rank),
		"{world}", strconv.Itoa(call.World),
		"{type}", call.Type,
		"{ctype}", cTypes[call.Type],
		"{op}", call.Op,
	).Replace(t.Text)
}

// Key identifies the module of a call among those of a [Bundle]: the path with its names filled in, or for code that is
// compiled the source's path and the command, in two lines. {source} and {output} stay as they are.
func (c Code) Key(call Call) string {
	if c.Source.Text != "" {
		return c.Source.Fill(call) + "\n" + c.Compile.Fill(call)
	}
	return c.Module.Fill(call)
}
