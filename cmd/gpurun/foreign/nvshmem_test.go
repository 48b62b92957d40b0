package foreign

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// A second heap, of another size, gets room of its own; the user's size stays.
func TestHeapSizeIsTheUsersOrFits(t *testing.T) {
	const size = "NVSHMEM_SYMMETRIC_SIZE"
	path := standIn(t, "nvshmem", "libnvshmem_host.so.3")
	for _, tt := range []struct{ users, first, second string }{
		{"", "1073745920", "1073750016"},
		{"2G", "2G", "2G"},
	} {
		for _, name := range []string{
			"NVSHMEM_DISABLE_NCCL", "NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME", "NVSHMEM_REMOTE_TRANSPORT",
		} {
			t.Setenv(name, "") // is as before when the test ends
		}
		t.Setenv(size, tt.users)
		l, err := openNVSHMEM(path)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []string{tt.first, tt.second} {
			if _, err := l.Heap(int64(i+1)*4096, true); err != nil {
				t.Fatal(err)
			}
			if got := os.Getenv(size); got != want {
				t.Errorf("user %q, heap %d: %s, want %s", tt.users, i, got, want)
			}
		}
	}
}

// standIn compiles the stand-in of a package of cudart. The flags choose its version.
func standIn(t *testing.T, of, file string, flags ...string) string {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		if os.Getenv("GPURUN_REQUIRE_CC") == "1" {
			t.Fatalf("GPURUN_REQUIRE_CC=1, but: %v", err)
		}
		t.Skip("no C compiler to build the stand-in library with")
	}
	path := filepath.Join(t.TempDir(), file)
	source := filepath.Join("..", "..", "..", "cudart", of, "testdata", "fake"+of+".c")
	flags = append(flags, "-shared", "-fPIC", "-o", path, source)
	if out, err := exec.Command(cc, flags...).CombinedOutput(); err != nil {
		t.Fatalf("compiling the stand-in: %v\n%s", err, out)
	}
	return path
}
