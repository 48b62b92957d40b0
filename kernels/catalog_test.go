package kernels

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpurun/kernels/collective"
	"gpurun/kernels/matmul"
	"gpurun/kernels/probe"
	"gpurun/kernels/ptx"
)

var entryPoint = regexp.MustCompile(`\.visible \.entry (\w+)\(`)

// knownEntries has, by module, what entriesOf has listed.
var knownEntries sync.Map

// entriesOf lists the entry points in a module's PTX.

func entriesOf(t *testing.T, module string) []string {
	t.Helper()
	if known, ok := knownEntries.Load(module); ok {
		return known.([]string)
	}
	text, err := ptx.Source(module)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, match := range entryPoint.FindAllSubmatch(text, -1) {
		found = append(found, string(match[1]))
	}
	slices.Sort(found)
	knownEntries.Store(module, found)
	return found
}

// Every module has exactly the entry points that the catalog lists, for the module's architecture.
func TestEveryModuleHasItsEntries(t *testing.T) {
	want := map[string][]string{}
	for _, k := range append(matmul.AllKernels(), probe.Kernels()...) {
		want[k.Module.Name] = append(want[k.Module.Name], k.Entry)
	}
	for _, c := range Collectives() {
		for _, a := range c.Algorithms {
			for _, k := range slices.Concat(a.Kernels, a.Others) {
				if a.Needs.Library == "" {
					want[k.Module.Name] = append(want[k.Module.Name], k.Entry)
				}
			}
		}
	}
	for _, m := range Modules() {
		entries := want[m.Name]
		slices.Sort(entries)
		if diff := cmp.Diff(slices.Compact(entries), entriesOf(t, m.Name)); diff != "" {
			t.Errorf("%s (-catalog +PTX)\n%s", m.Name, diff)
		}
		text, err := ptx.Source(m.Name)
		if err != nil {
			t.Fatal(err)
		}
		if !regexp.MustCompile(`\.target ` + m.Arch.String() + `\n`).Match(text) {
			t.Errorf("%s is not for %s", m.Name, m.Arch)
		}
	}
}

// everything lists the algorithms that each collective must have. Algorithms that reduce must have
// all types and operations, except those by multimem and by mailboxes.
var everything = map[string][]string{
	"allreduce": {
		"naive", "oneshot", "oneshot_ll", "oneshot_lamport", "twoshot", "twoshot_lamport", "twoshot_push", "copy_engine",
		"multimem_oneshot", "multimem_twoshot", "nccl", "nccl_symmetric", "nvshmem",
	},
	"allgather": {
		"naive", "pull", "push", "ll", "lamport", "bulk", "copy_engine", "multimem", "nccl", "nccl_symmetric", "nvshmem",
	},
	"reducescatter": {"naive", "pull", "ll", "copy_engine", "multimem", "nccl", "nccl_symmetric", "nvshmem"},
	"broadcast":     {"naive", "p2p", "ll", "lamport", "bulk", "chain", "copy_engine", "multimem", "nccl", "nvshmem"},
	"reduce":        {"naive", "p2p", "ll", "oneshot_lamport", "twoshot_lamport", "chain", "copy_engine", "nccl"},
	"gather":        {"naive", "p2p", "ll", "lamport", "copy_engine", "nccl"},
	"scatter":       {"naive", "p2p", "ll", "lamport", "copy_engine", "nccl"},
	"alltoall":      {"naive", "push", "ll", "lamport", "copy_engine", "nccl", "nvshmem"},
	"barrier":       {"flag", "multimem", "nvshmem"},
}

// multimemHas lists, by type, the operations that the switch can reduce (PTX ISA,
// multimem.ld_reduce), without averages that would be rounded twice.
var multimemHas = map[string][]collective.Op{
	"int32": {"sum", "min", "max", "avg"}, "uint32": {"sum", "min", "max", "avg"},
	"int64": {"sum", "min", "max", "avg"}, "uint64": {"sum", "min", "max", "avg"},
	"half": {"sum", "min", "max"}, "bfloat16": {"sum", "min", "max"},
	"float": {"sum", "avg"}, "double": {"sum", "avg"},
	"f8e4m3": {"sum", "min", "max"}, "f8e5m2": {"sum", "min", "max"},
}

