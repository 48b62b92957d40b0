package matmul

import (
	"bytes"
	"strings"
	"testing"

	"gpurun/kernels/ptx"
)

// Every module has the instructions that order data between ranks, and sums of pieces between clusters. The simulator
// does not show their absence: in it every load acquires, and copies see the same memory as threads.
func TestOrderBetweenRanks(t *testing.T) {
	const acquire, release, proxies = "ld.acquire.sys.global.u32", "st.release.sys.global.u32", "fence.proxy.async;"
	pieces := []string{"ld.acquire.gpu.global.u32", "st.release.gpu.global.u32"}
	checked := 0
	for _, name := range []string{"wgmma", "mma"} {
		wants := map[string][]string{
			"product": {}, "transposed": {}, "gathered": {acquire},
			"scattered": {acquire, release}, "everywhere": {acquire, release},
		}
		for _, m := range Modules() {
			job, _, found := strings.Cut(strings.TrimPrefix(m.Name, "matmul_"+name+"_"), "_")
			if !found || wants[job] == nil {
				continue
			}
			text, err := ptx.Source(m.Name)
			if err != nil {
				t.Fatal(err)
			}
			checked++
			// Copies read what was waited for: rows, or that the owner has begun and the peers' products.
			if fences := map[string]int{"gathered": 1, "scattered": 2, "everywhere": 2}[job]; name == "wgmma" &&
				bytes.Count(text, []byte(proxies)) < fences {
				t.Errorf("%s has fewer than %d times %s", m.Name, fences, proxies)
			}
			want := wants[job]
			if name == "wgmma" {
				want = append(want, pieces...)
			}
			if bytes.Contains(text, []byte("st.relaxed.sys")) {
				t.Errorf("%s tells a peer without release", m.Name)
			}
			for _, want := range want {
				if !bytes.Contains(text, []byte(want)) {
					t.Errorf("%s has no %s", m.Name, want)
				}
			}
		}
	}
	exchanges := (len(wgmmaWidths())+1)*4 + len(productWidths()) + len(transposedWidths())
	if want := exchanges * len(DTypes()); checked != want {
		t.Errorf("%d modules were checked, not %d", checked, want)
	}
}
