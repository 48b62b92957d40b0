package kernelfile

import "strings"

// collectives are what a file can compute, with whether an operation of the user's choice reduces. A test compares them
// with the catalog, which imports too much for this package.
var collectives = []struct {
	name    string
	reduces bool
	own     []string // the buffers that gpurun gives each call, in order
}{
	{"allreduce", true, inputAndOutput},
	{"allgather", false, inputAndOutput},
	{"reducescatter", true, inputAndOutput},
	{"broadcast", false, inputAndOutput},
	{"reduce", true, inputAndOutput},
	{"gather", false, inputAndOutput},
	{"scatter", false, inputAndOutput},
	{"alltoall", false, inputAndOutput},
	{"barrier", false, inputAndOutput},
	{gatheringProduct, false, []string{matrixA, matrixB, matrixC, matrixGathered}},
	{"matmul-reducescatter", false, []string{matrixA, matrixB, matrixC}},
	{"matmul-allreduce", false, []string{matrixA, matrixB, matrixC}},
	{Custom, false, nil},
}

var inputAndOutput = []string{inputName, outputName}

// The buffers of a collective.
const (
	inputName  = "input"
	outputName = "output"
)

// ownBuffers are the buffers that gpurun gives each call of a collective.
func ownBuffers(collective string) []string {
	for _, c := range collectives {
		if c.name == collective {
			return c.own
		}
	}
	return nil
}

// collective reads what the file computes.
func (d *decoder) collective(t *table) string {
	word := t.text("collective")
	if word.Text == "" {
		d.fail(t.node.line, `the file does not say what it computes: write collective = "allreduce", another `+
			`collective, or "custom"`)
		return ""
	}
	plain := strings.NewReplacer("-", "", "_", "")
	var names []string
	for _, c := range collectives {
		if plain.Replace(strings.ToLower(word.Text)) == plain.Replace(c.name) {
			return c.name
		}
		names = append(names, c.name)
	}
	d.fail(word.Line, "unknown collective %q%s", word.Text, didYouMean(word.Text, names))
	return ""
}

// checkOps refuses a reduction without an operation, and an operation where nothing is reduced.
func (d *decoder) checkOps(f *File, t *table) {
	for _, c := range collectives {
		switch {
		case c.name != f.Collective:
		case c.reduces && len(f.Ops) == 0:
			d.fail(t.node.line, `the file does not say how %s reduces: write op = "sum", or ops = ["sum", "max"]`, f.Collective)
		case !c.reduces && len(f.Ops) > 0:
			d.fail(t.node.line, "%s has no operation to choose: leave out op", f.Collective)
		}
	}
}