// Every collective, algorithm, type and operation has an entry point, for every
// world size, on the oldest GPU that it is for and on the newest.
func TestCatalogHasNoHole(t *testing.T) {
	for name, algorithms := range everything {
		c, ok := Find(name)
		if !ok {
			t.Errorf("there is no %s", name)
			continue
		}
		for _, algorithm := range algorithms {
			a, ok := c.Algorithm(algorithm)
			if !ok {
				t.Errorf("%s has no %s", name, algorithm)
				continue
			}
			for _, d := range collective.DTypes() {
				for _, op := range wantedOps(c, a, d) {
					checkEntry(t, a, d, op)
				}
			}
		}
	}
	for _, c := range Collectives() {
		for _, a := range c.Algorithms {
			if !slices.Contains(everything[c.Name], a.Name) {
				t.Errorf("nobody misses %s %s when it goes: add it to everything, in catalog_test.go", c.Name, a.Name)
			}
		}
	}
}

// The table of algorithms in docs/collectives.md lists the catalog.
func TestDocsHaveTheCatalog(t *testing.T) {
	text, err := os.ReadFile("../docs/collectives.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range Collectives() {
		var own, libraries []string
		for _, a := range c.Algorithms {
			if a.Needs.Library == "" {
				own = append(own, a.Name)
			} else {
				libraries = append(libraries, a.Name)
			}
		}
		row := fmt.Sprintf("| %s | %s; %s |", c.Name, strings.Join(own, ", "), strings.Join(libraries, ", "))
		if !strings.Contains(string(text), "\n"+row+"\n") {
			t.Errorf("docs/collectives.md lacks this row of its table of algorithms:\n%s", row)
		}
	}
}

func wantedOps(c *collective.Collective, a *collective.Algorithm, d collective.DType) []collective.Op {
	onlyFloats := a.Needs.Mailboxes || a.Name == "chain"
	switch {
	case !c.Shape.Reduces:
		return []collective.Op{collective.None}
	case a.Needs.Multicast:
		return multimemHas[d.Name]
	case onlyFloats && !slices.Contains([]string{"half", "bfloat16", "float"}, d.Name):
		return nil
	case a.Name == "chain" && d.Name == "half":
		return []collective.Op{"sum", "prod", "min", "max"}
	case a.Name == "nvshmem" && d.SignificandBits > 0 && d.Size == 1:
		return nil
	case a.Name == "nccl_symmetric" && (d.SignificandBits == 0 || d.Size > 4):
		return nil
	case a.Name == "nccl_symmetric":
		return []collective.Op{"sum"}
	case a.Name == "nvshmem":
		return []collective.Op{"sum", "prod", "min", "max"}
	}
	return collective.Ops()
}

// oldest is the least compute capability that an algorithm is for.
func oldest(a *collective.Algorithm, d collective.DType, op collective.Op) int {
	switch {
	case a.Needs.Multicast && d.SignificandBits > 0 && d.Size == 1 && op != collective.None:
		return 100
	case a.Needs.Multicast, a.Needs.Mailboxes, a.Name == "bulk", a.Name == "chain":
		return 90
	}
	return 80
}

func checkEntry(t *testing.T, a *collective.Algorithm, d collective.DType, op collective.Op) {
	t.Helper()
	if a.Needs.Library != "" {
		if a.Needs.Library != a.Name || !a.Supports(d, op, collective.NoEpilogue) {
			t.Errorf("%s %s, %s of %s: not from the library", a.Collective, a.Name, op, d.Name)
		}
		return
	}
	oldest := oldest(a, d, op)
	if got := a.MinSM(d, op, collective.NoEpilogue); got != oldest {
		t.Errorf("%s %s, %s of %s: from compute capability %d on, want %d", a.Collective, a.Name, op, d.Name, got, oldest)
	}
	for _, sm := range []int{oldest, 100} {
		for _, world := range []int{1, 2, 3, 4, 8, collective.MaxRanks} {
			k, ok := a.Find(d, op, collective.NoEpilogue, world, sm)
			if !ok || !slices.Contains(entriesOf(t, k.Module.Name), k.Entry) {
				t.Errorf("%s %s, %s of %s, %d ranks, compute capability %d: no entry point %q", a.Collective, a.Name, op, d.Name,
					world, sm, k.Entry)
			}
		}
	}
}

