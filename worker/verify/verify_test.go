package verify

import (
	"testing"

	"gpurun/kernels/collective"
)

func TestHexBitsHaveTheWidthOfTheType(t *testing.T) {
	for _, d := range collective.DTypes() {
		if got, want := len(hexBits(1, d.Size)), 2+2*d.Size; got != want {
			t.Errorf("%s: %d digits, want %d", d.Name, got, want)
		}
	}
}
