package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/program"
	"gpurun/kernels"
	"gpurun/worker/process/guard"
)

// wordsFor are words with which a command has something to do.
func wordsFor(command, flag string) string {
	for _, words := range []struct{ flag, words string }{
		{"gpurun bench --root", "broadcast"},
		{"gpurun kernel init --of", ""},
		{"gpurun kernel init --collective", "--of=oneshot"},
		{"gpurun kernel init --type", "--of=oneshot"},
		{"gpurun check --litmus", "empty.litmus"},
		{"gpurun check --expect", "--litmus empty.litmus"},
		{"gpurun check --unroll", "--litmus empty.litmus"},
		{"gpurun check --root", "broadcast"},
		{"gpurun check --m", "allgather-matmul"},
		{"gpurun check --n", "allgather-matmul"},
		{"gpurun check --k", "allgather-matmul"},
		{"gpurun check --replay", ""},
	} {
		if words.flag == command+" --"+flag {
			return words.words
		}
	}
	switch command {
	case "gpurun bench", "gpurun check", "gpurun tune":
		return "allreduce"
	case "gpurun compare":
		return "run.json run.json"
	case "gpurun report":
		return "run.json"
	case "gpurun inspect":
		return "gather_ll.ptx"
	case "gpurun kernel init":
		return "--entry=gather_ll gather_ll.ptx"
	case "gpurun kernel", "gpurun kernel show":
		return "allreduce.toml"
	case "gpurun dump":
		return "1"
	}
	return ""
}

// beside are flags without which a flag means nothing.
func beside(command, flag string) string {
	product := strings.Contains(command, "matmul")
	switch {
	case flag == "of", flag == "type", flag == "collective", flag == "entry":
		return "--force"
	case flag == "hidden", flag == "epsilon":
		return "--epilogue=rmsnorm"
	case flag == "scale":
		return "--epilogue=scale"
	case flag == "stepbytes":
		return "--maxbytes=1K"
	case flag == "trace" && product:
		return "--algo=decomposed -m=64 -n=64 -k=64"
	case flag == "trace":
		return "--minbytes=1K --maxbytes=1K --algo=" + strings.TrimPrefix(command, "gpurun ") + ".toml"
	case flag == "against" && product:
		return "--algo=decomposed"
	case flag == "against":
		return "--algo=oneshot"
	}
	return ""
}

// runFile is a result of bench.
const runFile = `{"schema": 1, "world_size": 2, "results": [{"collective": "gather", "algorithm": "p2p", "dtype": "float",
	"op": "none", "bytes": 1024, "count": 128, "mode": "graph", "wrong": 0,
	"time_us": {"min": 1, "p50": 1, "max": 1}}]}`

// valueOf is a value that a flag takes: by its name, else by the word for it in its help.
func valueOf(c *cobra.Command, f *pflag.Flag) string {
	product := strings.Contains(c.CommandPath(), "matmul")
	switch placeholder, _ := pflag.UnquoteUsage(f); {
	case f.NoOptDefVal != "":
		return f.NoOptDefVal
	case f.Name == "algo" && c.Name() == "check":
		return "oneshot"
	case f.Name == "datatype" && product:
		return "half"
	case f.Name == "m" && product:
		return "64"
	case f.Name == "against" && product:
		return "decomposed"
	default:
		return sampleValue(f.Name, placeholder)
	}
}

func sampleValue(name, placeholder string) string {
	byName := map[string]string{
		"device": "sim", "output": "json", "log-level": "warn", "log-format": "json", "master-addr": "127.0.0.1",
		"config": "empty.toml", "algo": "auto", "op": "sum", "datatype": "float", "epilogue": "none",
		"profile": "none", "tuning": "none", "against": "oneshot", "inject": "hang:rank=0", "skew": "0=1",
		"min-busbw": "allreduce:1", "max-latency": "allreduce:20us", "strategy": "random", "model": "ptx",
		"sim-arch": "10.0", "type": "half", "of": "oneshot", "launches": "1", "collective": "allreduce",
		"entry": "gather_ll", "report": "nvsentinel", "node-rank": "0", "root": "0", "color": "never",
		"logs-specs": "default", "numa-binding": "none", "rdzv-backend": "static", "rdzv-conf": "timeout=2",
		"signals-to-handle": "SIGTERM", "start-method": "spawn", "health-check": "true", "on-failure": "none",
		"log-dir": "logs", "module": "false", "suppressions": "empty.toml", "nnodes": "1", "hidden": "8",
		"local-ranks-filter": "0", "k": "8",
	}
	switch value, ok := byName[name]; {
	case ok:
		return value
	case placeholder == "file", placeholder == "folder":
		return "new." + name
	case strings.Contains(placeholder, "|"):
		return strings.Split(placeholder, "|")[0]
	}
	return "2"
}

