package flags

import "github.com/spf13/pflag"

const compileFlag = "compile"

// AddCompile adds --compile. No variable and no configuration file can set it: it allows a kernel file to run a
// command.
func AddCompile(f *pflag.FlagSet) {
	f.Bool(compileFlag, false, "let kernel files run the commands that compile their sources")
}

// MayCompile reports whether --compile was given.
func MayCompile(f *pflag.FlagSet) bool {
	given, err := f.GetBool(compileFlag)
	return err == nil && given
}
