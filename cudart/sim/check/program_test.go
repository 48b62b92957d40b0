package check

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"gpurun/cudart"
)

// program is a kernel for several ranks, and how they launch it. Its body may use the registers below: %mine and %peer
// are the flags of the own rank and of the next one, %n counts the launches from 1 on.
type program struct {
	body     string
	ranks    int                // 0 is 2
	blocks   func(rank int) int // nil is 1 for all
	threads  int                // 0 is 32
	launches func(rank int) int // nil is 1 for all
	resident int
	shared   int  // dynamic shared memory, in bytes
	sms      int  // 0 is 8
	scale    bool // Config.GridsScale
	seeds    int  // 0 is 8
	model    Model
	expire   bool
}

const programHead = `
.version 8.3
.target sm_90
.address_size 64
.file 1 "program.cu"
.visible .entry run(.param .u64 mine, .param .u64 peer, .param .u32 rank, .param .u32 n)
{
	.reg .b64 %mine, %peer, %a, %b, %t, %t0;
	.reg .b32 %rank, %n, %tid, %block, %v, %w, %x, %y, %i;
	.reg .pred %p, %q, %first, %zero;
	.shared .align 16 .b8 buffer[1024];
	ld.param.u64 %mine, [mine];
	ld.param.u64 %peer, [peer];
	ld.param.u32 %rank, [rank];
	ld.param.u32 %n, [n];
	mov.u32 %tid, %tid.x;
	mov.u32 %block, %ctaid.x;
	setp.eq.u32 %first, %tid, 0;
	setp.eq.u32 %zero, %rank, 0;
	mov.u32 %i, 0;
`

// text is the module: each line "N: instruction" of the body is line N of program.cu.
func (p program) text() string {
	var b strings.Builder
	b.WriteString(programHead)
	for _, l := range strings.Split(p.body, "\n") {
		number, rest, ok := strings.Cut(strings.TrimSpace(l), ": ")
		if ok && strings.Trim(number, "0123456789") == "" {
			fmt.Fprintf(&b, "\t.loc 1 %s 0\n\t%s\n", number, rest)
			continue
		}
		b.WriteString(l + "\n")
	}
	b.WriteString("\tret;\n}\n")
	return b.String()
}

func count(n func(int) int, rank int) int {
	if n == nil {
		return 1
	}
	return n(rank)
}

// rank is the task: all launches in one stream, then one wait.
func (p program) rank(r *Rank) error {
	flags, err := r.Device.Malloc(4096)
	if err != nil {
		return err
	}
	r.Name(flags, 4096, "flags")
	all, err := r.Share(flags)
	if err != nil {
		return err
	}
	m, err := r.Device.LoadModule("program.ptx", []byte(p.text()))
	if err != nil {
		return err
	}
	k, err := m.Kernel("run")
	if err != nil {
		return err
	}
	s, err := r.Device.NewStream()
	if err != nil {
		return err
	}
	for n := range count(p.launches, r.Number) {
		params := binary.LittleEndian.AppendUint64(nil, uint64(all[r.Number]))
		params = binary.LittleEndian.AppendUint64(params, uint64(all[(r.Number+1)%r.World]))
		params = binary.LittleEndian.AppendUint32(params, uint32(r.Number))
		params = binary.LittleEndian.AppendUint32(params, uint32(n+1))
		shape := cudart.Launch{Blocks: count(p.blocks, r.Number), Threads: p.threads, SharedBytes: p.shared}
		if err := s.Launch(k, shape, params); err != nil {
			return err
		}
	}
	return s.Synchronize(context.Background())
}

// run runs the program under several schedules, and returns all findings in short with the texts of the first of each.
func (p program) run(t *testing.T) map[string]Finding {
	t.Helper()
	if p.ranks == 0 {
		p.ranks = 2
	}
	if p.threads == 0 {
		p.threads = 32
	}
	c, err := New(Config{
		Ranks: p.ranks, Resident: p.resident, Model: p.model, SMs: p.sms, GridsScale: p.scale, Expire: p.expire,
	})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]Finding{}
	for seed := range uint64(cmp.Or(p.seeds, 8)) {
		r, err := c.Run(seed, p.rank)
		if err != nil && len(r.Findings) == 0 || len(r.Incomplete) > 0 && r.Incomplete[0] != "the task of rank 0 failed" &&
			r.Incomplete[0] != "the task of rank 1 failed" {
			t.Fatalf("seed %d: error %v, incomplete %q\n%s", seed, err, r.Incomplete, p.text())
		}
		for _, f := range r.Findings {
			if _, ok := found[short(f)]; !ok {
				found[short(f)] = f
			}
		}
	}
	return found
}

// short is a finding in short: kind, cause, and the lines of the sides.
func short(f Finding) string {
	var lines []string
	for _, s := range f.Sides {
		if l := line(s); len(lines) == 0 || lines[len(lines)-1] != l {
			lines = append(lines, l)
		}
	}
	note := ""
	if f.Note {
		note = "note: "
	}
	return fmt.Sprintf("%s%s, %s, %s", note, f.Kind, f.Cause, strings.Join(lines, "-"))
}

// expect compares the findings with those that must be there. Each ends a deadlock, so that schedules may differ.
func (p program) expect(t *testing.T, want ...string) map[string]Finding {
	t.Helper()
	found := p.run(t)
	var got []string
	for name := range found {
		got = append(got, name)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("findings %q, want %q", got, want)
		for _, f := range found {
			t.Logf("%v", f)
		}
	}
	return found
}

func ones(n int) func(int) int { return func(int) int { return n } }
