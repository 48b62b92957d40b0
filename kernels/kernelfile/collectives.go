package kernelfile

import "strings"

// collectives are what a file can compute, with whether an operation of the user's choice reduces. A test compares them
// with the catalog, which imports too much for this package.
var collectives = []struct {
	name    string
	reduces bool
}{
	{"allreduce", true},
	{"allgather", false},
	{"reducescatter", true},
	{"broadcast", false},
	{"reduce", true},
	{"gather", false},
	{"scatter", false},
	{"alltoall", false},
	{"barrier", false},
	{"allgather-matmul", false},
	{"matmul-reducescatter", false},
	{"matmul-allreduce", false},
	{Custom, false},
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
