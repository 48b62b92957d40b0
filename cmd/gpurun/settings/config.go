package settings

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"gpurun/cmd/gpurun/phrase"
	"gpurun/cudart/symm"
	"gpurun/kernels/collective"
	"gpurun/worker/result"
)

// Config is everything that can be configured; configs/default.toml explains
// the keys. A key is also the name of a flag.
type Config struct {
	Launch `mapstructure:",squash"`

	NProcPerNode  Processes `mapstructure:"nproc-per-node"`
	Device        string    `mapstructure:"device"`
	RequireGPU    bool      `mapstructure:"require-gpu"`
	Oversubscribe bool      `mapstructure:"oversubscribe"`
	NNodes        NodeCount `mapstructure:"nnodes"`
	NodeRank      int       `mapstructure:"node-rank"`
	MasterAddr    string    `mapstructure:"master-addr"`
	MasterPort    int       `mapstructure:"master-port"`

	MinBytes    ByteSize `mapstructure:"minbytes"`
	MaxBytes    ByteSize `mapstructure:"maxbytes"`
	StepBytes   ByteSize `mapstructure:"stepbytes"`
	StepFactor  int64    `mapstructure:"stepfactor"`
	Iters       int      `mapstructure:"iters"`
	WarmupIters int      `mapstructure:"warmup-iters"`
	RunCycles   int      `mapstructure:"run-cycles"`
	Op          []string `mapstructure:"op"`
	DataType    []string `mapstructure:"datatype"`
	Check       int      `mapstructure:"check"`
	CUDAGraph   int      `mapstructure:"cudagraph"`
	Timeout     Seconds  `mapstructure:"timeout"`
	Algo        []string `mapstructure:"algo"`
	Seed        uint64   `mapstructure:"seed"`
	Output      string   `mapstructure:"output"`
	OutputFile  string   `mapstructure:"output-file"`
	MinBusBW    []string `mapstructure:"min-busbw"`
	MaxLatency  []string `mapstructure:"max-latency"`
	Profile     string   `mapstructure:"profile"`
	JUnit       string   `mapstructure:"junit"`
	Prometheus  string   `mapstructure:"prometheus"`
	Rounds      int      `mapstructure:"rounds"`
	Against     string   `mapstructure:"against"`
	Timing      bool     `mapstructure:"timing"`

	M             Numbers `mapstructure:"m"`
	N             Numbers `mapstructure:"n"`
	K             Numbers `mapstructure:"k"`
	SplitsPerRank Numbers `mapstructure:"splits-per-rank"`
	Trace         string  `mapstructure:"trace"`

	Root      int  `mapstructure:"root"`
	Unaligned bool `mapstructure:"unaligned"`

	// Only gpurun tune takes several epilogues and lengths of rows.
	Epilogue []string `mapstructure:"epilogue"`
	Hidden   Numbers  `mapstructure:"hidden"`
	Scale    float32  `mapstructure:"scale"`
	Epsilon  float32  `mapstructure:"epsilon"`

	Blocks    int    `mapstructure:"blocks"`
	MaxBlocks int    `mapstructure:"max-blocks"`
	Tuning    string `mapstructure:"tuning"`
	Explain   bool   `mapstructure:"explain"`
	PDL       string `mapstructure:"pdl"`
	P2P       string `mapstructure:"p2p"`
	Multicast string `mapstructure:"multicast"`
	SimSeed   uint64 `mapstructure:"sim-seed"`

	Symm       string `mapstructure:"symm"`
	NCCLLib    string `mapstructure:"nccl-lib"`
	NVSHMEMLib string `mapstructure:"nvshmem-lib"`
	CUBLASLib  string `mapstructure:"cublas-lib"`
}

