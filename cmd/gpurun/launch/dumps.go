package launch

import (
	"io"
	"path/filepath"
	"time"

	"gpurun/cmd/gpurun/host"
	"gpurun/cmd/gpurun/settings"
	"gpurun/worker/process/launcher"
)

// dumps says when the job shows what its workers are doing.
func (p *command) dumps(scratch string, stderr io.Writer) *launcher.Dumps {
	return &launcher.Dumps{
		Folder:    filepath.Join(scratch, "dumps"),
		OnFailure: p.config.OnFailure == settings.DumpOnFailure,
		Hang:      time.Duration(p.config.HangTimeout),
		GPUs:      host.ListGPUs,
		Stderr:    stderr,
	}
}
