package doctor

import (
	"errors"
	"fmt"
	"strings"

	"gpurun/cudart/nvml"
)

// addDevices asks each GPU for its health. One that does not answer is a finding.
func (d *Diagnosis) addDevices(gpus GPUs, devices []nvml.Device) []Finding {
	var findings []Finding
	models := map[string]int{}
	for _, g := range devices {
		health, err := gpus.Health(g.Index)
		if err != nil {
			findings = append(findings, noHealth(err))
		}
		models[g.Name]++
		d.Devices = append(d.Devices, Device{
			Index: g.Index, Name: g.Name, UUID: g.UUID, PCIBusID: g.PCIBusID,
			Compute: fmt.Sprintf("%d.%d", g.Major, g.Minor), TotalMemory: g.TotalMemory, Health: health,
		})
	}
	if len(models) > 1 {
		return append(findings, warn("gpus",
			"a collective is as fast as its slowest GPU; select GPUs of one model with CUDA_VISIBLE_DEVICES",
			"the %d GPUs are of %d models", len(devices), len(models)))
	}
	return append(findings, ok("gpus", "%d x %s", len(devices), devices[0].Name))
}

// noHealth is about a GPU that does not answer, which is grave where it has fallen
// off the bus or must be reset.
func noHealth(err error) Finding {
	f := warn(healthCheck, "see nvidia-smi -q and the kernel log (dmesg)", "%v", err)
	if errors.Is(err, nvml.ErrGPUIsLost) || errors.Is(err, nvml.ErrResetRequired) {
		f.Status = Fail
	}
	return f
}

// answer is the result of a check for one GPU. The zero answer means that the GPU does not report the property.
type answer struct {
	status  Status
	problem string
}

// fine is the answer that there is nothing to say.
func fine() answer { return answer{status: OK} }

// perGPU makes one finding of the answers of all GPUs. The first of the worst is
// its sentence.
func perGPU(check, healthy, advice string, devices []Device, ask func(Device) answer) Finding {
	f := Finding{Check: check, Summary: healthy}
	for _, d := range devices {
		a := ask(d)
		if a.problem != "" {
			problem := fmt.Sprintf("GPU %d: %s", d.Index, a.problem)
			if len(f.Details) == 0 || worse(f.Status, a.status) != f.Status {
				f.Summary = problem
			}
			f.Details = append(f.Details, problem)
		}
		f.Status = worse(f.Status, a.status)
	}
	switch len(f.Details) {
	case 0:
	case 1:
		f.Details = nil
	default:
		f.Summary += fmt.Sprintf("; and %d more", len(f.Details)-1)
	}
	switch f.Status {
	case "": // no GPU told
		return Finding{}
	case OK:
	default:
		f.Advice = advice
	}
	return f
}

// addTopology asks how the GPUs reach each other.
func (d *Diagnosis) addTopology(gpus GPUs) Finding {
	if len(d.Devices) < 2 {
		return Finding{}
	}
	connections, err := gpus.Topology(len(d.Devices))
	if err != nil {
		return warn("topology", "see whether nvidia-smi topo -m works", "the links between the GPUs are unknown: %v", err)
	}
	kinds := map[string]int{}
	var order []string
	for a, row := range connections {
		words := make([]string, len(row))
		for b, c := range row {
			if words[b] = "X"; a != b {
				words[b] = c.String()
				if kinds[words[b]]++; kinds[words[b]] == 1 {
					order = append(order, words[b])
				}
			}
		}
		d.Topology = append(d.Topology, words)
	}
	if len(order) == 1 {
		return ok("topology", "every GPU reaches every other by %s", order[0])
	}
	return ok("topology", "GPUs reach each other by %s", strings.Join(order, ", "))
}

const gib = 1 << 30

// size prints bytes: "141.0 GiB", "64.0 MiB".
func size(bytes int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	value, unit := float64(bytes), 0
	for value >= 1024 && unit < len(units)-1 {
		value, unit = value/1024, unit+1
	}
	if unit == 0 {
		return fmt.Sprintf("%d B", bytes)
	}
	return fmt.Sprintf("%.1f %s", value, units[unit])
}
