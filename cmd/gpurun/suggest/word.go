package suggest

import (
	"path/filepath"

	"gpurun/kernels/collective"
)

// File says which commands take a file with this extension, or is empty.
func File(name string) string {
	switch filepath.Ext(name) {
	case ".toml":
		return "gpurun kernel " + name + " runs a kernel file, and gpurun check " + name + " finds races in it"
	case ".ptx", ".cubin":
		return "gpurun kernel init " + name + " drafts a kernel file for it, and gpurun inspect " + name +
			" lists its kernels"
	case ".cu":
		return "compile it to PTX first: see docs/kernel-files.md"
	case ".json":
		return "gpurun report " + name + " makes a page of results, and gpurun check --replay " + name +
			" runs a schedule again"
	}
	return ""
}

// Algorithm says how an algorithm is chosen, if a word is the name of one. command is in front of its collective.
func Algorithm(command, word string, among []*collective.Collective) string {
	for _, c := range among {
		if _, ok := c.Algorithm(word); ok {
			return "--algo chooses algorithms: write " + command + " " + c.Name + " --algo " + word
		}
	}
	return ""
}
