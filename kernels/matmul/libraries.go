package matmul

import (
	"gpurun/kernels/collective"
	"gpurun/kernels/libraries"
)

// Algorithms by foreign libraries: NCCL with cuBLAS, to compare gpurun's own algorithms with, and cuBLAS alone, a bound
// for all of them.

func onlyBLAS() []*GEMM { return []*GEMM{{Name: libraries.CUBLASName, BLAS: true}} }

// Libraries names all foreign libraries that the algorithm needs.
func (a *Algorithm) Libraries() []string {
	var names []string
	if a.Library != "" {
		names = append(names, a.Library)
	}
	if a.GEMM != nil && a.GEMM()[0].BLAS && a.Library != libraries.CUBLASName {
		names = append(names, libraries.CUBLASName)
	}
	return names
}

// ncclOf is NCCL's algorithm of a collective that it has.
func ncclOf(c *collective.Collective) *collective.Algorithm {
	return libraries.NCCL(c.Name, c.Shape)
}

// byNCCL has NCCL communicate and cuBLAS multiply, one after the other.
func byNCCL(s twoSteps) *Algorithm {
	summary := "one after the other: NVIDIA's NCCL, then its cuBLAS"
	if s.reduces() {
		summary = "one after the other: NVIDIA's cuBLAS, then its NCCL"
	}
	a := s.algorithm(libraries.NCCLName, summary)
	a.Library = libraries.NCCLName
	return a
}

// gatheredProduct is the product of the gathered A.
func gatheredProduct(r *Runner, call Call) product {
	return product{call.M, r.Local(call.AFull), r.Local(call.C)}
}

// localProduct is a rank's own product, without a reduction.
func localProduct(r *Runner, call Call) product {
	return product{call.M, r.Local(call.A), r.Local(call.Staging)}
}

// productByBLAS is a product by cuBLAS, without communication.
func productByBLAS(what func(r *Runner, call Call) product, staging func(p Problem, world int) int64) *Algorithm {
	return &Algorithm{
		Name: libraries.CUBLASName, Summary: "the product alone, by NVIDIA's cuBLAS, without communication: " +
			"a bound for the other algorithms",
		GEMM: onlyBLAS, MaxRanks: collective.MaxRanks, Library: libraries.CUBLASName, NoCommunication: true, Staging: staging,
		Prepare: func(r *Runner, call Call) error { return r.prepareGEMM(onlyBLAS(), call, what(r, call)) },
		Enqueue: func(r *Runner, call Call) error { return r.multiply(onlyBLAS(), call, what(r, call)) },
	}
}
