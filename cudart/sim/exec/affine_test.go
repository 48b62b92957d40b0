package exec

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// rampBase draws numbers near which something overflows, and others.
func rampBase(r *rand.Rand) uint64 {
	edges := []uint64{
		0, 1 << 15, 1 << 16, 1 << 31, 1 << 32, 1 << 61, 1 << 63, -(1 << 32) & (1<<64 - 1), r.Uint64() >> r.IntN(64),
	}
	return edges[r.IntN(len(edges))] + uint64(r.IntN(400)) - 200
}

func rampStep(r *rand.Rand) uint64 {
	steps := []uint64{0, 0, 1, 4, 16, 1 << 30, 1 << 32, 1<<32 + 1, 1 << 59, r.Uint64() >> r.IntN(64)}
	step := steps[r.IntN(len(steps))]
	if r.IntN(2) == 0 {
		return -step
	}
	return step
}

// affineInstructions are those that have a rule for affine values, and comparisons.
func affineInstructions() []string {
	instructions := []string{
		"add.u32 %r0, %r1, %r2;", "add.u64 %d0, %d1, %d2;", "sub.s32 %r0, %r1, %r2;", "sub.u64 %d0, %d1, %d2;",
		"mul.lo.u32 %r0, %r1, %r2;", "mul.lo.s64 %d0, %d1, %d2;", "mad.lo.u32 %r0, %r1, %r2, %r3;",
		"mad.lo.u64 %d0, %d1, %d2, %d3;",
		"mul.wide.u32 %d0, %r1, %r2;", "mul.wide.s32 %d0, %r1, %r2;", "mad.wide.u32 %d0, %r1, %r2, %d3;",
		"mad.wide.s32 %d0, %r1, %r2, %d3;",
		"mul.wide.u16 %r0, %h1, %h2;", "shl.b32 %r0, %r1, %r2;", "shl.b64 %d0, %d1, %r2;",
		"cvt.u64.u32 %d0, %r1;", "cvt.u32.u64 %r0, %d1;", "cvt.s64.s32 %d0, %r1;", "cvt.u32.u16 %r0, %h1;",
		"cvt.u16.u32 %h0, %r1;",
		"mov.b64 %d0, %d1;", "cvta.to.global.u64 %d0, %d1;", "cvta.shared.u64 %d0, %d1;", "cvta.to.shared.u64 %d0, %d1;",
	}
	for _, kind := range []string{"u32", "s32", "b32", "u64", "s64"} {
		for _, relation := range []string{"eq", "ne", "lt", "le", "gt", "ge"} {
			if kind != "b32" || len(relation) == 2 && strings.Contains("eqne", relation) {
				instructions = append(instructions,
					fmt.Sprintf("setp.%s.%s %%p0, %%%[3]s1, %%%[3]s2;", relation, kind,
						map[string]string{"32": "r", "64": "d"}[kind[1:]]))
			}
		}
	}
	return instructions
}

// Results of affine values are the same as those computed lane by lane.
func TestRampsAgreeWithLanes(t *testing.T) {
	for _, text := range affineInstructions() {
		k, _ := compileWith(t, randomKernel(text), true).Kernel("run")
		checkRamps(t, text, findOp(t, k, text))
	}
}

// findOp finds the op of an instruction.
func findOp(t *testing.T, k *Kernel, text string) *op {
	t.Helper()
	i := slices.IndexFunc(k.code, func(o op) bool { return o.inst.Text == strings.TrimSuffix(text, ";") })
	if i < 0 {
		t.Fatalf("%s: no such op", text)
	}
	return &k.code[i]
}

func checkRamps(t *testing.T, text string, o *op) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	affines := 0
	for range 20000 {
		var in [3]affine
		var lanesOf [3]lanes
		for k, slot := range [3]int32{o.a, o.b, o.c} {
			switch in[k] = (affine{rampBase(r), rampStep(r)}); {
			case slot == 0: // an operand that it does not have
				in[k] = affine{}
			case k > 0 && r.IntN(2) == 0:
				in[k] = affine{base: uint64(r.IntN(70))}
			}
			in[k].expandTo(&lanesOf[k])
		}
		if o.kind == opCompare {
			got, ok := o.test.of(in[0], in[1])
			if want := o.cmp(&lanesOf[0], &lanesOf[1]); ok && got != want {
				t.Fatalf("%s of %v: %#x, want %#x", text, in, got, want)
			} else if ok {
				affines++
			}
			continue
		}
		if o.affine.kind == seldomAffine {
			return
		}
		var got, want lanes
		if out, ok := o.affine.of(in[0], in[1], in[2]); ok {
			affines++
			out.expandTo(&got)
			o.alu(&want, &lanesOf[0], &lanesOf[1], &lanesOf[2])
			if got != want {
				t.Fatalf("%s of %v: %#x, want %#x", text, in, got, want)
			}
		}
	}
	if affines < 1000 {
		t.Errorf("%s: only %d of 20000 gave an affine value", text, affines)
	}
}
