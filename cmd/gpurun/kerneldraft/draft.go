// Package kerneldraft writes kernel files: drafts for PTX and machine code of others, and gpurun's own algorithms as
// files.
package kerneldraft

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/ianlancetaylor/demangle"

	"gpurun/cmd/gpurun/inspect"
	"gpurun/cmd/gpurun/suggest"
	"gpurun/cudart"
	"gpurun/cudart/sim/ptx"
)

// Draft drafts a kernel file for code, with a launch of the only kernel or of the one with that name. What cannot be
// known from the code is a guess, and has a comment with a question mark.
func Draft(path string, code []byte, name string) ([]byte, error) {
	k := kernel{module: filepath.Base(path)}
	if inspect.KindOf(code) == "ptx" {
		m, err := ptx.Parse(path, code)
		if err != nil {
			return nil, err
		}
		e, err := choose(path, name, m.Entries, func(e *ptx.Entry) string { return e.Name })
		if err != nil {
			return nil, err
		}
		if err := checkParams(path, e); err != nil {
			return nil, err
		}
		k.name, k.params, k.bounds, k.known = e.Name, e.Params, e, true
	} else {
		found := inspect.Of([]inspect.Input{{Name: path, Data: code}}).Files[0]
		if found.Error != "" {
			return nil, errors.New(found.Error)
		}
		e, err := choose(path, name, found.Kernels, func(k inspect.Kernel) string { return k.Name })
		if err != nil {
			return nil, err
		}
		k.name = e.Name
	}
	k.demangled, k.types = signature(k.name)
	return []byte(k.text(path)), nil
}

// checkParams refuses more parameters than a kernel takes: CUDA C++ Programming Guide, kernel parameters.
func checkParams(path string, e *ptx.Entry) error {
	const most = 32764
	bytes := int64(0)
	for _, p := range e.Params {
		if bytes += min(p.Size, most+1); bytes > most {
			return fmt.Errorf("%s:%d: the parameters of kernel %s have more than %d bytes, the most that a kernel takes", path,
				e.Line, e.Name, most)
		}
	}
	return nil
}

// choose finds the kernel with a name, or the only one.
func choose[E any](path, name string, all []E, nameOf func(E) string) (chosen E, err error) {
	var names []string
	for _, e := range all {
		if nameOf(e) == name {
			return e, nil
		}
		names = append(names, nameOf(e))
	}
	const most = 8
	switch {
	case len(all) == 0:
		return chosen, fmt.Errorf("%s has no kernel", path)
	case name == "" && len(all) == 1:
		return all[0], nil
	case name == "" && len(all) > most:
		return chosen, fmt.Errorf("%s has %d kernels: choose one by --entry; gpurun inspect lists them", path, len(all))
	case name == "":
		return chosen, fmt.Errorf("%s has %d kernels: choose one by --entry %s", path, len(all), suggest.OrList(names))
	}
	text := fmt.Sprintf("%s has no kernel %q", path, name)
	if best := suggest.Nearest(name, names); best != "" {
		text += fmt.Sprintf("; did you mean %q?", best)
	}
	return chosen, errors.New(text)
}

// kernel is what is known of the kernel to launch.
type kernel struct {
	module    string // the file's name
	name      string
	demangled string   // empty: the name is not mangled
	types     []string // of the parameters, by the demangled name
	params    []*ptx.Var
	bounds    *ptx.Entry // what it demands; nil: not known
	known     bool       // params are known
}

// signature takes a C++ name apart.
func signature(name string) (demangled string, types []string) {
	const maxNameBits = 16 // of demangled names: a short name may stand for a long one
	tree, err := demangle.ToAST(name)
	if err != nil {
		return "", nil
	}
	demangled = demangle.ASTToString(tree, demangle.MaxLength(maxNameBits))
	tree.Traverse(func(a demangle.AST) bool {
		f, ok := a.(*demangle.FunctionType)
		if !ok || types != nil {
			return types == nil
		}
		types = []string{}
		for _, arg := range f.Args {
			if text := demangle.ASTToString(arg, demangle.MaxLength(maxNameBits)); text != "void" {
				types = append(types, text)
			}
		}
		return false
	})
	return demangled, types
}

func (k kernel) text(path string) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	file := strings.TrimSuffix(path, filepath.Ext(path)) + ".toml"
	line("# A draft by gpurun kernel init. Each ? is a guess: correct it, and look at what the ranks get with")
	line("#   gpurun kernel show %s --nproc-per-node 2", file)
	line(`collective = "allreduce" # ? what the kernel computes`)
	line(`op = "sum" # ? or ops = ["sum", "max"]; leave it out where nothing is reduced`)
	line("type = %q # ? or types = [...]", k.elementType())
	line("module = %q", k.module)
	if k.demangled != "" {
		line("# %s", k.demangled)
	}
	line("entry = %q", k.name)
	line(`grid = "min(sms, ceil(vectors / %d))" # ? blocks`, k.blockThreads())
	k.shape(line)
	b.WriteString(k.arguments())
	line("")
	line("# Memory beside input and output, such as signals that are zero at first and stay between calls:")
	line("# [buffers.signals]")
	line(`# size = "4 * sms * world"`)
	line("# init = 0")
	line("")
	line("# [contract]")
	line("# count_multiple = 8 # counts that the kernel takes")
	line("# alignment = 16     # of the input and the output, in bytes")
	line(`# in_place = "no"    # the output must not be the input`)
	line(`# order = "rank"     # ranks are added in order: to the bit. Otherwise results lie within bounds`)
	return b.String()
}

// defaultThreads is the block of a draft for a kernel that does not say how many threads it wants.
const defaultThreads = 256

func (k kernel) blockThreads() int {
	switch e := k.bounds; {
	case e == nil:
		return defaultThreads
	case e.Block[0] > 0:
		return e.Block[0] * max(e.Block[1], 1) * max(e.Block[2], 1)
	case e.MaxThreads > 0:
		return min(e.MaxThreads, 1024)
	}
	return defaultThreads
}

// shape writes the block, and the cluster if there is one.
func (k kernel) shape(line func(string, ...any)) {
	e := k.bounds
	switch {
	case e != nil && e.Block[0] > 0:
		line("block = %s # as .reqntid demands", dimensions(e.Block))
	case e != nil && e.MaxThreads > 0:
		line("block = %d # ? .maxntid allows up to %d threads", k.blockThreads(), e.MaxThreads)
	default:
		line("block = %d # ? threads", defaultThreads)
	}
	if e != nil && e.Cluster[0] > 0 {
		line("cluster = %s # as .reqnctapercluster demands", dimensions(e.Cluster))
	}
}

func dimensions(d [3]int) string {
	size := cudart.Dim3{X: d[0], Y: max(d[1], 1), Z: max(d[2], 1)}
	if size.Y == 1 && size.Z == 1 {
		return fmt.Sprint(size.X)
	}
	return fmt.Sprintf("[%d, %d, %d]", size.X, size.Y, size.Z)
}

// elementType guesses the element type from the demangled name.
func (k kernel) elementType() string {
	for _, known := range [][2]string{
		{"__nv_bfloat16", "bfloat16"}, {"__half", "half"}, {"float", "float"}, {"double", "double"}, {"int", "int32"},
	} {
		if strings.Contains(k.demangled, known[0]+"*") || strings.Contains(k.demangled, known[0]+" const*") ||
			strings.Contains(k.demangled, "<"+known[0]) {
			return known[1]
		}
	}
	return "float"
}
