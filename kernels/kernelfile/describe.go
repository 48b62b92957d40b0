package kernelfile

import (
	"fmt"
	"strings"
)

// describe says of the fields from one on what they are.
func (b *binder) describe(p *packer, a *Arg, first int) {
	for i := first; i < len(p.fields); i++ {
		p.fields[i].Line = a.Line
		p.fields[i].What = a.describe()
		if a.Kind == Pointers {
			p.fields[i].What = fmt.Sprintf("pointer %s, entry %d", a.Buffer.Text, i-first)
		}
	}
}

// describe is a short text for people.
func (a *Arg) describe() string {
	offset := func(text string) string {
		if a.Rank != nil {
			text += " of rank " + a.Rank.Text
		}
		if a.Offset != nil {
			text += " + " + a.Offset.Text
		}
		return text
	}
	switch a.Kind {
	case Number:
		return a.Type + " " + a.Value.Text
	case Pointer:
		return offset("pointer " + a.Buffer.Text)
	case Pointers:
		return offset("pointers " + a.Buffer.Text)
	case Table:
		return offset("table of pointers " + a.Buffer.Text)
	case Multicast:
		return offset("multicast " + a.Buffer.Text)
	case Tensor:
		return offset("tensor map of " + a.Buffer.Text)
	case Raw:
		return "bytes"
	case Null:
		return "null"
	}
	var members []string
	for i := range a.Members {
		members = append(members, a.Members[i].describe())
	}
	text := "{" + strings.Join(members, ", ") + "}"
	if a.Kind == Structs {
		return "table of structs " + text
	}
	return "struct " + text
}
