package outcome

import (
	"bytes"
	"testing"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/program"
)

// TestAnnotationIsTheReason checks which of the errors of a run are annotated.
func TestAnnotationIsTheReason(t *testing.T) {
	said := &exit.Error{Code: 99, Said: "too slow"}
	for _, c := range []struct {
		github string
		err    error
		want   string
	}{
		{"true", nil, ""},
		{"", said, ""},
		{"true", said, "::error title=gpurun x::too slow\n"},
		{"true", &exit.Error{Code: 5}, ""}, // the guard's: the agent has said it
		{"true", exit.Usagef("bad"), "::error title=gpurun x::bad\n"},
	} {
		t.Setenv(githubActions, c.github)
		var stderr bytes.Buffer
		a := &program.Invocation{Err: &stderr}
		if err := Annotated(a, "gpurun x", c.err); err != c.err || stderr.String() != c.want {
			t.Errorf("%v: %v, %q", c.err, err, stderr.String())
		}
	}
}
