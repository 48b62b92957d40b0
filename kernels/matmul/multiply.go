package matmul

import (
	"gpurun/cudart"
)

// product is a product to launch: of `rows` rows of a, into c.
type product struct {
	rows int64
	a, c cudart.DevicePtr
}

func (p product) sharded(call Call) shardedProblem {
	return shardedProblem{Problem: Problem{p.rows, call.N, call.K, call.DType}, shards: 1, rowsOfA: p.rows, isLocal: true}
}

// multiplication is the parameters of a local product.
func (r *Runner) multiplication(call Call, what product) Params {
	p := r.Params(call)
	p.M, p.A, p.C = what.rows, uint64(what.a), uint64(what.c)
	return p
}

// prepareGEMM loads the kernel of a product, and encodes its tensor maps.
func (r *Runner) prepareGEMM(gemms []*GEMM, call Call, what product) error {
	p := r.multiplication(call, what)
	w := what.sharded(call)
	c, err := r.chooseProduct(gemms, w)
	if err != nil {
		return err
	}
	if c.gemm.BLAS {
		return r.prepareBLAS()
	}
	if _, err := r.Load(c.kernel); err != nil {
		return err
	}
	return c.gemm.complete(r, &p, w)
}

// multiply puts a product on the main stream.
func (r *Runner) multiply(gemms []*GEMM, call Call, what product) error {
	w := what.sharded(call)
	c, err := r.chooseProduct(gemms, w)
	if err != nil {
		return err
	}
	if c.gemm.BLAS {
		return r.multiplyByBLAS(w.Problem, what.a, r.Local(call.B), what.c)
	}
	kernel, err := r.Load(c.kernel)
	if err != nil {
		return err
	}
	p := r.multiplication(call, what)
	if err := c.gemm.complete(r, &p, w); err != nil {
		return err
	}
	return r.Main.Launch(kernel, c.launch(r), p.Bytes())
}

// chooseProduct chooses the GEMM of a local product.
func (r *Runner) chooseProduct(gemms []*GEMM, w shardedProblem) (chosen, error) {
	return r.choose(gemms, "Product", ofProduct, w)
}

func (r *Runner) prepareBLAS() error {
	if r.BLAS == nil {
		return errNoBLAS
	}
	return r.BLAS.Prepare(r.Device)
}

func (r *Runner) multiplyByBLAS(p Problem, a, b, c cudart.DevicePtr) error {
	if r.BLAS == nil {
		return errNoBLAS
	}
	return r.BLAS.Multiply(r.Main, p, a, b, c)
}
