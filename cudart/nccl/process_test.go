package nccl

import (
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"
)

// rankVariable makes the test's binary a rank of TestProcesses.
const rankVariable = "GPURUN_TEST_NCCL_RANK"

// Ranks that are processes do as ranks that are threads, as the program's are.
func TestProcesses(t *testing.T) {
	path := compile(t)
	l, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	id, err := l.NewUniqueID()
	if err != nil {
		t.Fatal(err)
	}
	expectStream(t)
	ranks := make([]*exec.Cmd, world)
	for r := range ranks {
		ranks[r] = exec.Command(os.Args[0])
		ranks[r].Env = append(os.Environ(), rankVariable+"="+strconv.Itoa(r),
			"GPURUN_TEST_NCCL_LIB="+path, "GPURUN_TEST_NCCL_ID="+hex.EncodeToString(id[:]))
		ranks[r].Stderr = os.Stderr
		if err := ranks[r].Start(); err != nil {
			t.Fatal(err)
		}
	}
	for r, cmd := range ranks {
		if err := cmd.Wait(); err != nil {
			t.Errorf("rank %d: %v", r, err)
		}
	}
}

// playRank is a rank's process. It returns its exit code.
func playRank() int {
	if err := rankProcess(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func rankProcess() error {
	rank, err := strconv.Atoi(os.Getenv(rankVariable))
	if err != nil {
		return err
	}
	var id UniqueID
	if _, err := hex.Decode(id[:], []byte(os.Getenv("GPURUN_TEST_NCCL_ID"))); err != nil {
		return err
	}
	l, err := Open(os.Getenv("GPURUN_TEST_NCCL_LIB"))
	if err != nil {
		return err
	}
	return live(l, rank, world, id, collectives)
}
