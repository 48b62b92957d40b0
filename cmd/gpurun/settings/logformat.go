package settings

import (
	"os"

	"github.com/spf13/pflag"
)

const logFormatKey = "log-format"

// LogFormat is the form of the log, for messages before the settings are read. Settings that cannot be read are
// reported by the command that reads them.
func LogFormat(flags *pflag.FlagSet) string {
	given := os.Getenv(environmentName(logFormatKey))
	if f := flags.Lookup(logFormatKey); f != nil && f.Changed {
		given = f.Value.String()
	}
	if given != "" || configFile(flags) == "" { // most runs: a file takes time to read
		return given
	}
	s, err := Load(flags)
	if err != nil {
		return ""
	}
	return s.Given(logFormatKey)
}
