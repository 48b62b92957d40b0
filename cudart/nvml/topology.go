package nvml

import (
	"errors"
	"fmt"
	"unsafe"
)

// Connection is how one GPU reaches another: by so many NVLinks, or else over
// PCIe.
type Connection struct {
	NVLinks int  `json:"nvlinks"`
	Path    Path `json:"path"` // over PCIe, which is there as well
}

// String is the word of nvidia-smi topo -m, such as "NV18" or "PIX".
func (c Connection) String() string {
	if c.NVLinks > 0 {
		return fmt.Sprintf("NV%d", c.NVLinks)
	}
	return c.Path.String()
}

// Path is the level of nvmlGpuTopologyLevel_t at which the way between two GPUs
// turns around.
type Path int32

// The levels.
const (
	Internal   Path = 0
	Single     Path = 10
	Multiple   Path = 20
	HostBridge Path = 30
	Node       Path = 40
	System     Path = 50
	Unknown    Path = -1
)

// String is the word of nvidia-smi topo -m.
func (p Path) String() string {
	switch p {
	case Internal:
		return "PSB"
	case Single:
		return "PIX"
	case Multiple:
		return "PXB"
	case HostBridge:
		return "PHB"
	case Node:
		return "NODE"
	case System:
		return "SYS"
	}
	return "?"
}

// Legend explains the words, as nvidia-smi topo -m does.
func Legend() [][2]string {
	return [][2]string{
		{"NV#", "a number of bonded NVLinks"},
		{"PSB", "one board"},
		{"PIX", "at most one PCIe bridge"},
		{"PXB", "several PCIe bridges, without the PCIe host bridge"},
		{"PHB", "a PCIe host bridge, as a rule the CPU"},
		{"NODE", "the interconnect between PCIe host bridges of one NUMA node"},
		{"SYS", "the interconnect between NUMA nodes, such as QPI or UPI"},
	}
}

// Topology returns how each of the GPUs reaches each other one. The own entry is
// zero.
func (l *Library) Topology(gpus int) ([][]Connection, error) {
	devices := make([]linked, gpus)
	for i := range devices {
		var err error
		if devices[i], err = l.links(i); err != nil {
			return nil, fmt.Errorf("asking NVML about the NVLinks of GPU %d: %w", i, err)
		}
	}
	all := make([][]Connection, gpus)
	for a := range all {
		all[a] = make([]Connection, gpus)
		for b := range all[a] {
			if a == b {
				continue
			}
			var err error
			if all[a][b], err = l.connect(devices, a, b); err != nil {
				return nil, fmt.Errorf("asking NVML how GPU %d reaches GPU %d: %w", a, b, err)
			}
		}
	}
	return all, nil
}

// address is where a device is on the PCI bus: domain, bus, device.
type address [3]uint32

// linked is a GPU with the remote ends of its active NVLinks. One whose end cannot be
// known, as in a virtual machine, leads to the zero address.
type linked struct {
	handle uintptr
	at     address
	remote []address
}

// mostLinks is NVML_NVLINK_MAX_LINKS.
const mostLinks = 36

func (l *Library) links(index int) (linked, error) {
	handle, err := l.handle(index)
	if err != nil {
		return linked{}, err
	}
	var own pciInfo
	if err := call(l.fns.pci, handle, uintptr(unsafe.Pointer(&own))); err != nil {
		return linked{}, err
	}
	g := linked{handle: handle, at: own.address()}
	for link := range uintptr(mostLinks) {
		var active int32
		err := call(l.fns.linkState, handle, link, uintptr(unsafe.Pointer(&active)))
		if unknowable(err) || errors.Is(err, ErrInvalidArgument) { // the GPU has no more
			return g, nil
		}
		if err != nil {
			return g, err
		}
		if active == 0 {
			continue
		}
		var remote pciInfo
		err = call(l.fns.linkRemote, handle, link, uintptr(unsafe.Pointer(&remote)))
		if err != nil && !unknowable(err) {
			return g, err
		}
		g.remote = append(g.remote, remote.address())
	}
	return g, nil
}

func (p pciInfo) address() address { return address{p.Domain, p.Bus, p.Device} }

// p2pNVLink is NVML_P2P_CAPS_INDEX_NVLINK, of which 0 is the status that it works.
const p2pNVLink = 2

func (l *Library) connect(gpus []linked, a, b int) (Connection, error) {
	c := Connection{Path: Unknown}
	var path, status int32
	err := call(l.fns.ancestor, gpus[a].handle, gpus[b].handle, uintptr(unsafe.Pointer(&path)))
	if err == nil {
		c.Path = Path(path)
	} else if !unknowable(err) {
		return c, err
	}
	err = call(l.fns.p2p, gpus[a].handle, gpus[b].handle, p2pNVLink, uintptr(unsafe.Pointer(&status)))
	if err != nil && !unknowable(err) {
		return c, err
	}
	if err != nil || status == 0 {
		c.NVLinks = bonded(gpus, a, b)
	}
	return c, nil
}

// bonded counts the links from a that lead to b, or else through switches, of
// which both ends need some.
func bonded(gpus []linked, a, b int) int {
	direct := 0
	for _, remote := range gpus[a].remote {
		if remote == gpus[b].at {
			direct++
		}
	}
	if direct > 0 {
		return direct
	}
	return min(switched(gpus, a), switched(gpus, b))
}

// switched counts the links of a GPU that lead to no other GPU.
func switched(gpus []linked, i int) int {
	n := 0
	for _, remote := range gpus[i].remote {
		isGPU := false
		for _, g := range gpus {
			isGPU = isGPU || remote == g.at
		}
		if !isGPU {
			n++
		}
	}
	return n
}
