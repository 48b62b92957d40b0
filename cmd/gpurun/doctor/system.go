package doctor

import (
	"os"

	"golang.org/x/sys/unix"

	"gpurun/cmd/gpurun/host"
	"gpurun/cmd/gpurun/settings"
	"gpurun/cudart/cublas"
	"gpurun/cudart/nccl"
	"gpurun/cudart/nvml"
	"gpurun/cudart/nvshmem"
)

// librariesFor are the external libraries that gpurun can use.
func librariesFor(c settings.Config) []Library {
	return []Library{
		{
			Name: "NCCL", Use: "--algo nccl needs it, and nccl_symmetric version 2.27", File: c.NCCLLib,
			Open: func() (path, version string, err error) {
				l, err := nccl.Open(c.NCCLLib)
				if err != nil {
					return "", "", err
				}
				return l.Path(), l.Version().String(), nil
			},
		},
		{
			Name: "NVSHMEM", Use: "--algo nvshmem and --symm nvshmem need it", File: c.NVSHMEMLib,
			Open: func() (path, version string, err error) {
				l, err := nvshmem.Open(c.NVSHMEMLib)
				if err != nil {
					return "", "", err
				}
				return l.Path(), l.Version().String(), nil
			},
		},
		{
			Name: "cuBLAS", Use: "--algo cublas and nccl of products need it", File: c.CUBLASLib,
			Open: func() (path, version string, err error) {
				l, err := cublas.Open(c.CUBLASLib)
				if err != nil {
					return "", "", err
				}
				return l.Path(), l.Version().String(), nil
			},
		},
	}
}

func sourcesFor(c settings.Config) Sources {
	return Sources{
		Root:            os.DirFS("/"),
		LookupEnv:       os.LookupEnv,
		FileSystemBytes: fileSystemBytes,
		NVML:            func() (GPUs, error) { return nvml.Open(nvml.DefaultPaths()...) },
		CUDA:            host.DriverVersion,
		Libraries:       librariesFor(c),
		RequireGPU:      c.RequireGPU || c.Device == "cuda",
	}
}

func fileSystemBytes(path string) (int64, error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(path, &stat); err != nil {
		return 0, &os.PathError{Op: "statfs", Path: path, Err: err}
	}
	return int64(stat.Blocks) * stat.Bsize, nil
}
