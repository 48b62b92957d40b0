package check

import (
	"fmt"
	"testing"
)

// All products of relaxed, releasing and acquiring accesses with the fences around them, of each scope: the message
// has no race where there are a release pattern and an acquire pattern that reach the other GPU.
func TestProductsOfFences(t *testing.T) {
	fences := []string{
		"", "fence.acq_rel.cta;", "fence.acq_rel.gpu;", "fence.acq_rel.sys;", "fence.sc.sys;", "membar.sys;",
	}
	stores := []string{"st.relaxed.sys", "st.release.sys", "st.release.gpu", "st.volatile"}
	loads := []string{"ld.relaxed.sys", "ld.acquire.sys", "ld.acquire.gpu", "ld.volatile"}
	system := map[string]bool{
		"fence.acq_rel.sys;": true, "fence.sc.sys;": true, "membar.sys;": true,
		"st.release.sys": true, "ld.acquire.sys": true,
	}
	strongEnough := map[string]bool{
		"st.relaxed.sys": true, "st.release.sys": true, "st.volatile": true,
		"ld.relaxed.sys": true, "ld.acquire.sys": true, "ld.volatile": true,
	}
	for _, store := range stores {
		for _, load := range loads {
			for _, before := range fences {
				for _, behind := range fences {
					clean := strongEnough[store] && strongEnough[load] && (system[store] || system[before]) &&
						(system[load] || system[behind])
					name := fmt.Sprintf("%s %s / %s %s", before, store, load, behind)
					r := runStory(t, story(map[string]string{
						"SENDER_FENCE": before, "STORE": store + ".global.u32", "LOAD": load + ".global.u32",
						"RECEIVER_FENCE": behind,
					}), 1, 1)
					if r.Clean() != clean {
						t.Errorf("%s: %v %v, want clean: %v", name, r.Findings, r.Incomplete, clean)
					}
				}
			}
		}
	}
}
