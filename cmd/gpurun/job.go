package main

import (
	"fmt"
	"slices"
	"time"

	"gpurun/kernels/collective"
	"gpurun/worker"
)

// job turns the settings into what the workers do.
func (s *settings) job(c config, what *collective.Collective, inject []worker.Injection) (worker.Job, error) {
	sizes, err := s.sizes(c)
	if err != nil {
		return worker.Job{}, err
	}
	job := worker.Job{
		Collective: what.Name, Sizes: sizes, Cycles: c.RunCycles,
		Iterations: c.Iters, Warmup: c.WarmupIters, GraphReplays: c.CUDAGraph,
		Verify: c.Check == 1, Seed: c.Seed, Timeout: time.Duration(c.Timeout), Inject: inject,
	}
	if job.Algorithms, err = chooseAlgorithms(c.Algo, what); err != nil {
		return job, s.blame("algo", err)
	}
	if job.DTypes, err = chooseDTypes(c.DataType, what, job.Algorithms); err != nil {
		return job, s.blame("datatype", err)
	}
	if job.Ops, err = chooseOps(c.Op, what, job.Algorithms); err != nil {
		return job, s.blame("op", err)
	}
	return job, nil
}

// Words that stand for several.
const (
	wordAll  = "all"
	wordAuto = "auto"
)

func chooseAlgorithms(words []string, what *collective.Collective) ([]string, error) {
	var names []string
	for _, a := range what.Algorithms {
		names = append(names, a.Name)
	}
	return choose("algorithm", words, names, append([]string{wordAuto, wordAll}, names...), func(word string) (string, bool) {
		return word, word == wordAuto || slices.Contains(names, word)
	})
}

// chooseDTypes canonicalizes names; "all" is what every chosen algorithm has.
func chooseDTypes(words []string, what *collective.Collective, algorithms []string) ([]string, error) {
	common := inAll(what, algorithms, func(a *collective.Algorithm) []string { return dtypeNames(a.DTypes()) })
	valid := []string{wordAll}
	for _, d := range collective.DTypes() {
		valid = append(append(valid, d.Name), d.Aliases...)
	}
	return choose("datatype", words, common, valid, func(word string) (string, bool) {
		d, ok := collective.ParseDType(word)
		return d.Name, ok
	})
}

func chooseOps(words []string, what *collective.Collective, algorithms []string) ([]string, error) {
	opNames := func(ops []collective.Op) []string {
		var names []string
		for _, op := range ops {
			names = append(names, string(op))
		}
		return names
	}
	common := inAll(what, algorithms, func(a *collective.Algorithm) []string { return opNames(a.Ops()) })
	valid := append([]string{wordAll}, opNames(collective.Ops())...)
	return choose("operation", words, common, valid, func(word string) (string, bool) {
		op, ok := collective.ParseOp(word)
		return string(op), ok
	})
}

// choose canonicalizes words, drops repetitions, and replaces "all".
func choose(kind string, words, all, valid []string, parse func(string) (string, bool)) ([]string, error) {
	var chosen []string
	for _, word := range words {
		names := all
		if word != wordAll {
			name, ok := parse(word)
			if !ok {
				return nil, unknown(kind, word, valid)
			}
			names = []string{name}
		}
		for _, name := range names {
			if !slices.Contains(chosen, name) {
				chosen = append(chosen, name)
			}
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("no %s is chosen", kind)
	}
	return chosen, nil
}

// inAll lists what all algorithms of the given names have; "auto" may turn out
// to be any algorithm.
func inAll(what *collective.Collective, names []string, list func(*collective.Algorithm) []string) []string {
	var common []string
	first := true
	for _, a := range what.Algorithms {
		if !slices.Contains(names, a.Name) && !slices.Contains(names, wordAuto) {
			continue
		}
		if first {
			common, first = slices.Clone(list(a)), false
			continue
		}
		common = slices.DeleteFunc(common, func(x string) bool { return !slices.Contains(list(a), x) })
	}
	return common
}

// checkJob asks the workers' own planning whether the ranks can do the job.
func checkJob(job worker.Job, ranks int) error {
	if err := job.Check(ranks); err != nil {
		return &usageError{err: err}
	}
	return nil
}

// parseInjections reads the values of --inject.
func parseInjections(texts []string) ([]worker.Injection, error) {
	var all []worker.Injection
	for _, text := range texts {
		in, err := worker.ParseInjection(text)
		if err != nil {
			return nil, &usageError{err: err}
		}
		all = append(all, in)
	}
	return all, nil
}
