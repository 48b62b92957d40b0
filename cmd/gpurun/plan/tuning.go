package plan

import (
	"fmt"
	"io/fs"
	"sync"

	"gpurun/cmd/gpurun/settings"
	"gpurun/configs"
	"gpurun/kernels/tuning"
)

// maxTuningBytes is plenty for a table, the medians in its comments included.
const maxTuningBytes = 1 << 20

// tuningTables reads what "auto" goes by: the file of --tuning, or else the tables
// that are built in.
func tuningTables(s *settings.Sources, c settings.Config) (tuning.Tables, error) {
	switch c.Tuning {
	case settings.None:
		return nil, nil
	case "":
		return builtInTuning()
	}
	text, err := settings.ReadFile(c.Tuning, maxTuningBytes)
	if err != nil {
		return nil, s.Invalid("tuning", err)
	}
	t, err := tuning.Parse(c.Tuning, text)
	if err != nil {
		return nil, s.Invalid("tuning", err)
	}
	return tuning.Tables{t}, nil
}

// builtInTuning are the tables of package configs, read once: smoke asks for each collective. Nobody changes them.
var builtInTuning = sync.OnceValues(readBuiltInTuning)

func readBuiltInTuning() (tuning.Tables, error) {
	names, err := fs.Glob(configs.Tuning, "tuning/*.toml")
	if err != nil {
		return nil, fmt.Errorf("listing the built-in tuning tables: %w", err)
	}
	var tables tuning.Tables
	for _, name := range names {
		text, err := fs.ReadFile(configs.Tuning, name)
		if err != nil {
			return nil, fmt.Errorf("reading the built-in tuning tables: %w", err)
		}
		t, err := tuning.Parse(name, text)
		if err != nil {
			return nil, fmt.Errorf("reading the built-in tuning tables: %w", err)
		}
		tables = append(tables, t)
	}
	return tables, nil
}
