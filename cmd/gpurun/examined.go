package main

import (
	"context"

	"gpurun/cmd/gpurun/doctor"
	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/settings"
	"gpurun/cudart/cublas"
	"gpurun/cudart/nccl"
	"gpurun/cudart/nvshmem"
	"gpurun/worker/result"
)

// checks examines the machine for a command that goes on to something else.
// The code is that with which doctor would end.
func (a *app) checks(ctx context.Context, c settings.Config) (all []result.Check, code int, err error) {
	d, err := a.examine(ctx, c)
	for _, f := range d.Findings {
		all = append(all, result.Check{Name: f.Check, Status: f.Status, Summary: f.Summary, Advice: f.Advice})
	}
	return all, exit.Code(verdict(d)), err
}

// doctorLibraries are the libraries of others that gpurun can use.
func doctorLibraries(c settings.Config) []doctor.Library {
	return []doctor.Library{
		{Name: "NCCL", Use: "--algo nccl needs it", File: c.NCCLLib, Open: func() (path, version string, err error) {
			l, err := nccl.Open(c.NCCLLib)
			if err != nil {
				return "", "", err
			}
			return l.Path(), l.Version().String(), nil
		}},
		{Name: "NVSHMEM", Use: "--algo nvshmem and --symm nvshmem need it", File: c.NVSHMEMLib, Open: func() (path, version string, err error) {
			l, err := nvshmem.Open(c.NVSHMEMLib)
			if err != nil {
				return "", "", err
			}
			return l.Path(), l.Version().String(), nil
		}},
		{Name: "cuBLAS", Use: "--algo cublas and nccl of products need it", File: c.CUBLASLib, Open: func() (path, version string, err error) {
			l, err := cublas.Open(c.CUBLASLib)
			if err != nil {
				return "", "", err
			}
			return l.Path(), l.Version().String(), nil
		}},
	}
}
