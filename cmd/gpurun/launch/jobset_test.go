package launch

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/spf13/pflag"
	"github.com/spf13/viper"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/node"
	"gpurun/cmd/gpurun/program"
	"gpurun/cmd/gpurun/torchrun"
	"gpurun/rendezvous/elastic"
)

const (
	jobSetIndex = "metadata.annotations['batch.kubernetes.io/job-completion-index']"
	jobSetToken = "0123456789abcdef0123456789abcdef"
)

// jobSetPod is the part of the example that every pod is made of.
type jobSetPod struct {
	spec, container map[string]any
}

func newJobSetPod(t *testing.T) jobSetPod {
	t.Helper()
	jobs := readExample(t, "kubernetes-jobset.yaml").Get("spec replicatedjobs").([]any)
	if len(jobs) != 1 {
		t.Fatalf("%d jobs", len(jobs))
	}
	job := field(t, jobs[0], "template", "spec").(map[string]any)
	for _, key := range []string{"parallelism", "completions"} {
		if job[key] != 2 {
			t.Errorf("%s is %v", key, job[key])
		}
	}
	spec := field(t, job, "template", "spec").(map[string]any)
	return jobSetPod{spec, spec["containers"].([]any)[0].(map[string]any)}
}

// field returns what a path of keys leads to.
func field(t *testing.T, from any, path ...string) any {
	t.Helper()
	for _, key := range path {
		below, ok := from.(map[string]any)
		if !ok || below[key] == nil {
			t.Fatalf("there is no %s in %v", key, from)
		}
		from = below[key]
	}
	return from
}

// environment are the variables that the pod of an index finds.
func (p jobSetPod) environment(t *testing.T, index int) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, variable := range p.container["env"].([]any) {
		variable := variable.(map[string]any)
		name := variable["name"].(string)
		if value, plain := variable["value"].(string); plain {
			all[name] = value
			continue
		}
		from := field(t, variable, "valuefrom").(map[string]any)
		switch _, secret := from["secretkeyref"]; {
		case secret:
			all[name] = jobSetToken
		case field(t, from, "fieldref", "fieldpath") == jobSetIndex:
			all[name] = strconv.Itoa(index)
		default:
			t.Errorf("%s is from %v", name, from)
		}
	}
	return all
}

// Whatever its environment says is a setting that gpurun has.
func TestJobSetExampleSaysWhatThereIs(t *testing.T) {
	known := []string{node.TokenVariable}
	torchrun.New().Flags().VisitAll(func(f *pflag.Flag) { known = append(known, torchrun.Variable(f.Name)) })
	names := newJobSetPod(t).environment(t, 0)
	for name := range names {
		if !slices.Contains(known, name) {
			t.Errorf("gpurun does not know %s", name)
		}
	}
	if names[node.TokenVariable] != jobSetToken {
		t.Error("the nodes have no secret")
	}
}

// Each pod is the node that its index says, and all meet at pod 0's name.
func TestJobSetExampleIsSettled(t *testing.T) {
	pod := newJobSetPod(t)
	for index := range 2 {
		t.Run(strconv.Itoa(index), func(t *testing.T) {
			for name, value := range pod.environment(t, index) {
				t.Setenv(name, value)
			}
			// Some launchers of Kubernetes set these.
			t.Setenv("RANK", strconv.Itoa(index))
			t.Setenv("WORLD_SIZE", "2")
			p := planned(t, pod)
			want := &elastic.Config{
				Backend: elastic.Static, Endpoint: "gpurun-train-node-0-0.gpurun-train:29500", Token: jobSetToken,
				MasterPort: 29501,
				RunID:      "gpurun-train",
				MinNodes:   2, MaxNodes: 2, MaxRestarts: 1, NodeRank: index, Workers: 8, Role: "default",
				Timeouts: elastic.DefaultTimeouts(),
			}
			if diff := cmp.Diff(want, p.meeting, cmpopts.IgnoreUnexported(elastic.Config{})); diff != "" {
				t.Error(diff)
			}
			if want := []string{"train.py"}; !slices.Equal(p.options.Words, want) || p.task != nil {
				t.Errorf("%q, %+v", p.options.Words, p.task)
			}
			grace := time.Duration(field(t, pod.spec, "terminationgraceperiodseconds").(int)) * time.Second
			if grace <= time.Duration(p.config.SignalGrace) {
				t.Errorf("the pod is killed after %v, and workers may take %v", grace, time.Duration(p.config.SignalGrace))
			}
		})
	}
}

