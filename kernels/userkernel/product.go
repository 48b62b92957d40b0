package userkernel

import (
	"slices"

	"gpurun/kernels/collective"
	"gpurun/kernels/kernelfile"
	"gpurun/kernels/matmul"
)

// ExtendOperation is Extend for a product of matrices. The algorithms of files come last.
func ExtendOperation(o *matmul.Operation, bundles []*kernelfile.Bundle) (*matmul.Operation, error) {
	extended := *o
	extended.Algorithms = slices.Clone(o.Algorithms)
	for _, b := range bundles {
		f, err := kernelfile.Parse(b.Path, b.Text)
		if err != nil {
			return nil, err
		}
		if f.Collective == o.Name {
			extended.Algorithms = append(extended.Algorithms, NewProduct(f, b, o))
		}
	}
	return &extended, nil
}

// product is a kernel file for a product of matrices.
type product struct {
	user
	operation *matmul.Operation
}

// NewProduct makes an algorithm of a kernel file for a product of matrices.
func NewProduct(f *kernelfile.File, b *kernelfile.Bundle, o *matmul.Operation) *matmul.Algorithm {
	x := &product{user: user{file: f, bundle: b}, operation: o}
	a := &matmul.Algorithm{
		Operation:   o.Name,
		Name:        f.Path,
		File:        f.Path,
		Summary:     summary(f),
		Kernels:     x.kernels(),
		MaxRanks:    collective.MaxRanks,
		Peers:       true,
		Multicast:   f.UsesMulticast(),
		GPU:         x.forGPUs(),
		Unbounded:   true,
		Stepwise:    f.Contract.Stepwise,
		BeginsEarly: f.BeginsEarly(),
		Can:         func(p matmul.Problem, world int) error { return f.Accepts(ProductValues(o, p, world)) },
		Areas:       x.areas,
		Restored:    x.restoredAreas(),
		Initial: func(r *matmul.Runner, call matmul.Call, area int, dst []byte, at int64) error {
			return x.state(r.Comm).initial(x.target(r, call), area, dst, at)
		},
	}
	a.Prepare = func(r *matmul.Runner, call matmul.Call) error {
		return describe(o.Name, a.Name, x.state(r.Comm).prepare(r.Main, x.target(r, call), true))
	}
	a.Enqueue = func(r *matmul.Runner, call matmul.Call) error { return a.RecordSteps(r, call, nil) }
	a.RecordSteps = func(r *matmul.Runner, call matmul.Call, to *collective.StepRecorder) error {
		return describe(o.Name, a.Name, x.state(r.Comm).enqueue(r.Main, x.target(r, call), to))
	}
	x.user.algorithm = a
	return a
}

// kernels lists the types that the file is for. Module and entry are names only: the file says for each rank what is
// loaded.
func (x *product) kernels() (all []collective.Kernel) {
	module := collective.Module{Name: x.file.Path, Arch: x.newest()}
	for _, name := range x.file.ElementTypes() {
		if d, ok := collective.ParseDType(name); ok { // Parse has checked the names
			all = append(all, collective.Kernel{Module: module, Entry: x.file.Name, DType: d, Op: collective.None})
		}
	}
	return all
}

func (x *product) areas(p matmul.Problem, world, sms int) ([]collective.Area, error) {
	values := ProductValues(x.operation, p, world)
	values.SMs = sms
	return x.user.areas(values)
}

// ProductValues are what the expressions of a file are evaluated over for a product, but for what a rank knows.
func ProductValues(o *matmul.Operation, p matmul.Problem, world int) kernelfile.Call {
	b := o.Buffers(p, world)
	return kernelfile.Call{
		World: world, Type: p.DType.Name, Op: string(collective.None), ElementBytes: int64(p.DType.Size),
		M: p.M, N: p.N, K: p.K, Matrices: kernelfile.Matrices{A: b.A, B: b.B, C: b.C, Gathered: b.AFull},
	}
}

// productKey is what the expressions of a file can tell calls of a product apart by.
type productKey struct {
	m, n, k           int64
	dtype             string
	a, b, c, gathered int64
}

// target binds the file to a call of a rank. The matrices lie at the same offsets on all ranks.
func (x *product) target(r *matmul.Runner, call matmul.Call) target {
	return target{
		key: productKey{
			call.M, call.N, call.K, call.DType.Name, call.A, call.B, call.C, call.AFull,
		},
		values: ProductValues(x.operation, call.Problem, r.World()),
		offset: func(name string, _ int) (int64, bool) {
			at, own := map[string]int64{"a": call.A, "b": call.B, "c": call.C, "gathered": call.AFull}[name]
			return at, own && (name != "gathered" || x.operation.Gathers)
		},
	}
}
