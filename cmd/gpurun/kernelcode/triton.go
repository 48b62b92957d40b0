package kernelcode

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gpurun/cmd/gpurun/settings"
	"gpurun/kernels/kernelfile"
)

// A folder of Triton's cache has the stages of one compilation, NAME.ttir to NAME.cubin, and NAME.json, which describes
// the launch. A file __grp__NAME.json lists the others.

const (
	maxTritonBytes = 1 << 20 // of the JSON
	warp           = 32
)

// tritonLaunch are the keys of the JSON that matter here. num_ctas and cluster_dims come and go with the version.
type tritonLaunch struct {
	Warps    int   `json:"num_warps"`
	Shared   int   `json:"shared"`
	CTAs     int   `json:"num_ctas"`
	Clusters []int `json:"cluster_dims"`
	Target   struct {
		Backend string `json:"backend"`
	} `json:"target"`
}

// tritonCode finds the code in a folder. PTX is preferred to a cubin: the simulator runs it too.
func tritonCode(folder string) (path string, err error) {
	kernels, err := tritonKernels(folder)
	switch {
	case err != nil:
		return "", err
	case len(kernels) == 0:
		return "", fmt.Errorf("%s is a folder without a NAME.json beside a NAME.ptx or NAME.cubin: give a file of GPU "+
			"code, or a folder of Triton's cache", folder)
	case len(kernels) > 1:
		return "", fmt.Errorf("%s has the kernels %s: name the file of one", folder, strings.Join(kernels, ", "))
	}
	path = filepath.Join(folder, kernels[0]+".ptx")
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		path = filepath.Join(folder, kernels[0]+".cubin")
	}
	return path, nil
}

// readTriton reads the JSON beside a file of GPU code; nil: there is none, or it is not Triton's.
func readTriton(code string) (*kernelfile.Triton, error) {
	path := strings.TrimSuffix(code, filepath.Ext(code)) + ".json"
	text, err := settings.ReadFile(path, maxTritonBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(text, &keys); err != nil || keys["num_warps"] == nil {
		return nil, nil // it may be a kernel file
	}
	var t tritonLaunch
	if err := json.Unmarshal(text, &t); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	launch, err := t.launch()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return launch, nil
}

// tritonKernels are the names of the files with kernels in a folder, without their extensions.
func tritonKernels(folder string) ([]string, error) {
	files, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var names, bases []string
	for _, f := range files {
		names = append(names, f.Name())
	}
	for _, name := range names {
		base, isJSON := strings.CutSuffix(name, ".json")
		if isJSON && (slices.Contains(names, base+".ptx") || slices.Contains(names, base+".cubin")) {
			bases = append(bases, base)
		}
	}
	return bases, nil
}

// launch is what the JSON says of the launch.
func (t tritonLaunch) launch() (*kernelfile.Triton, error) {
	const mostWarps, mostShared = 32, 1 << 20
	switch {
	case t.Target.Backend != "" && t.Target.Backend != "cuda":
		return nil, fmt.Errorf("the kernel is for the backend %q, not cuda", t.Target.Backend)
	case t.Warps < 1 || t.Warps > mostWarps:
		return nil, fmt.Errorf("num_warps is %d, not between 1 and %d", t.Warps, mostWarps)
	case t.Shared < 0 || t.Shared > mostShared:
		return nil, fmt.Errorf("shared is %d bytes, not between 0 and %d", t.Shared, mostShared)
	}
	cluster := max(t.CTAs, 1)
	if len(t.Clusters) > 0 {
		product := 1
		for _, n := range t.Clusters {
			if n < 1 || n > 16 {
				return nil, fmt.Errorf("cluster_dims has %d, not 1 to 16", n)
			}
			product *= n
		}
		cluster = max(cluster, product)
	}
	return &kernelfile.Triton{Threads: warp * t.Warps, Shared: t.Shared, Cluster: cluster}, nil
}
