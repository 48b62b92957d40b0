package program

import (
	"runtime/debug"
	"time"
)

// release is the version of a release: scripts/release.sh sets it by the linker.
var release string

// Build says what a binary was built of.
type Build struct {
	Version  string // of a release, or of the module as the go command stamped it; else "devel"
	Commit   string // empty: unknown
	Date     string // of the commit, such as 2026-11-24; empty: unknown
	Modified bool   // the commit had uncommitted changes
}

// ReadBuild reads what the go command and scripts/release.sh stamped into the binary.
func ReadBuild() Build {
	b := Build{Version: release}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b.orUnknown()
	}
	if v := info.Main.Version; b.Version == "" && v != "" && v != "(devel)" {
		b.Version = v
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			if t, err := time.Parse(time.RFC3339, s.Value); err == nil {
				b.Date = t.UTC().Format(time.DateOnly)
			}
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b.orUnknown()
}

func (b Build) orUnknown() Build {
	if b.Version == "" {
		b.Version = "devel"
	}
	return b
}

// Short is the version, with the commit where the version does not say it.
func (b Build) Short() string {
	if b.Version != "devel" {
		return b.Version
	}
	text := b.Version
	if b.Commit != "" {
		text += " " + b.Commit[:min(len(b.Commit), 12)]
	}
	if b.Modified {
		text += " (modified)"
	}
	return text
}

// Version is the short form of this binary's version.
func Version() string { return ReadBuild().Short() }
