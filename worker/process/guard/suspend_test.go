package guard

import (
	"testing"

	"gpurun/worker/process/procfs"
)

func TestOrphaned(t *testing.T) {
	shell := procfs.Process{PID: 10, Parent: 1, Group: 10, Session: 10}
	for name, c := range map[string]struct {
		others []procfs.Process
		want   bool
	}{
		"a shell's job": {[]procfs.Process{shell, {PID: 20, Parent: 10, Group: 20, Session: 10}}, false},
		"a script's child": {
			[]procfs.Process{
				shell, {PID: 19, Parent: 10, Group: 20, Session: 10}, {PID: 20, Parent: 19, Group: 20, Session: 10},
			},
			false,
		},
		"a session of its own":  {[]procfs.Process{shell, {PID: 20, Parent: 10, Group: 20, Session: 20}}, true},
		"its parent is gone":    {[]procfs.Process{shell, {PID: 20, Parent: 1, Group: 20, Session: 10}}, true},
		"first of a container":  {[]procfs.Process{{PID: 1, Group: 20, Session: 1}}, true},
		"in its parent's group": {[]procfs.Process{shell, {PID: 20, Parent: 10, Group: 10, Session: 10}}, true},
	} {
		if got := orphaned(c.others, 20); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
