package finding

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"gpurun/cudart/sim/check/race"
)

// String is the finding as a block of lines: what and where, the sides, the last one first, and why.
func (f Finding) String() string {
	if len(f.Waits) > 0 {
		return f.waitsText()
	}
	var b strings.Builder
	b.WriteString(f.Headline() + "\n")
	for _, row := range align(f.rows()) {
		b.WriteString("  " + row + "\n")
	}
	for _, line := range f.Reasons() {
		b.WriteString("  " + line + "\n")
	}
	return b.String()
}

// Headline says what was found, and where.
func (f Finding) Headline() string {
	kind := strings.ToUpper(strings.ReplaceAll(string(f.Kind), "-", " "))
	if f.Kind == Race && len(f.Sides) == 2 {
		return fmt.Sprintf("%s  %s, %d bytes of %s", kind, relation(f.Sides[0].Kind, f.Sides[1].Kind), f.Bytes, f.Where)
	}
	if f.Where == "" {
		return kind + "  " + f.Cause
	}
	return kind + "  " + f.Where
}

// rows are the sides, in columns.
func (f Finding) rows() (rows [][]string) {
	for i := len(f.Sides) - 1; i >= 0; i-- {
		rows = append(rows, f.Sides[i].columns(f.verb(i)))
	}
	return rows
}

// Reasons are the lines that say why this is a mistake, and what to do.
func (f Finding) Reasons() (lines []string) {
	if f.Flag != nil {
		release, acquire := f.Flag[0], f.Flag[1]
		before := f.Sides // the first of them is in the line above
		lines = append(lines, fmt.Sprintf("the flag between them: %s, %s", release.brief(before),
			acquire.brief(slices.Concat([]Access{release}, before))))
	}
	if f.Kind == Race && f.Advice == "" || f.Kind != Race && f.Where != "" {
		lines = append(lines, cmp.Or(f.Origin, f.Cause))
	}
	if f.Advice != "" {
		lines = append(lines, f.Advice)
	}
	switch {
	case f.Cause == SameValue:
		lines = append(lines, "a note: no result changes, but PTX calls this a race")
	case f.Note && f.Kind != Leak:
		lines = append(lines, "a note: current GPUs do not show this, and PTX does not promise that")
	}
	return lines
}

// relation names a race by what happened last.
func relation(first, second race.Kind) string {
	names := map[race.Kind]string{race.Read: "read", race.Write: "write", race.Update: "atomic operation"}
	return names[second] + " after " + names[first]
}

// Opcode is the instruction without its guard and its operands, or the command.
func (a Access) Opcode() string {
	if a.Module == "" {
		return a.Text
	}
	return firstWord(a.Text)
}

// firstWord is that of an instruction's text without its guard.
func firstWord(text string) string {
	if strings.HasPrefix(text, "@") {
		_, text, _ = strings.Cut(text, " ")
	}
	op, _, _ := strings.Cut(strings.TrimSpace(text), " ")
	return strings.TrimSuffix(op, ";")
}

// Who is the rank with its warp, or with its command.
func (a Access) Who() string {
	if a.Kernel == "" {
		return strings.TrimSpace(fmt.Sprintf("rank %d %s", a.Rank, a.Command))
	}
	return fmt.Sprintf("rank %d block %d warp %d", a.Rank, a.Block, a.Warp)
}

// Place is the line of the source, or else of the PTX; "" for commands.
func (a Access) Place() string {
	switch {
	case a.Module == "":
		return ""
	case a.Source == "":
		return fmt.Sprintf("%s:%d", a.Module, a.Line)
	}
	return a.Source
}

// columns are one side, with what its actor does: "rank 0 block 3 warp 1 reads", "ld.global.u32", "mine.cu:12",
// "(PTX 88)".
func (a Access) columns(verb string) []string {
	row := []string{a.Who()}
	if verb != "" {
		row[0] += " " + verb
	}
	row = append(row, a.Opcode())
	if place := a.Place(); a.InlinedAt != "" {
		row = append(row, place+", inlined at "+a.InlinedAt)
	} else if place != "" {
		row = append(row, place)
	}
	if a.Source != "" {
		row = append(row, fmt.Sprintf("(PTX %d)", a.Line))
	}
	return row
}

// brief is an access behind others, of which the nearest is first: "rank 2 st.release.gpu :75", or with the file unless
// that is the one named last.
func (a Access) brief(others []Access) string {
	place := a.Place()
	file, line, _ := cutLast(place, ":")
	named := slices.IndexFunc(others, func(o Access) bool { return o.Place() != "" })
	if named >= 0 && place != "" {
		if last, _, _ := cutLast(others[named].Place(), ":"); last == file {
			place = ":" + line
		}
	}
	return strings.TrimSpace(fmt.Sprintf("rank %d %s %s", a.Rank, a.Opcode(), place))
}

func cutLast(s, separator string) (before, after string, found bool) {
	i := strings.LastIndex(s, separator)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(separator):], true
}

// String is one side: "rank 0 block 3 warp 1 reads   ld.global.u32   mine.cu:12   (PTX 88)".
func (a Access) String() string { return align([][]string{a.columns(a.Kind.String())})[0] }

// align joins the columns of rows, each as wide as its widest cell.
func align(rows [][]string) (lines []string) {
	const gap = 3
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range rows {
		var b strings.Builder
		for i, cell := range row {
			b.WriteString(cell)
			if i < len(row)-1 {
				b.WriteString(strings.Repeat(" ", widths[i]+gap-utf8.RuneCountInString(cell)))
			}
		}
		lines = append(lines, b.String())
	}
	return lines
}
