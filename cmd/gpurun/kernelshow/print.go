package kernelshow

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"gpurun/cmd/gpurun/terminal"
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
	var text strings.Builder
	t := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	what := "elements of " + r.DType
	if r.Op != "" && r.Op != "none" {
		what = r.Op + " of " + r.DType
	}
	size := fmt.Sprintf("%d elements, %d bytes a part", r.Count, r.Bytes)
	if r.M > 0 {
		size = fmt.Sprintf("%d x %d x %d", r.M, r.N, r.K)
	}
	fmt.Fprintf(t, "%s: %s, %s, %s, call %d, %d ranks, %d multiprocessors\n", r.File, r.Collective, what, size, r.Number,
		r.World, r.SMs)
	fmt.Fprintf(t, "Addresses are %s.\n", r.Addresses)
	for _, rank := range r.Ranks {
		fmt.Fprintf(t, "\nrank %d\n", rank.Rank)
		for _, b := range rank.Buffers {
			fmt.Fprintf(t, "  buffer %s\t%d bytes\tat %s\toffset %d\n", b.Name, b.Bytes, b.Address, b.Offset)
		}
		for i, s := range rank.Steps {
			s.print(t, i+1)
		}
	}
	t.Flush() // to memory
	return terminal.WriteText(w, text.String())
}

func (s Step) print(w io.Writer, number int) {
	fmt.Fprintf(w, "  step %d, line %d: %s", number, s.Line, s.Kind)
	switch s.Kind {
	case "launch":
		fmt.Fprintf(w, " %s of %s\n    %s\n", s.Entry, s.Module, s.shape())
	case "fill":
		fmt.Fprintf(w, " of %d bytes from %s on with 0x%02x\n", s.Bytes, s.To, *s.Value)
	case "copy":
		fmt.Fprintf(w, " of %d bytes from %s to %s\n", s.Bytes, s.From, s.To)
	default:
		fmt.Fprintln(w, " of all ranks")
	}
	for _, a := range s.Arguments {
		a.print(w)
	}
}

func (s Step) shape() string {
	parts := []string{"grid " + s.Grid, "block " + s.Block}
	if s.Cluster != "" {
		parts = append(parts, "cluster "+s.Cluster)
	}
	parts = append(parts, fmt.Sprintf("%d bytes of dynamic shared memory", s.SharedBytes))
	if s.Cooperative {
		parts = append(parts, "cooperative")
	}
	if s.PDL {
		parts = append(parts, "PDL")
	}
	return strings.Join(parts, ", ")
}

// print writes an argument. What is larger than a word follows in words, and so does the table that it points to.
func (a Argument) print(w io.Writer) {
	value, more := a.Hex, a.Table
	if raw, err := hex.DecodeString(a.Hex); err == nil {
		value, more = "", words(raw)
	}
	fmt.Fprintf(w, "    line %d\tat %d\t%d bytes\t%s\t%s\n", a.Line, a.At, a.Bytes, a.What, value)
	for at := 0; at < len(more); {
		end := at + 1
		for end < len(more) && more[end] == more[at] {
			end++
		}
		times := ""
		if end > at+1 {
			times = fmt.Sprintf(" to +%d: all", wordBytes*(end-1))
		}
		fmt.Fprintf(w, "      +%d%s %s\n", wordBytes*at, times, more[at])
		at = end
	}
}
