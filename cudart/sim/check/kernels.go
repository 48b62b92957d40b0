package check

import "slices"

// KernelUse is a kernel that tasks have looked up, and how many grids of it have begun.
type KernelUse struct {
	Module, Entry string
	Launches      int
}

// useKernel counts launches of a kernel: none where it is looked up.
func useKernel(all []KernelUse, module, entry string, launches int) []KernelUse {
	i := slices.IndexFunc(all, func(k KernelUse) bool { return k.Module == module && k.Entry == entry })
	if i < 0 {
		return append(all, KernelUse{module, entry, launches})
	}
	all[i].Launches += launches
	return all
}
