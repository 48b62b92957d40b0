package doctor

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"gpurun/cmd/gpurun/terminal"
	"gpurun/cudart/nvml"
	"gpurun/worker/result"
)

// JSON writes the diagnosis as one document.
func (d Diagnosis) JSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(d)
}

// Write writes the diagnosis for people: the GPUs, how they are connected, and
// the findings, of which the last line is the verdict.
func (d Diagnosis) Write(w io.Writer) error {
	var b strings.Builder
	d.writeDevices(&b)
	d.writeTopology(&b)
	d.writePairs(&b)
	d.writeFindings(&b)
	return terminal.WriteText(w, b.String())
}

func (d Diagnosis) writeDevices(w io.Writer) {
	if len(d.Devices) == 0 {
		return
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "GPU\tNAME\tPCI\tCOMPUTE\tMEMORY\tUSED\tUUID")
	for _, g := range d.Devices {
		used := "?"
		if g.Health.Memory != nil {
			used = size(g.Health.Memory.Used)
		}
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\t%s\t%s\n", g.Index, g.Name, g.PCIBusID, g.Compute, size(g.TotalMemory), used,
			g.UUID)
	}
	t.Flush() // to memory
	fmt.Fprintln(w)
}

func (d Diagnosis) writeTopology(w io.Writer) {
	if len(d.Topology) == 0 {
		return
	}
	var names []string
	for _, g := range d.Devices {
		names = append(names, fmt.Sprintf("GPU%d", g.Index))
	}
	matrix(w, "How they are connected:", names, func(a, b int) string { return d.Topology[a][b] })
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, entry := range nvml.Legend() {
		if d.inTopology(entry[0]) {
			fmt.Fprintf(t, "  %s\t%s\n", entry[0], entry[1])
		}
	}
	t.Flush() // to memory
	fmt.Fprintln(w)
}

// inTopology reports whether a word of the legend is used.
func (d Diagnosis) inTopology(word string) bool {
	for _, row := range d.Topology {
		for _, x := range row {
			if x == word || word == "NV#" && strings.HasPrefix(x, "NV") {
				return true
			}
		}
	}
	return false
}

func (d Diagnosis) writePairs(w io.Writer) {
	if len(d.Pairs) == 0 {
		return
	}
	var names []string
	for rank := range d.Ranks {
		names = append(names, strings.ReplaceAll(d.rank(rank), " ", ""))
	}
	found := map[[2]int]result.Pair{}
	for _, p := range d.Pairs {
		found[[2]int{p.From, p.To}] = p
	}
	show := func(title, format string, of func(result.Pair) float64) {
		matrix(w, title, names, func(a, b int) string {
			if a == b {
				return "-"
			}
			p, ok := found[[2]int{a, b}]
			if !ok {
				return "?"
			}
			return fmt.Sprintf(format, of(p))
		})
		fmt.Fprintln(w)
	}
	alone := "one pair at a time"
	if d.simulated() {
		alone = "all at a time in the simulator"
	}
	show("Copies of "+size(d.PairBytes)+" by row to column, "+alone+", GB/s:", "%.1f",
		func(p result.Pair) float64 { return p.CopyGBs })
	show("The same with every GPU sending and receiving, GB/s:", "%.1f",
		func(p result.Pair) float64 { return p.LoadedGBs })
	show("A load by one thread of row from the memory of column, each after the one before, ns:", "%.0f",
		func(p result.Pair) float64 { return p.LatencyNS })
}

// matrix prints what a row has to say about each column.
func matrix(w io.Writer, title string, names []string, cell func(row, column int) string) {
	fmt.Fprintln(w, title)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "\t%s\t\n", strings.Join(names, "\t"))
	for row, name := range names {
		fmt.Fprintf(t, "%s\t", name)
		for column := range names {
			fmt.Fprintf(t, "%s\t", cell(row, column))
		}
		fmt.Fprintln(t)
	}
	t.Flush() // to memory
}

func (d Diagnosis) writeFindings(w io.Writer) {
	counts := map[Status]int{}
	for _, f := range d.Findings {
		counts[f.Status]++
		fmt.Fprintf(w, "%-4s  %-15s  %s\n", f.Status, f.Check, f.Summary)
		for _, line := range f.Details {
			fmt.Fprintf(w, "%23s%s\n", "", line)
		}
		if f.Advice != "" {
			fmt.Fprintf(w, "%23s-> %s\n", "", f.Advice)
		}
	}
	fmt.Fprintf(w, "\n%s: %d OK, %d WARN, %d FAIL\n", d.Worst(), counts[OK], counts[Warn], counts[Fail])
}
