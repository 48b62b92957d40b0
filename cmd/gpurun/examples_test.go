package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/viper"

	"gpurun/cmd/gpurun/exit"
)

// example reads a YAML document of the folder scripts. Keys are in lower case.
func example(t *testing.T, name string) *viper.Viper {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "..", "scripts", name))
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

// runsSmoke checks that a command line is one of smoke, with flags that exist.
func runsSmoke(t *testing.T, words []string) {
	t.Helper()
	if cmd := parsedOf(t, words...); cmd.Name() != smokeCommand {
		t.Errorf("%q runs %s", words, cmd.Name())
	}
}

func TestWorkflowExample(t *testing.T) {
	v := example(t, "github-smoke.yml")
	for _, key := range []string{
		"on workflow_dispatch", "permissions contents", "jobs build runs-on", "jobs smoke runs-on",
		"jobs smoke timeout-minutes",
	} {
		if _, parent := v.Get(key[:strings.LastIndexByte(key, ' ')]).(map[string]any); !parent {
			t.Errorf("%s is missing", key)
		}
	}
	if v.GetString("jobs smoke needs") != "build" {
		t.Error("smoke does not wait for what it runs")
	}
	var commands []string
	uploads := 0
	for _, step := range v.Get("jobs smoke steps").([]any) {
		step := step.(map[string]any)
		if command, ok := step["run"].(string); ok {
			commands = append(commands, command)
		}
		if with, ok := step["with"].(map[string]any); ok && step["if"] == "always()" {
			uploads++
			if !strings.Contains(with["path"].(string), "smoke.xml") {
				t.Error("the JUnit file is not kept")
			}
		}
	}
	at := slices.IndexFunc(commands, func(c string) bool { return strings.HasPrefix(c, "./gpurun ") })
	if at < 0 || uploads != 1 || !strings.Contains(commands[at], "--junit smoke.xml") {
		t.Fatalf("%q, %d uploads", commands, uploads)
	}
	runsSmoke(t, strings.Fields(commands[at])[1:])
}

func TestJobExample(t *testing.T) {
	v := example(t, "kubernetes-smoke.yaml")
	if v.GetString("kind") != "Job" || v.GetString("spec template spec restartPolicy") != "Never" {
		t.Error("a policy for failed pods needs a Job that does not restart them")
	}
	actions := map[int]string{}
	for _, rule := range v.Get("spec podFailurePolicy rules").([]any) {
		rule := rule.(map[string]any)
		codes, ok := rule["onexitcodes"].(map[string]any)
		if !ok {
			continue
		}
		if codes["operator"] != "In" || codes["containername"] != "gpurun" {
			t.Errorf("%v", codes)
		}
		for _, code := range codes["values"].([]any) {
			actions[code.(int)] = rule["action"].(string)
		}
	}
	for code, want := range map[int]string{
		exit.WrongData: "FailJob", exit.Threshold: "FailJob", exit.Usage: "FailJob", exit.Environment: "Ignore",
		exit.Timeout: "", exit.OK: "",
	} {
		if actions[code] != want {
			t.Errorf("exit code %d: %q, want %q", code, actions[code], want)
		}
	}
	container := v.Get("spec template spec containers").([]any)[0].(map[string]any)
	limits := container["resources"].(map[string]any)["limits"].(map[string]any)
	if got := limits["nvidia.com/gpu"]; container["name"] != "gpurun" || got != 8 {
		t.Errorf("%v with %v GPUs", container["name"], got)
	}
	mount := container["volumemounts"].([]any)[0].(map[string]any)
	volume := v.Get("spec template spec volumes").([]any)[0].(map[string]any)
	if mount["name"] != volume["name"] || mount["mountpath"] != "/dev/shm" ||
		volume["emptydir"].(map[string]any)["medium"] != "Memory" {
		t.Errorf("%v of %v", mount, volume)
	}
	var words []string
	for _, word := range container["args"].([]any) {
		words = append(words, word.(string))
	}
	runsSmoke(t, words)
}
