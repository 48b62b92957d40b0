package ptx

import (
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// largeModule is PTX as compilers write it, of about so many bytes.
func largeModule(bytes int) []byte {
	var b strings.Builder
	b.WriteString(header)
	for kernel := 0; b.Len() < bytes; kernel++ {
		fmt.Fprintf(&b, ".visible .entry kernel_%d(\n\t.param .u64 kernel_%d_param_0,\n\t.param .u32 "+
			"kernel_%d_param_1\n)\n.maxntid 256, 1, 1\n{\n", kernel, kernel, kernel)
		b.WriteString("\t.reg .pred \t%p<40>;\n\t.reg .f32 \t%f<900>;\n\t.reg .b32 \t%r<900>;\n\t.reg .b64 \t%rd<900>;\n\n")
		fmt.Fprintf(&b, "\tld.param.u64 \t%%rd1, [kernel_%d_param_0];\n", kernel)
		for i := 1; i < 400; i++ {
			fmt.Fprintf(&b, "\tmad.lo.s32 \t%%r%d, %%r%d, 12, %%r%d;\n\tmul.wide.s32 \t%%rd%d, %%r%d, 4;\n\tadd.s64 \t%%rd%d, "+
				"%%rd1, %%rd%d;\n", i+1, i, i, i+1, i, i+2, i+1)
			fmt.Fprintf(&b, "\tld.global.nc.v4.f32 \t{%%f%d, %%f%d, %%f%d, %%f%d}, [%%rd%d+16];\n\tfma.rn.f32 \t%%f%d, %%f%d, "+
				"0f3F800000, %%f1;\n", i, i+1, i+2, i+3, i+2, i+4, i+3)
			if i%20 == 0 {
				fmt.Fprintf(&b, "\tsetp.lt.s32 \t%%p1, %%r%d, 7;\n\t@%%p1 bra \t$L__BB%d_%d;\n\n$L__BB%d_%d:\n", i, kernel, i,
					kernel, i)
			}
		}
		b.WriteString("\tret;\n}\n\n")
	}
	return []byte(b.String())
}

// BenchmarkParse checks the syntax of a module; BenchmarkRead makes the trees of all its kernels.
func BenchmarkParse(b *testing.B) {
	text := largeModule(1 << 20)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	start := cpuTime()
	for b.Loop() {
		if _, err := Parse("large.ptx", text); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64((cpuTime()-start).Milliseconds())/float64(b.N), "cpu-ms/op")
}

// cpuTime is that of this process: other processes may have the cores.
func cpuTime() time.Duration {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func BenchmarkRead(b *testing.B) {
	text := largeModule(1 << 20)
	m, err := Parse("large.ptx", text)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	start := cpuTime()
	for b.Loop() {
		for _, e := range m.Entries {
			if _, err := m.Read(&e.Function); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64((cpuTime()-start).Milliseconds())/float64(b.N), "cpu-ms/op")
}

// Loading takes memory in proportion to the file, also for files that are made to take much.
func TestMemoryOfLoading(t *testing.T) {
	const most = 20
	repeat := func(s string) string { return strings.Repeat(s, (1<<20)/len(s)) }
	entry := func(s string) string { return header + ".entry k { .reg .b32 %r<1000000000>;" + s + "}" }
	for name, text := range map[string]string{
		"compilers":      string(largeModule(1 << 20)),
		"instructions":   entry(strings.Repeat("a;", maxInstructions/2)),
		"operands":       entry(repeat("a b,c,d,e,f,g,h;")),
		"vectors":        entry(repeat("a {1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8};")),
		"numbers":        header + ".global .u64 x[] = {" + repeat("1,") + "};",
		"addresses":      header + ".global .u64 x; .global .u64 y[] = {" + repeat("x,") + "};",
		"variables":      header + repeat(".global .b8 x;"),
		"shared":         entry(repeat(".shared .b8 x;")),
		"functions":      header + numbered(".func f%d;"),
		"kernels":        header + numbered(".entry f%d{}"),
		"labels":         entry(numbered("x%d:")),
		"registers":      entry(numbered(".reg .b32 x%d;")),
		"ranges":         entry(numbered(".reg .b32 x%dx<9>;")),
		"used registers": entry(numbered("a %%r%d;")),
		"locations":      entry(repeat(".loc 1 2 3\n")),
		"files":          header + numbered(".file %d \"x\"\n"),
		"scopes":         entry(repeat("{}")),
		"prototypes":     entry(numbered("p%d: .callprototype _ ();")),
		"tables":         entry(numbered("p%d: .branchtargets a, b;")),
		"aliases":        header + numbered(".alias a%d, b;"),
		"punctuation":    header + repeat("}"),
		"a comment":      header + repeat("/*"),
		"a string":       header + ".file 1 \"" + repeat("x"),
		"sections":       header + ".section .debug_info {" + repeat(".b8 1\n"),
		"addressed":      entry(numbered("mov a,x%d;")),
	} {
		before := heap()
		m, err := Parse("large.ptx", []byte(text))
		used := float64(heap()-before) / float64(len(text))
		if runtime.KeepAlive(m); used > most {
			t.Errorf("%s: %.1f times the %d bytes of the file, %d at most (%.80v)", name, used, len(text), most, fmt.Sprint(err))
		}
	}
}

// heap is how many bytes are in use.
func heap() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// numbered repeats a text with a number that grows, up to half a megabyte.
func numbered(format string) string {
	var b strings.Builder
	for i := 0; b.Len() < 1<<19; i++ {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}
