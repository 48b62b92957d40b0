package inspect

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"gpurun/cmd/gpurun/suggest"
)

// JSON writes the report as an object.
func (r Report) JSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(r)
}

// Print writes the report for people.
func (r Report) Print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, f := range r.Files {
		if f.Error == "" {
			f.print(t)
		}
	}
	if r.Kernels > 0 {
		fmt.Fprintf(t, "The simulator can run %d of %s.\n", r.Run, suggest.Count(r.Kernels, "kernel", "kernels"))
	}
	for _, c := range r.Refused {
		fmt.Fprintf(t, "  %d\t%s\n", c.Kernels, c.Reason)
	}
	return t.Flush()
}

func (f File) print(w io.Writer) {
	head := f.Name + ": " + f.Kind
	if f.Kind == "ptx" {
		head = fmt.Sprintf("%s: PTX %s for %s", f.Name, f.Version, f.Target)
	}
	fmt.Fprintf(w, "%s, %s\n", head, suggest.Count(len(f.Kernels), "kernel", "kernels"))
	for _, k := range f.Kernels {
		k.print(w)
	}
	for _, v := range f.Variables {
		extern := ""
		if v.Extern {
			extern = ", extern"
		}
		fmt.Fprintf(w, "  variable %s: .%s .%s, %s, aligned to %d%s\n", v.Name, v.Space, v.Type,
			suggest.Count(int(v.Size), "byte", "bytes"), v.Align, extern)
	}
	for _, note := range f.Notes {
		fmt.Fprintf(w, "  %s\n", note)
	}
	fmt.Fprintln(w)
}

func (k Kernel) print(w io.Writer) {
	head := "  kernel " + k.Name
	if k.Target != "" {
		head += ", " + k.Target
	}
	if k.Line > 0 {
		head += fmt.Sprintf(", line %d", k.Line)
	}
	fmt.Fprintln(w, head)
	for _, p := range k.Parameters {
		fmt.Fprintf(w, "    parameter\t.%s\t%s at %d\t%s\n", p.Type,
			suggest.Count(int(p.Size), "byte", "bytes"), p.Offset, p.Name)
	}
	var registers []string
	for _, name := range slices.Sorted(maps.Keys(k.Registers)) {
		registers = append(registers, fmt.Sprintf("%d .%s", k.Registers[name], name))
	}
	if len(registers) > 0 {
		fmt.Fprintf(w, "    registers\t%s\n", strings.Join(registers, ", "))
	}
	if memory := k.memory(); memory != "" {
		fmt.Fprintf(w, "    memory\t%s\n", memory)
	}
	if len(k.Bounds) > 0 {
		fmt.Fprintf(w, "    launch\t%s\n", strings.Join(k.Bounds, ", "))
	}
	fmt.Fprintf(w, "    simulator\t%s\n", k.Refusal)
}

func (k Kernel) memory() string {
	var all []string
	if k.Shared > 0 {
		all = append(all, fmt.Sprintf("%d bytes of shared memory", k.Shared))
	}
	if k.Dynamic {
		all = append(all, "dynamic shared memory")
	}
	if k.Local > 0 {
		all = append(all, fmt.Sprintf("%d bytes of local memory a thread", k.Local))
	}
	return strings.Join(all, ", ")
}

// String reads "yes" where nothing is refused.
func (r *Refusal) String() string {
	if r == nil {
		return "yes"
	}
	text := "no: " + r.Reason
	if r.Line > 0 {
		text = fmt.Sprintf("no: line %d: %s", r.Line, r.Reason)
	}
	if r.Source != "" {
		text += " (" + r.Source + ")"
	}
	if r.Text != "" {
		text += ": " + r.Text
	}
	return text
}
