package check

import (
	"fmt"

	"github.com/spf13/pflag"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/settings"
	"gpurun/kernels/matmul"
)

// ProductOptions are the flags of products of matrices.
type ProductOptions struct {
	m, n, k string

	M, N, K settings.Numbers
}

// The sizes by default are small, since each takes the time of whole tiles: rows in even and in odd parts, columns
// whose rows are no whole vectors, two slices of K, of which the second is short. With four blocks, which are two
// clusters, the clusters without a tile in the last wave share those of the others (split-K).
const (
	defaultM, defaultN, defaultK = "12,36", "41", "72"
	blocksOfProducts             = 4
)

func (o *ProductOptions) add(f *pflag.FlagSet) {
	f.StringVarP(&o.m, "m", "m", defaultM, "of products, comma-separated `numbers` of rows of A, over all ranks")
	f.StringVarP(&o.n, "n", "n", defaultN, "of products, comma-separated `numbers` of columns of B")
	f.StringVarP(&o.k, "k", "k", defaultK, "of products, comma-separated `numbers` of columns of A, multiples of 8")
}

func (o *ProductOptions) read() error {
	for _, x := range []struct {
		flag, text string
		to         *settings.Numbers
	}{{"m", o.m, &o.M}, {"n", o.n, &o.N}, {"k", o.k, &o.K}} {
		if err := x.to.UnmarshalText([]byte(x.text)); err != nil {
			return exit.Usagef("-%s: %w; a word says what is checked, such as gpurun check allreduce", x.flag, err)
		}
	}
	return nil
}

// problems are all products of these sizes.
func (o *ProductOptions) problems() (all []matmul.Problem) {
	for _, m := range o.M {
		for _, n := range o.N {
			for _, k := range o.K {
				all = append(all, matmul.Problem{M: m, N: n, K: k})
			}
		}
	}
	return all
}

// unsuitable says which flag has no meaning for a product.
func (o *Options) unsuitable(what *matmul.Operation) string {
	for _, flag := range []string{"op", "root", "sizes", "unaligned"} {
		if o.changed(flag) {
			return fmt.Sprintf("%s takes no --%s: it is a product of matrices, of -m, -n and -k", what.Name, flag)
		}
	}
	return ""
}
