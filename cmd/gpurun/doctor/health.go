package doctor

import (
	"fmt"
	"io/fs"
	"strings"

	"gpurun/cudart/nvml"
)

// health is what the GPUs say about themselves.
func (s Sources) health(devices []Device) []Finding {
	return []Finding{
		perGPU("memory", "no other process uses the GPUs",
			"end the programs that use the GPUs: they disturb measurements, and large sizes may not fit", devices, s.memory),
		perGPU("mig", "MIG is off", "a GPU with MIG has no peer access; turn MIG off with nvidia-smi -mig 0 and reset the "+
			"GPU, or take others", devices, mig),
		perGPU(eccCheck, "ECC is on and has found nothing that it could not correct",
			"after errors that were not corrected, end all programs and reset the GPU (nvidia-smi -r), "+
				"and have it replaced if they come back; ECC is turned on by nvidia-smi -e 1", devices, ecc),
		perGPU(rowsCheck, "no memory row waits for a reset",
			"reset the GPU (nvidia-smi -r) or reboot; have it replaced if a row could not be remapped", devices, remapped),
		perGPU("clocks", "the hardware does not reduce the clocks",
			"check cooling and power; nvidia-smi -q -d PERFORMANCE shows more", devices, clocks),
		perGPU("fabric", "the GPUs have joined the NVLink fabric",
			"start nvidia-fabricmanager, in the version of the driver (systemctl status nvidia-fabricmanager), "+
				"and see its log; without it CUDA does not start", devices, fabric),
	}
}

// memory warns of programs that use the GPU, and of memory in use by processes that are not visible.
func (s Sources) memory(d Device) answer {
	m := d.Health.Memory
	if m == nil {
		return answer{}
	}
	var who []string
	for _, p := range d.Health.Processes {
		who = append(who, s.process(p))
	}
	switch {
	case len(who) > 0:
		return answer{Warn, fmt.Sprintf("%s of %s are in use, by %s", size(m.Used), size(m.Total), strings.Join(who, ", "))}
	case m.Used > gib: // more than the driver takes for itself
		return answer{
			Warn, fmt.Sprintf("%s of %s are in use, by processes that are not visible here", size(m.Used), size(m.Total)),
		}
	}
	return fine()
}

// process names a process as far as it can be seen: "python3 (pid 4000)".
func (s Sources) process(p nvml.Process) string {
	text, err := fs.ReadFile(s.Root, fmt.Sprintf("proc/%d/comm", p.PID))
	if err != nil {
		return fmt.Sprintf("pid %d", p.PID)
	}
	return fmt.Sprintf("%s (pid %d)", strings.TrimSpace(string(text)), p.PID)
}

func mig(d Device) answer {
	m := d.Health.MIG
	switch {
	case m == nil:
		return answer{}
	case m.On:
		return answer{Warn, "MIG is on"}
	case m.Pending:
		return answer{Warn, "MIG will be on after the next reset"}
	}
	return fine()
}

func ecc(d Device) answer {
	e := d.Health.ECC
	switch {
	case e == nil:
		return answer{}
	case e.Uncorrected > 0:
		return answer{Fail, fmt.Sprintf("%d memory errors were not corrected since the driver was loaded", e.Uncorrected)}
	case !e.On:
		return answer{Warn, "ECC is off: memory errors are not detected"}
	case e.Corrected > 0:
		return answer{OK, fmt.Sprintf("%d memory errors were corrected since the driver was loaded", e.Corrected)}
	}
	return fine()
}

func remapped(d Device) answer {
	r := d.Health.Remapped
	switch {
	case r == nil:
		return answer{}
	case r.Failed:
		return answer{Fail, "a bad memory row could not be remapped"}
	case r.Pending:
		return answer{Warn, "a bad memory row is remapped after the next reset"}
	case r.Correctable+r.Uncorrectable > 0:
		return answer{OK, fmt.Sprintf("%d rows of memory have been remapped", r.Correctable+r.Uncorrectable)}
	}
	return fine()
}

func clocks(d Device) answer {
	s := d.Health.Slowdown
	switch {
	case s == nil:
		return answer{}
	case s.Thermal:
		return answer{Warn, "the hardware reduces the clocks because of heat"}
	case s.Power:
		return answer{Warn, "the hardware reduces the clocks because the power supply requests it"}
	}
	return fine()
}

func fabric(d Device) answer {
	f := d.Health.Fabric
	switch {
	case f == nil:
		return answer{}
	case f.State != nvml.FabricCompleted:
		return answer{Fail, "it has not joined the NVLink fabric (" + map[nvml.FabricState]string{
			nvml.FabricNotStarted: "not started", nvml.FabricInProgress: "in progress",
		}[f.State] + ")"}
	case f.Status != nvml.Success:
		return answer{Fail, "it could not join the NVLink fabric: " + f.Status.Error()}
	case f.UnhealthyRoute:
		return answer{Warn, "a route of its NVLinks is not healthy"}
	case f.DegradedBandwidth:
		return answer{Warn, "the bandwidth of its NVLinks is degraded"}
	}
	return fine()
}
