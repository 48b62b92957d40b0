package dl

import (
	"errors"
	"testing"
)

type testCode int32

func (c testCode) Error() string { return map[testCode]string{1: "testBroken", 2: "testTired"}[c] }

func (c testCode) Advice() string { return map[testCode]string{2: "let it rest"}[c] }

// A failure gives the function, the code by name and number, and what library and gpurun have to say; without a
// failure there is no error.
func TestCheck(t *testing.T) {
	f := Func{name: "testRun"}
	explain := func(c testCode) string { return map[testCode]string{1: "no such wheel", 2: ""}[c] }
	for _, tt := range []struct {
		code    testCode
		explain func(testCode) string
		want    string
	}{
		{1, nil, "testRun: testBroken (1)"},
		{1, explain, "testRun: testBroken (1): no such wheel"},
		{2, explain, "testRun: testTired (2); let it rest"},
	} {
		err := Check(f, tt.code, tt.explain)
		if !errors.Is(err, tt.code) || err.Error() != tt.want {
			t.Errorf("code %d: %v, want %s", tt.code, err, tt.want)
		}
	}
	if err := Check(f, testCode(0), explain); err != nil {
		t.Errorf("success is an error: %v", err)
	}
}
