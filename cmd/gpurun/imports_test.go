package main

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// modulePath is that of go.mod. CONTRIBUTING.md says how it changes.
const modulePath = "gpurun"

// importRule says which of our own packages the packages under a folder may
// import. A folder that ends in $ is that package alone.
type importRule struct {
	folder  string
	allowed []string
	reason  string
}

var importRules = []importRule{
	{"gpurun/cudart", []string{"gpurun/cudart"}, "devices know nothing of what runs on them"},
	{"gpurun/cudart/sim/check/race", nil, "what races is decided without knowing who executes it"},
	{
		"gpurun/cudart/sim/check/finding",
		[]string{"gpurun/cudart/sim/check/race", "gpurun/cudart/sim/check/schedule"},
		"how a finding reads is decided without knowing how mistakes are found",
	},
	{
		"gpurun/cudart/sim/check/partialorder",
		[]string{"gpurun/cudart/sim/check/schedule"},
		"which schedules are of use is decided without knowing what runs",
	},
	{"gpurun/cudart/sim/check/schedule", nil, "a schedule is a value, which can be written and shortened without a run"},
	{"gpurun/cudart/sim/check/litmus", nil, "what the memory model allows is decided without executing PTX"},
	{
		"gpurun/cudart/sim/check$",
		[]string{
			"gpurun/cudart$", "gpurun/cudart/sim/check/finding", "gpurun/cudart/sim/check/partialorder",
			"gpurun/cudart/sim/check/race", "gpurun/cudart/sim/check/schedule", "gpurun/cudart/sim/exec",
			"gpurun/cudart/sim/ptx", "gpurun/cudart/sim/tensorcore",
		},
		"the race checker executes PTX by itself, without the simulator's goroutines and clock",
	},
	{
		"gpurun/cudart/sim/exec",
		[]string{
			"gpurun/cudart$", "gpurun/cudart/sim/approx", "gpurun/cudart/sim/ptx", "gpurun/cudart/sim/simd",
			"gpurun/cudart/sim/tensorcore",
		},
		"the executor does not know who runs grids, and who observes them",
	},
	{"gpurun/rendezvous", []string{"gpurun/rendezvous"}, "the rendezvous carries bytes and knows nothing of their use"},
	{
		"gpurun/kernels",
		[]string{"gpurun/kernels", "gpurun/cudart$", "gpurun/cudart/sim/check$"},
		"kernels see devices through the interfaces alone",
	},
	{
		"gpurun/worker",
		[]string{"gpurun/worker", "gpurun/kernels", "gpurun/rendezvous", "gpurun/cudart$", "gpurun/cudart/symm$"},
		"only cmd chooses a backend",
	},
	{
		"gpurun/worker/workload",
		[]string{"gpurun/kernels", "gpurun/cudart$", "gpurun/cudart/symm$"},
		"what ranks are to do is worked out without running anything",
	},
	{"gpurun/worker/collectives", onRanks, "what runs on ranks knows nothing of what else does: worker.Run has them all"},
	{"gpurun/worker/products", onRanks, "what runs on ranks knows nothing of what else does: worker.Run has them all"},
	{"gpurun/worker/links", onRanks, "what runs on ranks knows nothing of what else does: worker.Run has them all"},
	{
		"gpurun/worker/rank",
		[]string{
			"gpurun/worker/hang", "gpurun/worker/library", "gpurun/worker/peers", "gpurun/worker/status",
			"gpurun/worker/workload", "gpurun/worker/result",
			"gpurun/worker/process/report", "gpurun/kernels", "gpurun/rendezvous", "gpurun/cudart$", "gpurun/cudart/symm$",
		},
		"a rank knows nothing of what runs on it",
	},
	{
		"gpurun/cmd/gpurun$",
		[]string{"gpurun/cmd/gpurun", "gpurun/worker", "gpurun/kernels", "gpurun/configs"},
		"commands read words, and leave devices to the packages below them",
	},
	{"gpurun/configs", nil, "configuration is data"},
}

