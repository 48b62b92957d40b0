// Package mutants is the mutation test of the race checker: it plants mistakes in the kernels that ship, and in those
// of the examples. It has tests alone. docs/check-mutants.md is the report, and this command makes it:
//
//	GPURUN_MUTANTS=all go test -timeout 90m ./kernels/mutants -update
//
// Instead of all, a regular expression picks kernels by their rows of the table, such as '^allreduce oneshot, '. The
// rows of the other kernels remain: results.json keeps what became of their mutants. After a change of
// explanations.json or of the words of the page, GPURUN_MUTANTS=none writes the page again.
//
// Without GPURUN_MUTANTS, one of 80 mutants is run, and with GPURUN_EXHAUSTIVE=1 one of 16. In CI,
// GPURUN_SHARD=k/6 says which ones.
package mutants
