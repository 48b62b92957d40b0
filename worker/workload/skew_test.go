package workload

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestParseSkew(t *testing.T) {
	for text, want := range map[string]Skew{
		"2=50": {2, 50 * time.Millisecond}, "0=0.5": {0, 500 * time.Microsecond}, "71=1e3": {71, time.Second},
	} {
		if got, err := ParseSkew(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{
		"", "2", "2=", "=5", "-1=5", "x=5", "1=-5", "1=0", "1=NaN", "1=Inf", "1=1e300", "1=5ms", "1=5,2=6",
	} {
		if got, err := ParseSkew(text); err == nil || !strings.Contains(err.Error(), "RANK=MS") {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

// A skew without an effect, or for which nobody waits, is refused, of collectives and of products.
func TestSkewIsChecked(t *testing.T) {
	collective := Job{
		Collective: "allreduce", Algorithms: []string{"oneshot"}, DTypes: []string{"float"}, Ops: []string{"sum"},
		Sizes: []int64{64}, Verify: true, Timeout: time.Second,
	}
	product := Job{
		Collective: "matmul-allreduce", Algorithms: []string{"naive"}, DTypes: []string{"half"}, Iterations: 1, Verify: true,
		Products: &Products{M: []int64{64}, N: []int64{8}, K: []int64{8}, Splits: []int{1}}, Timeout: time.Second,
	}
	for _, job := range []Job{collective, product} {
		for want, change := range map[string]func(*Job){
			"":                   func(j *Job) { j.Skew = []Skew{{0, time.Millisecond}, {1, 999 * time.Millisecond}} },
			"cannot make rank 2": func(j *Job) { j.Skew = []Skew{{2, 1}} },
			"late twice":         func(j *Job) { j.Skew = []Skew{{1, 1}, {1, 1}} },
			"is off":             func(j *Job) { j.Skew, j.Verify = []Skew{{1, 1}}, false },
			"1s late":            func(j *Job) { j.Skew = []Skew{{1, time.Second}} },
		} {
			j := job
			change(&j)
			err := j.Check(2)
			if want == "" && err == nil {
				continue
			}
			if usage := new(UsageError); !errors.As(err, &usage) || want == "" || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", j.Collective, err, want)
			}
		}
	}
}
