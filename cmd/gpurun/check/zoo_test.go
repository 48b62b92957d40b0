package check

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	engine "gpurun/cudart/sim/check"
	"gpurun/kernels/examples/zoo"
)

// zooFolder has the mistakes that people made, each with its mended twin.
var zooFolder = filepath.Join("..", "..", "..", "kernels", "examples", "zoo")

// exhaustive reports whether tests take the time for more ranks and schedules.
func exhaustive() bool { return os.Getenv("GPURUN_EXHAUSTIVE") == "1" }

// Each mistake is found, with the kind, the cause and the lines that explain it (zooFindings), and docs/check-zoo.md
// shows that finding. With the flag -update it is written into the page.
func TestMistakesAreFound(t *testing.T) {
	page := readZooPage(t)
	var names []string
	for _, m := range zoo.Mistakes() {
		names = append(names, m.Name)
		t.Run(m.Name, func(t *testing.T) {
			want, ok := zooFindings[m.Name]
			if !ok {
				t.Fatal("zooFindings does not say what is to be found")
			}
			page.check(t, m.Name, want, findZoo(t, m.Name, want))
		})
	}
	page.write(t)
	for name := range zooFindings {
		if !slices.Contains(names, name) {
			t.Errorf("zooFindings has %s, which is not in the folder", name)
		}
	}
}

// The mended twin of each mistake has no finding, and nothing of it is left unchecked.
func TestMendedTwinsAreClean(t *testing.T) {
	for _, m := range zoo.Mistakes() {
		t.Run(m.Name, func(t *testing.T) {
			e := engine.Exploration{Schedules: 4, Seed: 1}
			ranks, sizes := "2", "1004,4K"
			if exhaustive() {
				e.Schedules, ranks, sizes = 16, "2,3,4", "1004,4K"
			}
			for _, c := range zooCases(t, m.Name+".mended", ranks, sizes, zooFindings[m.Name].resident) {
				explored, err := engine.Explore(c.config(), e, c.calls.Task)
				if err != nil {
					t.Fatal(err)
				}
				for _, f := range explored.Findings {
					t.Errorf("%d ranks, %s:\n%s", c.world, c.variant, f)
				}
				if explored.Err != nil || len(explored.Incomplete) > 0 {
					t.Errorf("%d ranks, %s: incomplete: %v %v", c.world, c.variant, explored.Err, explored.Incomplete)
				}
			}
		})
	}
}

// findZoo runs schedules of a mistake until one shows what is to be found.
func findZoo(t *testing.T, name string, want zooFinding) engine.Finding {
	const most = 16 // rounds of a schedule of each strategy
	cases := zooCases(t, name, "2", "1004,4K", want.resident)
	var seen []engine.Found
	for round := range uint64(most) {
		for _, c := range cases {
			e := engine.Exploration{Schedules: len(engine.DefaultStrategies), Seed: 1 + round}
			explored, err := engine.Explore(c.config(), e, c.calls.Task)
			if err != nil {
				t.Fatal(err)
			}
			for i := range explored.Findings {
				if f := explored.Findings[i].Finding; want.is(t, f) {
					return f
				}
			}
			seen = append(seen, explored.Findings...)
		}
	}
	var b strings.Builder
	for _, f := range seen {
		fmt.Fprintf(&b, "%s(%s)\n", f, f.Cause)
	}
	t.Fatalf("found no %s, %s, %q; found:\n%s", want.kind, want.cause, want.sides, b.String())
	return engine.Finding{}
}

// zooCases are the cases of a kernel file, each with its variants.
func zooCases(t *testing.T, name, ranks, sizes string, resident int) (cases []plannedCase) {
	o := &Options{}
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	o.Add(f)
	path := filepath.Join(zooFolder, name+".toml")
	words := []string{"--ranks", ranks, "--sizes", sizes, "--launches", "3", "--resident", fmt.Sprint(resident)}
	if err := f.Parse(words); err != nil {
		t.Fatal(err)
	}
	if err := o.Read(f); err != nil {
		t.Fatal(err)
	}
	p, err := NewPlan(context.Background(), o, []string{path}, func(s string) { t.Log(s) })
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range p.cases {
		cases = append(cases, c.variants()...)
	}
	return cases
}

// zooFinding is what explains a mistake best.
type zooFinding struct {
	kind     engine.Kind
	cause    string
	sides    []string // what the lines of the sides have, in the order of the accesses; or commands
	flag     [2]string
	resident int // see --resident
}

// flags are those with which the mistake is found, in front of which is a space.
func (z zooFinding) flags() string {
	if z.resident == 0 {
		return ""
	}
	return fmt.Sprintf(" --resident %d", z.resident)
}

// is reports whether a finding explains the mistake.
func (z zooFinding) is(t *testing.T, f engine.Finding) bool {
	if f.Kind != z.kind || !strings.HasPrefix(f.Cause, z.cause) || len(f.Sides) < len(z.sides) {
		return false
	}
	for i, s := range z.sides {
		if !strings.Contains(zooLine(t, f.Sides[i]), s) {
			return false
		}
	}
	if z.flag == [2]string{} {
		return true
	}
	return f.Flag != nil && strings.Contains(zooLine(t, f.Flag[0]), z.flag[0]) &&
		strings.Contains(zooLine(t, f.Flag[1]), z.flag[1])
}

// zooLine is the line of the source of a side, or the command.
func zooLine(t *testing.T, a engine.Access) string {
	file, number, ok := strings.Cut(a.Source, ":")
	if !ok {
		return a.Text
	}
	for _, folder := range []string{zooFolder, filepath.Dir(zooFolder)} {
		text, err := os.ReadFile(filepath.Join(folder, file))
		if err != nil {
			continue
		}
		for i, line := range strings.Split(string(text), "\n") {
			if fmt.Sprint(i+1) == number {
				return line
			}
		}
	}
	t.Fatalf("there is no line %s", a.Source)
	return ""
}

