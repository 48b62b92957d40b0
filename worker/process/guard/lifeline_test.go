package guard

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

func TestOpenLifelineRefuses(t *testing.T) {
	file, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, text := range []string{"", "x", "0", "99999", strconv.Itoa(int(file.Fd()))} {
		t.Setenv(LifelineVariable, text)
		if l, err := OpenLifeline(); err == nil || l != nil || !strings.Contains(err.Error(), LifelineVariable) {
			t.Errorf("%q: %v, %v", text, l, err)
		}
	}
}
