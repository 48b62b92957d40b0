package status

import "testing"

func TestSteps(t *testing.T) {
	var s Steps
	name := func() string { n, _ := s.Now(); return n }
	leaveStream := s.Enter("stream")
	_, began := s.Now()
	leaveSame := s.Enter("stream")
	if _, since := s.Now(); since != began {
		t.Error("a step within itself begins anew")
	}
	leaveSame()
	leaveBarrier := s.Enter("barrier")
	if name() != "barrier" {
		t.Error(name())
	}
	leaveBarrier()
	if _, since := s.Now(); name() != "stream" || since != began {
		t.Error(name())
	}
	leaveStream()
	if name() != "" {
		t.Error(name())
	}
	(*Steps)(nil).Enter("nobody asks")()
}
