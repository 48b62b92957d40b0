package flags

import (
	"slices"

	"github.com/spf13/pflag"
)

// inProducts are the flags of collectives that products have as well.
var inProducts = [...]string{
	"iters", "warmup-iters", "datatype", "check", "timeout", "output-file", "algo", "junit", "prometheus", "html",
	"timing",
	"minutes", "p2p", "symm", "nccl-lib", "cublas-lib", "seed", "trace", "sim-seed", "sim-arch", "sim-memory", "output",
}

// AddProduct adds the flags of products but those that have these names. -n is a size here, and not --iters.
func AddProduct(f *pflag.FlagSet, but ...string) {
	for _, flag := range list() {
		if !slices.Contains(inProducts[:], flag.name) || slices.Contains(but, flag.name) {
			continue
		}
		switch flag.name {
		case "iters":
			flag.short = ""
		case "datatype":
			flag.usage = "comma-separated element `types`: bfloat16, half, or all"
		case "algo":
			flag.usage = "comma-separated `algorithms`; auto: the fastest by an estimate, of those that run here; " +
				"all: each of gpurun's own that supports the call; the path of a kernel file, such as mine.toml"
		}
		flag.add(f)
	}
	f.StringP("m", "m", "", "comma-separated `numbers` of rows of A, over all ranks")
	f.StringP("n", "n", "", "comma-separated `numbers` of columns of B")
	f.StringP("k", "k", "", "comma-separated `numbers` of columns of A, multiples of 8")
	f.String("splits-per-rank", "",
		"comma-separated `numbers` of chunks in which a rank's rows are copied, "+
			"for algorithms that overlap copies with the product")
}
