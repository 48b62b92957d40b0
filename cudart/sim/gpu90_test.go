package sim

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"gpurun/cudart"
)

// Instructions that GPUs have since compute capability 8.9 or 9.0.

func TestGPUCopiesAsynchronously(t *testing.T) {
	d, err := gpuBackend(t, 9).Open(0)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	copyOn(t, d)
}

// multimemKernels are kernels of one multimem instruction each, in all
// combinations of what it does, operation, accumulator, vector and type. No kernel is
// meant to run: nothing here creates a multicast object.
func multimemKernels() []string {
	var texts []string
	for _, what := range []string{"ld_reduce.", "st.", "red."} {
		for _, op := range []string{"", "add.", "min.", "max.", "and.", "or.", "xor."} {
			for _, acc := range []string{"", "acc::f32."} {
				for vector, n := range map[string]int{"": 1, "v2.": 2, "v4.": 4, "v8.": 8} {
					for typ, reg := range map[string]string{
						"b32": "b32", "u32": "b32", "s32": "b32", "b64": "b64", "u64": "b64", "s64": "b64",
						"f16": "b16", "bf16": "b16", "f16x2": "b32", "bf16x2": "b32", "f32": "f32", "f64": "f64",
					} {
						texts = append(texts, multimemKernel(what, what+op+acc+vector+typ, reg, n))
					}
				}
			}
		}
	}
	return texts
}

func multimemKernel(what, name, reg string, n int) string {
	var registers []string
	for i := range n {
		registers = append(registers, fmt.Sprintf("%%v%d", i))
	}
	value := strings.Join(registers, ", ")
	if n > 1 {
		value = "{" + value + "}"
	}
	operands, use := "[%at], "+value, ""
	if what == "ld_reduce." { // what is not used would not be assembled
		operands, use = value+", [%at]", fmt.Sprintf("st.volatile.global.%s [%%at], %%v0;", reg)
	}
	return fmt.Sprintf(`.version 8.2
.target sm_90
.address_size 64
.visible .entry k(.param .u64 multicast)
{
	.reg .b64 %%at;
	.reg .%s %%v<8>;
	ld.param.u64 %%at, [multicast];
	multimem.%s %s;
	%s
	ret;
}
`, reg, name, operands, use)
}

// What the simulator takes, the driver's assembler takes, and what it refuses,
// the assembler refuses, but for forms outside the grammar of the PTX ISA that the
// assembler (CUDA 13.0) was seen to let pass: .acc::f32 where nothing is
// accumulated in it, and extrema by multimem.red of floats.
func TestGPUAndSimulatorAgreeOnMultimem(t *testing.T) {
	lenient := regexp.MustCompile(`\.acc::f32|multimem\.red\.(min|max)\.(v[248]\.)?b?f16`)
	gpu, err := gpuBackend(t, 9).Open(0)
	if err != nil {
		t.Fatal(err)
	}
	defer gpu.Close()
	d, r := openWith(t, Options{Major: 9}), rand.New(rand.NewPCG(7, 8))
	for _, text := range multimemKernels() {
		want := loads(d, text)
		if !want && (r.IntN(8) > 0 || lenient.MatchString(text)) {
			continue // some of the refusals will do
		}
		if got := loads(gpu, text); got != want {
			t.Errorf("the GPU's driver takes it: %v, the simulator: %v:\n%s", got, want, text)
		}
	}
}

func loads(d cudart.Device, text string) bool {
	_, entry, _ := strings.Cut(text, ".entry ")
	entry, _, _ = strings.Cut(entry, "(")
	return loadKernel(d, text, entry) == nil
}
