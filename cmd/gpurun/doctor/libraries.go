package doctor

import (
	"errors"
	"strings"

	"gpurun/cudart/dl"
)

// libraries opens those that gpurun can do without.
func (s Sources) libraries() []Finding {
	var all []Finding
	for _, l := range s.Libraries {
		check := strings.ToLower(l.Name)
		path, version, err := l.Open()
		switch {
		case errors.Is(err, dl.ErrNotFound) && l.File != "":
			all = append(all, fail(check, "correct the file's name, or leave it out: gpurun then searches for the library",
				"%s is not at %s, where the setting says", l.Name, l.File))
		case errors.Is(err, dl.ErrNotFound):
			all = append(all, ok(check, "%s is not installed; %s", l.Name, l.Use))
		case err != nil:
			all = append(all, warn(check, "reinstall it, in a version that gpurun supports",
				"%s was found and cannot be used: %v; %s", l.Name, err, l.Use))
		default:
			f := ok(check, "%s %s", l.Name, version)
			f.Details = []string{path}
			all = append(all, f)
		}
	}
	return all
}
