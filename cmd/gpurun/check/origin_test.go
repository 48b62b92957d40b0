package check

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gpurun/cmd/gpurun/checkreport"
	"gpurun/cmd/gpurun/program"
)

// A kernel that does not wait for its packets has a wrong result that names the load and the store of the packet. The
// results that follow from it are no findings of their own.
func TestPacketsThatAreNotWaitedFor(t *testing.T) {
	folder, examples := t.TempDir(), filepath.Join("..", "..", "..", "kernels", "examples")
	for _, name := range []string{"packets.toml", "packets.ptx"} {
		text, err := os.ReadFile(filepath.Join(examples, name))
		if err != nil {
			t.Fatal(err)
		}
		const waits, goesOn = "setp.ne.b64 \t%p5, %rd28, %rd4;", "mov.pred \t%p5, 0;"
		if planted := bytes.ReplaceAll(text, []byte(waits), []byte(goesOn)); filepath.Ext(name) == ".ptx" {
			if bytes.Equal(planted, text) {
				t.Fatalf("%s has no %s", name, waits)
			}
			text = planted
		}
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	p := planOf(t, []string{filepath.Join(folder, "packets.toml")}, []string{"--ranks", "2", "--save", ""})
	r, err := p.Run(context.Background(), &program.Invocation{Err: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for _, f := range r.Findings {
		kinds[f.Kind]++
	}
	if len(kinds) > 2 || kinds["schedule-dependent"] > 0 {
		t.Errorf("findings of the kinds %v", kinds)
	}
	at := slices.IndexFunc(r.Findings, func(f checkreport.Finding) bool { return f.Kind == "wrong-result" })
	if at < 0 {
		t.Fatalf("no wrong result among %v", r.Findings)
	}
	var opcodes []string
	for _, s := range r.Findings[at].Sides[1:] {
		op, _, _ := strings.Cut(s.Instruction, " ")
		opcodes = append(opcodes, op)
	}
	want := []string{"st.relaxed.sys.global.u64", "ld.relaxed.sys.global.u64", "st.global.b32"}
	if f := r.Findings[at]; !slices.Equal(opcodes, want) || f.Origin != "a load came before the store of the same call" {
		t.Errorf("the result is by %q, %s", opcodes, f.Origin)
	}
}
