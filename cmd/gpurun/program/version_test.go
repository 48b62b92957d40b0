package program

import "testing"

func TestShortVersion(t *testing.T) {
	const commit = "0123456789abcdef0123"
	for want, b := range map[string]Build{
		"1.2.3":                         {Version: "1.2.3", Commit: commit, Modified: true},
		"devel":                         {Version: "devel"},
		"devel 0123456789ab":            {Version: "devel", Commit: commit},
		"devel 0123456789ab (modified)": {Version: "devel", Commit: commit, Modified: true},
	} {
		if got := b.Short(); got != want {
			t.Errorf("%+v is %q, want %q", b, got, want)
		}
	}
}
