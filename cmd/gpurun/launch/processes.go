package launch

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/host"
	"gpurun/cmd/gpurun/settings"
	"gpurun/cmd/gpurun/torchrun"
	"gpurun/worker/process/launcher"
	"gpurun/worker/process/numa"
)

// bindingOf are the CPUs near the GPU of each process, by its local rank.
func bindingOf(o *torchrun.Options, workers int) ([][]int, error) {
	if o.NUMABinding == torchrun.NoBinding {
		return nil, nil
	}
	gpus, err := host.GPUs()
	if err != nil {
		return nil, &launcher.UnfitError{
			Err: fmt.Errorf("%s: there is no GPU: %s", o.Source("numa-binding"), host.WhyNoGPU(err)),
		}
	}
	if workers > len(gpus) {
		return nil, &launcher.UnfitError{
			Err: fmt.Errorf("%s: each process needs a GPU, and there are %d GPUs for %d processes", o.Source("numa-binding"),
				len(gpus), workers),
		}
	}
	var addresses []string
	for _, gpu := range gpus[:workers] {
		addresses = append(addresses, gpu.PCIBusID)
	}
	cpus, err := numa.Bind(os.DirFS("/sys"), numa.Policy(o.NUMABinding), addresses)
	if err != nil {
		return nil, &exit.EnvironmentError{Err: fmt.Errorf("%s: %w", o.Source("numa-binding"), err)}
	}
	return cpus, nil
}

// processesOf is the number of processes. As under torchrun, auto is the number of
// GPUs, or of CPUs where there is no GPU.
func processesOf(p torchrun.Processes) (int, error) {
	switch p.Word {
	case "cpu":
		return runtime.NumCPU(), nil
	case "xpu":
		return 0, &exit.EnvironmentError{
			Err: errors.New("--nproc-per-node xpu: gpurun supports only NVIDIA's GPUs; write a number"),
		}
	case "gpu", settings.Auto:
		gpus, err := host.GPUs()
		if err != nil && p.Word == settings.Auto {
			return runtime.NumCPU(), nil
		}
		if err != nil {
			return 0, &launcher.UnfitError{Err: fmt.Errorf("--nproc-per-node gpu: there is no GPU: %s", host.WhyNoGPU(err))}
		}
		return len(gpus), nil
	}
	return p.Number, possible(p.Number)
}

// possible refuses more processes than the kernel has numbers for, before they are prepared for one by one.
func possible(processes int) error {
	const limit = "/proc/sys/kernel/pid_max"
	text, err := os.ReadFile(limit)
	if err != nil {
		return nil // to start them will tell
	}
	most, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err == nil && processes >= most {
		return exit.Usagef("--nproc-per-node %d: the machine's limit of processes is %d (%s)", processes, most, limit)
	}
	return nil
}
