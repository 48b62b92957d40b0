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
			if exhaustive() {
				e.Schedules = 6
			}
			for _, c := range zooCases(t, m.Name+".mended") {
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

// findZoo finds a mistake among each number of ranks, and returns what the first one shows: it has the accesses in the
// order of the table. With more ranks, races may be seen in the other order alone.
func findZoo(t *testing.T, name string, want zooFinding) engine.Finding {
	byRanks := map[int][]plannedCase{}
	var worlds []int
	for _, c := range zooCases(t, name) {
		if len(byRanks[c.world]) == 0 {
			worlds = append(worlds, c.world)
		}
		byRanks[c.world] = append(byRanks[c.world], c)
	}
	var first engine.Finding
	for i, world := range worlds {
		if f := findAmong(t, byRanks[world], want, i > 0); i == 0 {
			first = f
		}
	}
	return first
}

// findAmong runs schedules of some cases until one shows what is to be found.
func findAmong(t *testing.T, cases []plannedCase, want zooFinding, anyOrder bool) engine.Finding {
	const most = 16 // rounds of a schedule of each strategy
	var seen strings.Builder
	for round := range uint64(most) {
		for _, c := range cases {
			e := engine.Exploration{Schedules: len(engine.DefaultStrategies), Seed: 1 + round, Diagnose: true}
			explored, err := engine.Explore(c.config(), e, c.calls.Task)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range explored.Findings {
				if want.is(t, f.Finding) || anyOrder && want.is(t, reversed(f.Finding)) {
					return f.Finding
				}
				fmt.Fprintf(&seen, "%s(%s)\n", f, f.Cause)
			}
		}
	}
	t.Fatalf("%d ranks: found no %s, %s, %q; found:\n%s", cases[0].world, want.kind, want.cause, want.sides, seen.String())
	return engine.Finding{}
}

// zooCases are the cases of a kernel file, each with its variants: among two ranks, or two, three and four.
func zooCases(t *testing.T, name string) (cases []plannedCase) {
	o := &Options{}
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	o.Add(f)
	path := filepath.Join(zooFolder, name+".toml")
	words := []string{"--sizes", "1004,4K"}
	if !exhaustive() {
		words = append(words, "--ranks", "2")
	}
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
	kind  engine.Kind
	cause string
	sides []string // what the lines of the sides have, in the order of the accesses; or commands
	flag  [2]string
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

// reversed is a race in the other order. Other findings stay as they are.
func reversed(f engine.Finding) engine.Finding {
	if f.Kind == engine.Race {
		f.Sides = slices.Clone(f.Sides)
		slices.Reverse(f.Sides)
	}
	return f
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