// TestNoShownFlagIsRefused tries each flag that the help of a command shows. Commands are only planned: their context
// has ended. Files that do not exist are no reason to refuse a flag. Of commands with the same flags, all are tried
// only in an exhaustive run.
func TestNoShownFlagIsRefused(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("PLATFORM_CONNECTOR_SOCKET", "socket") // for smoke --report
	t.Setenv("NODE_NAME", "node")
	writeFile(t, "empty.toml", nil)
	writeFile(t, "empty.litmus", nil)
	writeFile(t, "run.json", []byte(runFile))
	for _, c := range kernels.Collectives() {
		of := "ll"
		if c.Name == "allreduce" {
			of = "oneshot"
		}
		if c.Shape.Empty {
			continue
		}
		if err := planOnly([]string{"kernel", "init", "--of", of, "--collective", c.Name, c.Name + ".toml"}); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[string]bool{}
	for _, c := range documented(t) {
		if strings.HasPrefix(c.CommandPath(), "gpurun completion") {
			continue // cobra's own, which print to os.Stdout
		}
		names := ""
		c.Flags().VisitAll(func(f *pflag.Flag) { names += " " + f.Name })
		if seen[names] && os.Getenv("GPURUN_EXHAUSTIVE") != "1" {
			continue // as of broadcast, gather and scatter: the first one stands for the others
		}
		seen[names] = true
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Hidden || f.Name == "help" || f.Name == "version" {
				return
			}
			if text := refusalOf(t, c, f); text != "" {
				t.Errorf("%s --%s: %s", c.CommandPath(), f.Name, text)
			}
		})
	}
}

// refusalOf says how a command refuses one of its flags, or returns "".
func refusalOf(t *testing.T, c *cobra.Command, f *pflag.Flag) string {
	t.Helper()
	path := c.CommandPath()
	if !c.HasParent() { // its flags are in front of a collective or of a program
		flag := "--" + f.Name + "=" + valueOf(c, f)
		if usageOf(flag, "allreduce") == "" {
			return ""
		}
		return usageOf(flag, "--", "true")
	}
	words := strings.Fields(strings.Join([]string{
		strings.TrimPrefix(path, "gpurun"), wordsFor(path, f.Name), beside(path, f.Name), "--" + f.Name + "=" + valueOf(c, f),
	}, " "))
	if takesLauncherFlag(c, "device") && !slices.Contains([]string{"device", "require-gpu", "report"}, f.Name) {
		words = append([]string{"--device=sim", "--nproc-per-node=2"}, words...)
	}
	text := usageOf(words...)
	if strings.Contains(text, "new."+f.Name) {
		return "" // the flag is taken, and its file is missing
	}
	return text
}

// usageOf is the usage error of a command line, or "".
func usageOf(words ...string) string {
	var usage *exit.UsageError
	if err := planOnly(words); errors.As(err, &usage) {
		return err.Error()
	}
	return ""
}

// planOnly runs a command line up to its first wait.
func planOnly(words []string) error {
	ended, end := context.WithCancel(context.Background())
	end()
	a := &program.Invocation{
		In: os.Stdin, Out: io.Discard, Err: &bytes.Buffer{}, Args: append([]string{"gpurun"}, words...),
		Lifeline: &guard.Lifeline{},
	}
	root := newCommand(a)
	if err := refuseInFront(root, words); err != nil {
		return err
	}
	root.SetArgs(words)
	root.SetOut(io.Discard)
	root.SetErr(io.Discard)
	return root.ExecuteContext(ended)
}
