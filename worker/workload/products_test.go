package workload

import (
	"errors"
	"testing"
)

func productJob(operation string, inject ...Injection) Job {
	return Job{
		Collective: operation, Algorithms: []string{"naive", "decomposed"}, DTypes: []string{"bfloat16"},
		Iterations: 2, Warmup: 1, Verify: true, Seed: 3, Inject: inject,
		Products: &Products{M: []int64{24}, N: []int64{20}, K: []int64{40}, Splits: []int{1}},
	}
}

// An impossible job is refused before anything runs. The error names the parameter.
func TestProductsAreRefused(t *testing.T) {
	for want, spoil := range map[string]func(*Job){
		"allgather-matmul: M of 25 is no multiple of 2, and every rank has as many rows: take 24 or 26": func(j *Job) {
			j.Products.M[0] = 25
		},
		"allgather-matmul: a K of 41 is no multiple of 8: " +
			"rows must be whole units of 16 bytes; pad them with zeros to 48": func(j *Job) {
			j.Products.K[0] = 41
		},
		"allgather-matmul: N of 0 is not between 1 and 16777216": func(j *Job) {
			j.Products.N[0] = 0
		},
		"allgather-matmul does not multiply float; it multiplies half and bfloat16": func(j *Job) {
			j.DTypes = []string{"float"}
		},
		`allgather-matmul has no algorithm "fast"`: func(j *Job) {
			j.Algorithms = []string{"fast"}
		},
		"a shard is copied in 1 to 256 chunks, not in 0": func(j *Job) {
			j.Products.Splits = []int{0}
		},
		"allgather-matmul is never replayed from a graph: leave --cudagraph at 0": func(j *Job) {
			j.GraphReplays = 1
		},
		"allgather-matmul decomposed needs peer access, and --p2p is off; naive can do without": func(j *Job) {
			j.P2P = Off
		},
		"cannot corrupt byte 960 of rank 0: no result that it has is that long": func(j *Job) {
			j.Inject = []Injection{{Kind: Corrupt, Byte: 960}}
		},
		"corruption is injected to see it found, and verification is off": func(j *Job) {
			j.Inject, j.Verify = []Injection{{Kind: Corrupt}}, false
		},
		"cannot inject a failure into rank 2: the ranks are 0 to 1": func(j *Job) {
			j.Inject = []Injection{{Kind: Kill, Rank: 2}}
		},
		"allgather-matmul runs within one machine: it shares memory, which ranks on several machines cannot": func(j *Job) {
			j.Nodes = 2
		},
		"allgather-matmul has nothing to multiply: M, N, K, " +
			"types, algorithms and splits are lists of one at least": func(j *Job) {
			j.Products.N = nil
		},
	} {
		job := productJob("allgather-matmul")
		spoil(&job)
		err := job.Check(2)
		var usage *UsageError
		if !errors.As(err, &usage) || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}