// onRanks is what packages may import that run on ranks.
var onRanks = []string{
	"gpurun/worker/rank", "gpurun/worker/measure", "gpurun/worker/verify", "gpurun/worker/soak", "gpurun/worker/peers",
	"gpurun/worker/workload", "gpurun/worker/result",
	"gpurun/kernels", "gpurun/cudart$",
}

// layers are the packages below this one, the lowest first. A package may import those of the
// layers below its own, and none of its own layer.
var layers = [][]string{
	{"nvsentinel/v1"},
	{"exit", "suggest", "slurm", "torchrun", "foreign", "nvsentinel"},
	{"settings", "flags", "program", "terminal"},
	{"host", "node", "outcome", "inspect", "flags/flagtest"},
	{"session", "list", "kernelcode", "kerneldraft", "kernelshow", "checkreport"},
	{"plan", "doctor", "launch"},
	{"bench", "smoke", "tune", "check"},
}

// libraryRule says by which packages alone a library, or a package of ours, may be
// imported. Here too, one that ends in $ stands without what is below it.
type libraryRule struct {
	library string
	by      []string
	reason  string
}

var libraryRules = []libraryRule{
	{"github.com/ebitengine/purego", []string{"gpurun/cudart"}, "libraries in C are opened under cudart only"},
	{"github.com/spf13/cobra", []string{"gpurun/cmd/gpurun$"}, "only the program itself has commands"},
	{"github.com/spf13/viper", []string{"gpurun/cmd/gpurun/settings$"}, "configuration is read in one place"},
	{"github.com/go-viper/mapstructure", []string{"gpurun/cmd/gpurun/settings$"}, "configuration is decoded in one place"},
	{"github.com/spf13/pflag", []string{"gpurun/cmd"}, "only cmd reads the command line"},
	{"google.golang.org/grpc", speakGRPC, "only the rendezvous, and what reports to NVSentinel, speak gRPC"},
	{"google.golang.org/protobuf", speakGRPC, "only the rendezvous, and what reports to NVSentinel, speak gRPC"},
	{
		"go.uber.org/zap",
		[]string{"gpurun/cmd", "gpurun/worker", "gpurun/rendezvous"},
		"devices and kernels return errors, and log nothing",
	},
	{"github.com/klauspost/compress", []string{"gpurun/kernels/ptx/pack$"}, "only the PTX in the binary is packed by it"},
	{
		"golang.org/x/sync",
		[]string{"gpurun/rendezvous", "gpurun/kernels/ptx/build$"},
		"goroutines are few, and elsewhere plain",
	},
	{
		"golang.org/x/sys",
		[]string{"gpurun/cmd", "gpurun/worker", "gpurun/rendezvous", "gpurun/cudart"},
		"kernels make no system calls",
	},
	{"golang.org/x/term", []string{"gpurun/cmd"}, "only cmd knows the terminal"},
	{
		"github.com/ianlancetaylor/demangle",
		[]string{"gpurun/cmd/gpurun/kernelcode$", "gpurun/cmd/gpurun/kerneldraft$", "gpurun/worker/hang$"},
		"kernels are found by their names in C++ where their files are read, and a hang names them",
	},
	{
		"github.com/hashicorp/golang-lru",
		[]string{"gpurun/cudart/sim$"},
		"the simulator's compiled kernels are the only cache",
	},
	{
		"github.com/pelletier/go-toml",
		[]string{
			"gpurun/cmd/gpurun/settings$", "gpurun/kernels/rulefile$", "gpurun/kernels/tuning$", "gpurun/kernels/kernelfile$",
		},
		"files in TOML are read in one place each",
	},
	{
		"go.yaml.in/yaml",
		[]string{"gpurun/kernels/kernelfile$", "gpurun/cmd/gpurun/settings$"},
		"files in YAML are read in one place each",
	},
	{"github.com/expr-lang/expr", []string{"gpurun/kernels/kernelfile$"}, "only kernel files have expressions"},
	{"github.com/x448/float16", []string{"gpurun/kernels/reference$"}, "kernels and simulator convert by their own code"},
	{
		"github.com/google/go-cmp",
		[]string{"gpurun/rendezvous/transcript$", "gpurun/worker/golden$"},
		"only tests compare whole values",
	},
	{
		"gpurun/cudart/driver",
		[]string{"gpurun/cmd/gpurun/host$", "gpurun/cmd/gpurun/doctor$"},
		"a backend is chosen in one place",
	},
	{"gpurun/cudart/sim$", []string{"gpurun/cmd/gpurun/host$"}, "a backend is chosen in one place"},
	{
		"gpurun/cudart/sim/check$",
		[]string{"gpurun/kernels/checktask$", "gpurun/cmd/gpurun/check$"},
		"tasks of the race checker are made in one place",
	},
}