// An unsupported call is refused. The error names the algorithm and the calls that it supports.
func TestWhatCannotBeDoneIsRefused(t *testing.T) {
	for _, c := range Collectives() {
		for _, a := range c.Algorithms {
			for _, d := range collective.DTypes() {
				able := wantedOps(c, a, d)
				for _, op := range append(collective.Ops(), collective.None) {
					err := a.Check(collective.Call{Count: 1, DType: d, Op: op}, 2)
					if (err == nil) != slices.Contains(able, op) {
						t.Errorf("%s %s, %s of %s: %v", c.Name, a.Name, op, d.Name, err)
					}
				}
			}
		}
	}
	a, _ := mustFind(t, "allreduce").Algorithm("multimem_oneshot")
	err := a.Check(collective.Call{Count: 1, DType: collective.Float, Op: collective.Prod}, 2)
	want := "allreduce multimem_oneshot cannot do prod of float; of float it does sum, avg; it does prod of nothing"
	if err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}

func mustFind(t *testing.T, name string) *collective.Collective {
	t.Helper()
	c, ok := Find(name)
	if !ok {
		t.Fatalf("there is no %s", name)
	}
	return c
}

// Names and aliases lead to one collective each, and automatic choices are in
// its list and able.
func TestCatalogIsConsistent(t *testing.T) {
	words := map[string]string{}
	for _, c := range Collectives() {
		for _, word := range append([]string{c.Name}, c.Aliases...) {
			if other, taken := words[word]; taken {
				t.Errorf("%q means %s and %s", word, other, c.Name)
			}
			words[word] = c.Name
			if found, ok := Find(word); !ok || found.Name != c.Name {
				t.Errorf("Find(%q) does not find %s", word, c.Name)
			}
		}
		checkChoices(t, c)
	}
	if _, ok := Find("allreduc"); ok {
		t.Error("Find accepts a misspelt name")
	}
}

func checkChoices(t *testing.T, c *collective.Collective) {
	t.Helper()
	op := collective.None
	if c.Shape.Reduces {
		op = collective.Sum
	}
	for world := 1; world <= collective.MaxRanks; world++ {
		for bytes := int64(0); bytes <= 1<<32; bytes = bytes*4 + 4 {
			call := collective.Call{Count: bytes / 4, DType: collective.Float, Op: op}
			what := fmt.Sprintf("%s, %d ranks, %d bytes", c.Name, world, bytes)
			chosen, ok := c.Algorithm(c.Choose(world, call))
			if !ok {
				t.Fatalf("%s: the choice is not in the catalog", what)
			}
			if err := chosen.Check(call, world); err != nil || chosen.Needs.Multicast {
				t.Errorf("%s: %s: %v", what, chosen.Name, err)
			}
		}
	}
}

// No kernel uses atomics in peers' memory: not all links support them.
func TestNoAtomicsAtPeers(t *testing.T) {
	counts := func(module string) bool {
		text, err := ptx.Source(module)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(text) {
			if !bytes.Contains(line, []byte(".sys.")) {
				continue
			}
			words := strings.Fields(string(line))
			op := words[0]
			if strings.HasPrefix(op, "@") {
				op = words[1]
			}
			if strings.HasPrefix(op, "red.") || strings.HasPrefix(op, "atom.") {
				return true // a multimem.red is NVLink's own
			}
		}
		return false
	}
	for _, c := range Collectives() {
		for _, a := range c.Algorithms {
			for _, k := range append(slices.Clone(a.Kernels), a.Others...) {
				if a.Needs.Library == "" && counts(k.Module.Name) {
					t.Errorf("%s %s counts at peers", a.Collective, a.Name)
				}
			}
		}
	}
	for _, m := range matmul.Modules() {
		if counts(m.Name) {
			t.Errorf("%s counts at peers", m.Name)
		}
	}
}

// Names are known without making what they name.
func TestNames(t *testing.T) {
	var collectives, operations []string
	for _, c := range Collectives() {
		collectives = append(collectives, c.Name)
	}
	for _, o := range matmul.Operations() {
		operations = append(operations, o.Name)
	}
	if got := Names(); !slices.Equal(got, collectives) {
		t.Errorf("collectives %v have the names %v", collectives, got)
	}
	if got := matmul.Names(); !slices.Equal(got, operations) {
		t.Errorf("operations %v have the names %v", operations, got)
	}
}

// The catalog is made once: it takes milliseconds, and every command reads it first.
func TestCatalogIsMadeOnce(t *testing.T) {
	if !slices.Equal(Collectives(), Collectives()) {
		t.Error("collectives are made anew")
	}
	if !slices.Equal(matmul.Operations(), matmul.Operations()) {
		t.Error("products are made anew")
	}
}
