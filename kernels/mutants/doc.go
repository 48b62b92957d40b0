// Package mutants plants mistakes in the kernels that ship, and in those of the examples, and has the race checker find
// them. It has tests alone. docs/check-mutants.md has the result; this makes it:
//
//	GPURUN_MUTANTS=all go test -timeout 30m ./kernels/mutants -update
//
// Without GPURUN_MUTANTS, a fortieth of the mutants is run, and a tenth with GPURUN_EXHAUSTIVE=1, as in CI.
package mutants