var speakGRPC = []string{"gpurun/rendezvous", "gpurun/cmd/gpurun/nvsentinel"}

type listedPackage struct {
	ImportPath string
	Imports    []string
}

func TestImportsGoOneWay(t *testing.T) {
	packages := listPackages(t)
	if len(packages) < 10 {
		t.Fatalf("go list found only %d packages", len(packages))
	}
	for _, p := range packages {
		for _, complaint := range complaints(p) {
			t.Error(complaint)
		}
	}
}

// What helps tests may register flags and end the process: nothing else may import it.
func TestNobodyImportsWhatIsForTests(t *testing.T) {
	packages := listPackages(t)
	forTests := map[string]bool{}
	for _, p := range packages {
		forTests[p.ImportPath] = slices.Contains(p.Imports, "testing")
	}
	if !forTests["gpurun/worker/golden"] {
		t.Error("it is not seen that a package is for tests")
	}
	for _, p := range packages {
		for _, imported := range p.Imports {
			if forTests[imported] && !forTests[p.ImportPath] {
				t.Errorf("%s imports %s, which is for tests", p.ImportPath, imported)
			}
		}
	}
}

func TestModulePath(t *testing.T) {
	if text := readDocument(t, "go.mod"); !strings.HasPrefix(text, "module "+modulePath+"\n") {
		t.Errorf("modulePath is %q, and go.mod has another", modulePath)
	}
}

