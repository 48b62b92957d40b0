package flags

import (
	"github.com/spf13/pflag"

	"gpurun/cmd/gpurun/exit"
)

const jsonFlag, outputFlag, jsonFormat = "json", "output", "json"

// AddJSON adds --json to flags that have --output.
func AddJSON(f *pflag.FlagSet) { f.Bool(jsonFlag, false, "the same as --output json") }

// ApplyJSON sets --output where --json of AddJSON was given. Other commands have a --json of their own.
func ApplyJSON(f *pflag.FlagSet) error {
	asked, output := f.Lookup(jsonFlag), f.Lookup(outputFlag)
	if asked == nil || output == nil || asked.Value.String() != "true" {
		return nil
	}
	if text := output.Value.String(); output.Changed && text != jsonFormat {
		return exit.Usagef("--json and --output %s exclude each other", text)
	}
	return f.Set(outputFlag, jsonFormat)
}
