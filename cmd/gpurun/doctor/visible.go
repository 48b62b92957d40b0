package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"gpurun/cudart/driver"
)

// visible reports which GPUs CUDA_VISIBLE_DEVICES shows, and in which order.
func (s Sources) visible(devices []Device) Finding {
	const check = "visible devices"
	value, set := s.LookupEnv("CUDA_VISIBLE_DEVICES")
	switch {
	case !set:
		return s.inOrder(check, devices, fmt.Sprintf("CUDA_VISIBLE_DEVICES is not set: CUDA shows all %d GPUs", len(devices)))
	case driver.NamesMIG(value):
		return warn(check, "name whole GPUs, by ordinals or UUIDs: instances of MIG have no peer access",
			"CUDA_VISIBLE_DEVICES=%s names instances of MIG", value)
	}
	var uuids []string
	for _, d := range devices {
		uuids = append(uuids, d.UUID)
	}
	chosen, err := driver.Visible(value, uuids)
	if len(chosen) == 0 {
		return s.absent(check, "unset it, or name GPUs of nvidia-smi -L", "CUDA_VISIBLE_DEVICES=%q hides all %d GPUs: %v",
			value, len(devices), err)
	}
	f := s.inOrder(check, devices,
		fmt.Sprintf("CUDA_VISIBLE_DEVICES=%s shows %d of %d GPUs", value, len(chosen), len(devices)))
	for ordinal, index := range chosen {
		f.Details = append(f.Details, fmt.Sprintf("CUDA's GPU %d is GPU %d, %s", ordinal, index, uuids[index]))
	}
	if err != nil {
		f.Status, f.Advice = Warn, "correct CUDA_VISIBLE_DEVICES; nvidia-smi -L lists the GPUs"
		f.Summary += ": " + err.Error()
	}
	return f
}

// inOrder is a finding that all is well, unless CUDA may count the GPUs in another
// order than everyone else.
func (s Sources) inOrder(check string, devices []Device, summary string) Finding {
	for _, d := range devices {
		if d.Name != devices[0].Name && s.env("CUDA_DEVICE_ORDER") != "PCI_BUS_ID" {
			return warn(check, "set CUDA_DEVICE_ORDER=PCI_BUS_ID",
				"%s; of GPUs of several models CUDA counts the fastest first, and not as nvidia-smi does", summary)
		}
	}
	return ok(check, "%s", summary)
}

// deviceFiles tries to open the files by which a process reaches the driver, which
// shows so many GPUs. A batch system that gives a job some of a machine's GPUs closes
// the files of the others, which the driver then does not show.
func (s Sources) deviceFiles(gpus int) Finding {
	const check = "device files"
	if _, err := fs.Stat(s.Root, "dev/dxg"); err == nil {
		return Finding{} // WSL 2 has that one for all
	}
	numbered, _ := fs.Glob(s.Root, "dev/nvidia[0-9]*") // the pattern is right
	others := len(numbered) - gpus                     // that may be closed
	closed := 0
	advice := map[string]string{
		"dev/nvidiactl":  "modprobe nvidia, and run nvidia-smi once as root, which makes the file",
		"dev/nvidia-uvm": "modprobe nvidia_uvm, or run nvidia-modprobe -u -c 0",
	}
	for _, name := range append([]string{"dev/nvidiactl", "dev/nvidia-uvm"}, numbered...) {
		file, err := s.Root.Open(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return fail(check, advice[name]+"; a container gets it by docker run --gpus all",
				"/%s is missing, and CUDA does not start without it", name)
		case errors.Is(err, fs.ErrPermission) && others > 0 && slices.Contains(numbered, name):
			others--
			closed++
			continue
		case errors.Is(err, fs.ErrPermission):
			return fail(check, "give the user, or the container, the right to it: docker run --gpus all sets the container's "+
				"device cgroup",
				"this process may not open /%s: its mode or the device cgroup forbids it", name)
		case err != nil:
			return warn(check, "see the kernel log (dmesg)", "/%s does not open: %v", name, err)
		}
		file.Close() // nothing was written
	}
	return ok(check, "/dev/nvidiactl, /dev/nvidia-uvm and %d GPUs' files can be opened", len(numbered)-closed)
}
