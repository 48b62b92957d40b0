package settings

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"gpurun/cmd/gpurun/suggest"
	"gpurun/cudart/symm"
	"gpurun/kernels/collective"
)

// maxRounds is far more than a median needs.
const maxRounds = 1000

// maxMinutes is a month.
const maxMinutes = 31 * 24 * 60

// check refuses numbers out of range and words that do not exist.
func check(s *Sources, c Config) error {
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
			return s.Invalid(n.key, fmt.Errorf("%d is not between %d and %d", n.value, n.least, n.most))
		}
	}
	return cmp.Or(checkReals(s, c), checkWords(s, c), checkEpilogues(s, c), checkMulticast(s, c))
}

// checkReals refuses factors that would turn every result into the same, and a time that is none.
func checkReals(s *Sources, c Config) error {
	if math.IsNaN(float64(c.Scale)) || math.IsInf(float64(c.Scale), 0) || c.Scale == 0 {
		return s.Invalid("scale", fmt.Errorf("%v is not a finite number other than 0", c.Scale))
	}
	if !(c.Epsilon >= 0) || math.IsInf(float64(c.Epsilon), 0) {
		return s.Invalid("epsilon", fmt.Errorf("%v is not a finite number from 0 on", c.Epsilon))
	}
	if !(c.Minutes >= 0 && c.Minutes <= maxMinutes) {
		return s.Invalid("minutes", fmt.Errorf("%v is not between 0 and %d", c.Minutes, maxMinutes))
	}
	return nil
}

// wordSetting is a setting that is one of some words.
type wordSetting struct {
	key, word string
	valid     []string
}

func checkWords(s *Sources, c Config) error {
	return cmp.Or(checkLaunch(s, c.Launch), checkValid(s, []wordSetting{
		{"device", c.Device, []string{Auto, "cuda", "sim"}},
		{"output", c.Output, outputFormats()},
		{"pdl", c.PDL, []string{Auto, On, Off}},
		{"p2p", c.P2P, []string{Auto, Off}},
		{"multicast", c.Multicast, []string{Auto, On, Off}},
		{"symm", c.Symm, symm.Selectable()},
		{"sim-arch", c.SimArch, SimArches()},
		{"sim-memory", c.SimMemory, []string{HardwareMemory, PTXMemory}},
	}))
}

func checkLaunch(s *Sources, l Launch) error {
	return checkValid(s, []wordSetting{
		{"log-level", l.LogLevel, []string{"debug", "info", "warn", "error"}},
		{"log-format", l.LogFormat, []string{"console", "json"}},
		{"on-failure", l.OnFailure, []string{DumpOnFailure, "none"}},
	})
}

func checkValid(s *Sources, words []wordSetting) error {
	for _, w := range words {
		if !slices.Contains(w.valid, w.word) {
			return s.Invalid(w.key, suggest.Unknown("value", w.word, w.valid))
		}
	}
	return nil
}

// checkMulticast refuses multicast addresses together with what has none.
func checkMulticast(s *Sources, c Config) error {
	switch {
	case c.Multicast != On:
		return nil
	case c.P2P == Off:
		return s.Invalid("multicast", errors.New("on needs peer access, and p2p is off"))
	case !symm.Kind(c.Symm).Traits().Multicast:
		return s.Invalid("multicast", fmt.Errorf("on needs a multicast address, and memory shared by %s has none: set "+
			"symm to auto", c.Symm))
	}
	return nil
}