// planned reads the pod's command line as gpurun does.
func planned(t *testing.T, pod jobSetPod) *command {
	t.Helper()
	args := []string{pod.container["command"].([]any)[0].(string)}
	for _, word := range pod.container["args"].([]any) {
		args = append(args, word.(string))
	}
	a := &program.Invocation{Out: new(bytes.Buffer), Err: new(bytes.Buffer), Args: args}
	options := torchrun.New()
	own := pflag.NewFlagSet(args[0], pflag.ContinueOnError)
	AddFlags(own, options)
	line, err := options.Split(args[1:], own)
	if err != nil {
		t.Fatal(err)
	}
	// The image has a script, and Python to run it.
	t.Chdir(t.TempDir())
	if err := os.WriteFile(line.Words[0], nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PYTHON_EXEC", "/bin/sh")
	p, err := plan(a, Words{Own: own, Options: options, Line: line})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// The manifests act on the exit codes that gpurun has for machines, and on no other code that looks like one.
func TestManifestsKnowTheCodesOfMachines(t *testing.T) {
	for file, want := range map[string]string{
		"kubernetes-jobset.yaml": fmt.Sprintf("[%d, %d]", exit.UnfitMachine, exit.NodeLost),
		"kubernetes-jobset-restart.yaml": fmt.Sprintf("[%d] [0, %d, %d, %d, %d]", exit.UnfitMachine, exit.Usage,
			exit.NotRunnable, exit.NotFound, exit.UnfitMachine),
		"kubernetes-trainer.yaml": fmt.Sprintf("[%d, %d]", exit.UnfitMachine, exit.NodeLost),
	} {
		text, err := os.ReadFile(filepath.Join("..", "..", "..", "scripts", file))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, values := range regexp.MustCompile(`values: (\[.*\])`).FindAllStringSubmatch(string(text), -1) {
			got = append(got, values[1])
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s has the codes %s, want %s", file, got, want)
		}
	}
}

func TestJobSetExampleFitsItself(t *testing.T) {
	v, pod := readExample(t, "kubernetes-jobset.yaml"), newJobSetPod(t)
	name := v.GetString("metadata name")
	host, _, _ := strings.Cut(pod.environment(t, 0)["PET_RDZV_ENDPOINT"], ":")
	job := field(t, v.Get("spec replicatedjobs").([]any)[0], "name").(string)
	if want := name + "-" + job + "-0-0." + v.GetString("spec network subdomain"); host != want {
		t.Errorf("the endpoint is %s, and pod 0 is %s", host, want)
	}
	if v.GetString("kind") != "JobSet" || !v.GetBool("spec network enablednshostnames") ||
		pod.spec["restartpolicy"] != "Never" {
		t.Error("pods have names, and do not begin again alone")
	}
	if gpus := field(t, pod.container, "resources", "limits").(map[string]any)["nvidia.com/gpu"]; gpus != 8 {
		t.Errorf("%v GPUs", gpus)
	}
	mount, volume := pod.container["volumemounts"].([]any)[0].(map[string]any),
		pod.spec["volumes"].([]any)[0].(map[string]any)
	if mount["name"] != volume["name"] || mount["mountpath"] != "/dev/shm" ||
		field(t, volume, "emptydir", "medium") != "Memory" {
		t.Errorf("%v of %v", mount, volume)
	}
}

// readExample reads a YAML document of the folder scripts. Keys are in lower case.
func readExample(t *testing.T, name string) *viper.Viper {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "..", "..", "scripts", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	v := viper.NewWithOptions(viper.KeyDelimiter(" ")) // names have dots
	v.SetConfigType("yaml")
	if err := v.ReadConfig(f); err != nil {
		t.Fatal(err)
	}
	return v
}