// The rules do say no: a check that cannot fail checks nothing.
func TestImportRulesSayNo(t *testing.T) {
	for _, bad := range []listedPackage{
		{"gpurun/cudart/sim", []string{"gpurun/kernels/ptx"}},
		{"gpurun/cudart/sim/check/race", []string{"gpurun/cudart/sim/exec"}},
		{"gpurun/cudart/sim/check", []string{"gpurun/cudart/sim"}},
		{"gpurun/cudart/sim/exec", []string{"gpurun/cudart/sim/check/race"}},
		{"gpurun/rendezvous", []string{"gpurun/worker"}},
		{"gpurun/kernels/allreduce", []string{"gpurun/cudart/driver"}},
		{"gpurun/kernels/allreduce", []string{"gpurun/cudart/sim/check"}},
		{"gpurun/worker/process/agent", []string{"gpurun/cudart/sim"}},
		{"gpurun/worker", []string{"github.com/spf13/viper"}},
		{"gpurun/worker/workload", []string{"gpurun/rendezvous"}},
		{"gpurun/worker/workload", []string{"gpurun/worker"}},
		{"gpurun/worker/collectives", []string{"gpurun/worker/products"}},
		{"gpurun/worker/products", []string{"gpurun/worker/links"}},
		{"gpurun/worker/links", []string{"gpurun/rendezvous"}},
		{"gpurun/worker/rank", []string{"gpurun/worker/collectives"}},
		{"gpurun/cmd/gpurun", []string{"github.com/spf13/viper"}},
		{"gpurun/cmd/gpurun", []string{"gpurun/cudart/nvml"}},
		{"gpurun/cmd/gpurun/plan", []string{"gpurun/cudart/sim"}},
		{"gpurun/cmd/gpurun/settings", []string{"github.com/spf13/cobra"}},
		{"gpurun/cmd/gpurun/node", []string{"github.com/spf13/viper"}},
		{"gpurun/cmd/gpurun/settings", []string{"gpurun/cmd/gpurun/plan"}},
		{"gpurun/cmd/gpurun/node", []string{"gpurun/cmd/gpurun/plan"}},
		{"gpurun/cmd/gpurun/settings", []string{"gpurun/cmd/gpurun/flags"}},
		{"gpurun/cmd/gpurun/plan", []string{"gpurun/cmd/gpurun/attic"}},
		{"gpurun/cmd/gpurun", []string{"gpurun/cmd/gpurun/attic"}},
		{"gpurun/worker", []string{"github.com/ebitengine/purego"}},
		{"gpurun/worker", []string{"google.golang.org/grpc/codes"}},
		{"gpurun/kernels/matmul", []string{"go.uber.org/zap"}},
		{"gpurun/kernels/userkernel", []string{"github.com/expr-lang/expr/parser"}},
		{"gpurun/cmd/gpurun/plan", []string{"go.yaml.in/yaml/v3"}},
		{"gpurun/cudart/sim/exec", []string{"github.com/x448/float16"}},
		{"gpurun/cmd/gpurun", []string{"github.com/nobody/nothing"}},
	} {
		if len(complaints(bad)) == 0 {
			t.Errorf("%s may import %s", bad.ImportPath, bad.Imports[0])
		}
	}
}

func complaints(p listedPackage) []string {
	var all []string
	for _, imported := range p.Imports {
		for _, rule := range importRules {
			if matches(p.ImportPath, []string{rule.folder}) && within(imported, modulePath) && !matches(imported, rule.allowed) {
				all = append(all, p.ImportPath+" imports "+imported+": "+rule.reason)
			}
		}
		known := within(imported, modulePath) || inStandardLibrary(imported)
		for _, rule := range libraryRules {
			if !matches(imported, []string{rule.library}) {
				continue
			}
			known = true
			if !matches(p.ImportPath, rule.by) {
				all = append(all, p.ImportPath+" imports "+imported+": "+rule.reason)
			}
		}
		if !known {
			all = append(all, p.ImportPath+" imports "+imported+": libraryRules says by whom it may be imported, and why")
		}
		if within(imported, mainPackage) && layerOf(imported) >= layerOf(p.ImportPath) {
			all = append(all, p.ImportPath+" imports "+imported+", which is in no layer below it")
		}
	}
	return all
}

// inStandardLibrary tells Go's own packages from those of others, which begin with a domain.
func inStandardLibrary(path string) bool {
	domain, _, _ := strings.Cut(path, "/")
	return !strings.Contains(domain, ".")
}

// mainPackage is the path of the package that is above all layers.
const mainPackage = modulePath + "/cmd/gpurun"

// layerOf is the layer of a package. One that has none is where nobody may import it.
func layerOf(path string) int {
	name := strings.TrimPrefix(path, mainPackage+"/")
	layer := slices.IndexFunc(layers, func(layer []string) bool { return slices.Contains(layer, name) })
	if layer < 0 {
		return len(layers)
	}
	return layer
}

func matches(path string, allowed []string) bool {
	for _, a := range allowed {
		exact, isExact := strings.CutSuffix(a, "$")
		if path == exact || !isExact && within(path, a) {
			return true
		}
	}
	return false
}

func within(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, folder+"/")
}

func listPackages(t *testing.T) []listedPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", modulePath+"/...")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var packages []listedPackage
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listedPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}
