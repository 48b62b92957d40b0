package settings

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMisspelt(t *testing.T) {
	got, err := MisspelledVariables([]string{
		"GPURUN_MINBYTES=1K", "GPURUN_MINBYTE=1K", "GPURUN_NPROC_PERNODE=", "GPURUN_MXA_RESTARTS=3",
		"GPURUN_CONFIG=f", "GPURUN_RDZV_TOKEN=secret", "GPURUN_RDZV_TOKEN_FILE=f", "GPURUN_RDZV_BACKEND=c10d",
		"GPURUN_IMAGE=not ours", "GPURUN_REQUIRE_CC=1", "GPURUN_LIFELINE_FD=3", "GPURUN_SCRATCH=f", "GPURUN_REPORT_FD=4",
		"GPURUN_=", "GPURUN=x", "MINBYTE=1K", "GPURUN_X=", "=", "",
	})
	want := []string{
		"GPURUN_MINBYTE is not a setting of gpurun; did you mean GPURUN_MINBYTES?",
		"GPURUN_NPROC_PERNODE is not a setting of gpurun; did you mean GPURUN_NPROC_PER_NODE?",
		"GPURUN_MXA_RESTARTS is not a setting of gpurun; did you mean GPURUN_MAX_RESTARTS?",
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
}
