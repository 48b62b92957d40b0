package main

import (
	"fmt"
	"slices"

	"gpurun/worker/result"
)

// config is everything that can be configured; configs/default.toml explains
// the keys. A key is also the name of a flag.
type config struct {
	NProcPerNode  processes `mapstructure:"nproc-per-node"`
	Device        string    `mapstructure:"device"`
	RequireGPU    bool      `mapstructure:"require-gpu"`
	Oversubscribe bool      `mapstructure:"oversubscribe"`
	Grace         seconds   `mapstructure:"grace"`
	LogLevel      string    `mapstructure:"log-level"`
	LogFormat     string    `mapstructure:"log-format"`

	MinBytes    byteSize `mapstructure:"minbytes"`
	MaxBytes    byteSize `mapstructure:"maxbytes"`
	StepBytes   byteSize `mapstructure:"stepbytes"`
	StepFactor  int64    `mapstructure:"stepfactor"`
	Iters       int      `mapstructure:"iters"`
	WarmupIters int      `mapstructure:"warmup-iters"`
	RunCycles   int      `mapstructure:"run-cycles"`
	Op          []string `mapstructure:"op"`
	DataType    []string `mapstructure:"datatype"`
	Check       int      `mapstructure:"check"`
	CUDAGraph   int      `mapstructure:"cudagraph"`
	Timeout     seconds  `mapstructure:"timeout"`
	Algo        []string `mapstructure:"algo"`
	Seed        uint64   `mapstructure:"seed"`
	Output      string   `mapstructure:"output"`
	OutputFile  string   `mapstructure:"output-file"`
}

// check refuses numbers out of range and words that do not exist.
func (s *settings) check(c config) error {
	for _, n := range []struct {
		key         string
		value       int64
		least, most int64
	}{
		{"stepfactor", c.StepFactor, 2, 1 << 30},
		{"iters", int64(c.Iters), 1, 1 << 20},
		{"warmup-iters", int64(c.WarmupIters), 0, 1 << 20},
		{"run-cycles", int64(c.RunCycles), 1, 1 << 20},
		{"check", int64(c.Check), 0, 1},
		{"cudagraph", int64(c.CUDAGraph), 0, 1 << 20},
	} {
		if n.value < n.least || n.value > n.most {
			return s.blame(n.key, fmt.Errorf("%d is not between %d and %d", n.value, n.least, n.most))
		}
	}
	for _, w := range []struct {
		key, word string
		valid     []string
	}{
		{"device", c.Device, []string{"auto", "cuda", "sim"}},
		{"output", c.Output, outputFormats()},
		{"log-level", c.LogLevel, []string{"debug", "info", "warn", "error"}},
		{"log-format", c.LogFormat, []string{"console", "json"}},
	} {
		if !slices.Contains(w.valid, w.word) {
			return s.blame(w.key, unknown("word", w.word, w.valid))
		}
	}
	return nil
}

func outputFormats() []string {
	var words []string
	for _, f := range result.Formats() {
		words = append(words, string(f))
	}
	return words
}
