package result

import (
	"fmt"
	"io"
	"strings"

	"gpurun/cudart"
)

// table prints the table of nccl-tests, to the character, because many programs
// read it: NVIDIA/nccl-tests, src/util.cu. Every line that is not a row of
// numbers begins with '#'.
type table struct {
	w       io.Writer
	narrow  bool    // see NewTable
	group   string  // of the row before
	pending *Result // out of place, whose row lacks the result in place
}

// tableHeader names the columns. Trailing blanks are nccl-tests'.
const tableHeader = "" +
	"#\n" +
	"#                                                              out-of-place                       " +
	"in-place          \n" +
	"#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   " +
	"busbw  #wrong \n" +
	"#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  " +
	"(GB/s)         \n"

func (t *table) Begin(r Report) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# gpurun version %s\n# Using devices\n", r.Version)
	for rank, d := range r.Devices {
		var p Process
		if rank < len(r.Processes) {
			p = r.Processes[rank]
		}
		fmt.Fprintf(&b, "#  Rank %2d Group %2d Pid %6d on %10s device %2d [%s] %s\n",
			rank, 0, p.PID, p.Host, d.Ordinal, location(d), d.Name)
	}
	if t.narrow {
		b.WriteString(narrowHeader)
	} else {
		b.WriteString(tableHeader)
	}
	_, err := io.WriteString(t.w, b.String())
	return err
}

// location is the PCI domain, bus and device, without the function.
func location(d cudart.Info) string {
	if d.PCIBusID == "" {
		return d.Backend
	}
	address, _, _ := strings.Cut(strings.ToLower(d.PCIBusID), ".")
	return address
}

func (t *table) Add(r Result) error {
	if !r.InPlace {
		if err := t.flush(); err != nil {
			return err
		}
		if r.Alone {
			return t.row(r, columns(r)+noColumns)
		}
		t.pending = &r
		return nil
	}
	outOfPlace := t.pending
	if outOfPlace == nil || outOfPlace.group() != r.group() || outOfPlace.Count != r.Count {
		return t.alone(r)
	}
	t.pending = nil
	return t.row(r, columns(*outOfPlace)+columns(r))
}

// row prints a line. A comment precedes it when it begins another group.
func (t *table) row(r Result, columns string) error {
	var b strings.Builder
	if group := r.group(); group != t.group {
		t.group = group
		fmt.Fprintf(&b, "# %s\n", group)
	}
	if fmt.Fprintf(&b, "%12d", r.Bytes); !t.narrow {
		fmt.Fprintf(&b, "  %12d  %8s  %6s  %6d", r.Count, r.DType, r.Op, r.Root)
	}
	b.WriteString(columns + "\n")
	_, err := io.WriteString(t.w, b.String())
	return err
}

// noColumns are the columns of a result that does not exist.
const (
	notAvailable = "N/A"
	noColumns    = "      N/A     N/A     N/A     N/A"
)

// columns formats time, rates and wrong elements.
func columns(r Result) string {
	wrong := notAvailable
	if r.Wrong != nil {
		wrong = fmt.Sprintf("%.6g", float64(*r.Wrong))
	}
	if r.Untimed {
		return fmt.Sprintf("  %7s  %6s  %6s  %6s", notAvailable, notAvailable, notAvailable, wrong)
	}
	return fmt.Sprintf("  %s  %s  %s  %6s", fit(r.Time.P50, 7), fit(r.AlgBW, 6), fit(r.BusBW, 6), wrong)
}

// fit formats value with as many decimals, up to two, as fit into the width.
func fit(value float64, width int) string {
	for decimals := 2; decimals >= 0; decimals-- {
		if s := fmt.Sprintf("%*.*f", width, decimals, value); len(s) <= width {
			return s
		}
	}
	if width >= len("1.0e+08") {
		return fmt.Sprintf("%*.1e", width, value)
	}
	return fmt.Sprintf("%*.0e", width, value)
}

// flush prints an out-of-place result that got no result in place.
func (t *table) flush() error {
	if t.pending == nil {
		return nil
	}
	r := *t.pending
	t.pending = nil
	return t.alone(r)
}

// alone prints half of a row as a comment: programs that read the table expect all
// columns in every row.
func (t *table) alone(r Result) error {
	_, err := fmt.Fprintf(t.w, "# %s, alone:%s\n", r, columns(r))
	return err
}

func (t *table) End(r Report) error {
	if err := t.flush(); err != nil {
		return err
	}
	_, err := io.WriteString(t.w, footer(r))
	return err
}

// footer prints the verdict. A run that ended early with nothing wrong gets
// neither "OK" nor an average.
func footer(r Report) string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "# %-20s : %s\n", name, fmt.Sprintf(format, args...))
	}
	wrong := failedResults(r.Results)
	switch {
	case wrong > 0:
		line("Out of bounds values", "%d FAILED", wrong)
	case r.Passed, r.Gate != nil:
		line("Out of bounds values", "%s", noneWrong(r.Results))
	}
	if r.Passed || r.Gate != nil || (wrong > 0 && r.Failure == "") {
		line("Avg bus bandwidth", "%.6g ", averageBusBW(r.Results))
	}
	if r.Further != nil {
		line("Further calls", "%s", r.Further)
	}
	if r.Gate != nil {
		line("Thresholds", "%s", r.Gate)
	}
	if used := algorithms(r); used != "" {
		line("Algorithms", "%s", used)
	}
	if r.Memory != nil {
		line("Memory", "%s (%s)", r.Memory.Backend, r.Memory.Why)
	}
	if r.Failure != "" {
		line("Run ended early", "exit code %d", r.ExitCode)
	}
	b.WriteString("#\n")
	return b.String()
}

// noneWrong is the verdict on results without wrong elements: "0 OK", as nccl-tests has it,
// or how many were not verified.
func noneWrong(results []Result) string {
	unverified := 0
	for _, x := range results {
		if x.Wrong == nil {
			unverified++
		}
	}
	switch {
	case unverified == 0:
		return "0 OK"
	case unverified == len(results):
		return "not verified"
	}
	return fmt.Sprintf("0 OK, %d of %d results not verified", unverified, len(results))
}

// averageBusBW is the mean over all results, as nccl-tests computes it.
func averageBusBW(results []Result) float64 {
	var sum float64
	timed := 0
	for _, r := range results {
		if !r.Untimed {
			sum += r.BusBW
			timed++
		}
	}
	return sum / float64(max(timed, 1))
}