// check refuses numbers out of range and words that do not exist.
func (s *Sources) check(c Config) error {
	for _, n := range []struct {
		key         string
		value       int64
		least, most int64
	}{
		{"node-rank", int64(c.NodeRank), 0, collective.MaxRanks - 1},
		{"master-port", int64(c.MasterPort), 1, 1<<16 - 1},
		{"stepfactor", c.StepFactor, 2, 1 << 30},
		{"iters", int64(c.Iters), 1, 1 << 20},
		{"warmup-iters", int64(c.WarmupIters), 0, 1 << 20},
		{"run-cycles", int64(c.RunCycles), 1, 1 << 20},
		{"check", int64(c.Check), 0, 1},
		{"cudagraph", int64(c.CUDAGraph), 0, 1 << 20},
		{"rounds", int64(c.Rounds), 1, maxRounds},
		{"root", int64(c.Root), 0, collective.MaxRanks - 1},
		{"hidden", slices.Max(c.Hidden), 1, 1 << 30},
		{"blocks", int64(c.Blocks), 0, collective.MaxBlocks},
		{"max-blocks", int64(c.MaxBlocks), 0, collective.MaxBlocks},
	} {
		if n.value < n.least || n.value > n.most {
			return s.Blame(n.key, fmt.Errorf("%d is not between %d and %d", n.value, n.least, n.most))
		}
	}
	return cmp.Or(s.checkReals(c), s.checkWords(c), s.checkEpilogues(c), s.checkMulticast(c))
}

// checkReals refuses factors that would turn every result into the same.
func (s *Sources) checkReals(c Config) error {
	if math.IsNaN(float64(c.Scale)) || math.IsInf(float64(c.Scale), 0) || c.Scale == 0 {
		return s.Blame("scale", fmt.Errorf("%v is not a finite number other than 0", c.Scale))
	}
	if !(c.Epsilon >= 0) || math.IsInf(float64(c.Epsilon), 0) {
		return s.Blame("epsilon", fmt.Errorf("%v is not a finite number from 0 on", c.Epsilon))
	}
	return nil
}

// wordSetting is a setting that is one of some words.
type wordSetting struct {
	key, word string
	valid     []string
}

func (s *Sources) checkWords(c Config) error {
	return cmp.Or(s.checkLaunch(c.Launch), s.checkValid([]wordSetting{
		{"device", c.Device, []string{Auto, "cuda", "sim"}},
		{"output", c.Output, outputFormats()},
		{"pdl", c.PDL, []string{Auto, On, Off}},
		{"p2p", c.P2P, []string{Auto, Off}},
		{"multicast", c.Multicast, []string{Auto, On, Off}},
		{"symm", c.Symm, symmWords()},
	}))
}

func (s *Sources) checkLaunch(l Launch) error {
	return s.checkValid([]wordSetting{
		{"log-level", l.LogLevel, []string{"debug", "info", "warn", "error"}},
		{"log-format", l.LogFormat, []string{"console", "json"}},
	})
}

func (s *Sources) checkValid(words []wordSetting) error {
	for _, w := range words {
		if !slices.Contains(w.valid, w.word) {
			return s.Blame(w.key, phrase.Unknown("word", w.word, w.valid))
		}
	}
	return nil
}

// checkMulticast refuses multicast addresses together with what has none.
func (s *Sources) checkMulticast(c Config) error {
	switch {
	case c.Multicast != On:
		return nil
	case c.P2P == Off:
		return s.Blame("multicast", errors.New("on needs GPUs that reach each other, and p2p is off"))
	case c.Symm == string(symm.Host), c.Symm == string(symm.IPC):
		return s.Blame("multicast", fmt.Errorf("on needs memory that has multicast addresses, which that shared by %s has not: leave symm at auto", c.Symm))
	}
	return nil
}

// symmWords are the kinds of memory that ranks can share.
func symmWords() []string {
	words := []string{Auto}
	for _, kind := range []symm.Kind{symm.VMM, symm.IPC, symm.NVSHMEMHeap, symm.Host} {
		words = append(words, string(kind))
	}
	return words
}

func outputFormats() []string {
	var words []string
	for _, f := range result.Formats() {
		words = append(words, string(f))
	}
	return words
}

// maxRounds is far more than a median needs.
const maxRounds = 1000
