// Package settings says what gpurun is told to do. Flags, the environment, a file, what srun
// says about its step, and built-in profiles come together in a checked Config, and that
// becomes the workers' job. An error names the source of the value that is wrong.
package settings

import (
	"bytes"
	"cmp"
	"encoding"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/go-viper/mapstructure/v2"
	"github.com/spf13/pflag"
	"github.com/spf13/viper"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/phrase"
	"gpurun/cmd/gpurun/slurm"
	"gpurun/configs"
)

// Sources are the sources of a config, brought together by viper: flags win over
// the environment, that over the file, and that over the defaults.
type Sources struct {
	v     *viper.Viper
	flags *pflag.FlagSet
	file  string // of --config; may be empty
	// slurmStep is the Slurm step that places this process; nil for none. fallbacks are
	// what it settles, by key.
	slurmStep *slurm.Step
	fallbacks map[string]fallback
}

const (
	environmentPrefix    = "GPURUN"
	configFlag           = "config"
	environmentSeparator = "_"
	maxConfigBytes       = 1 << 20 // more is a slip
)

// Load reads what a command is told by its flags, the environment and a file. The
// further profiles change defaults.
func Load(flags *pflag.FlagSet, profiles ...[]byte) (*Sources, error) {
	s := &Sources{v: viper.New(), flags: flags, file: configFile(flags)}
	if err := s.setDefaults(append([][]byte{configs.Default}, profiles...)); err != nil {
		return nil, err
	}
	known := s.v.AllKeys()
	if err := s.readFile(known); err != nil {
		return nil, err
	}
	s.v.SetEnvPrefix(environmentPrefix)
	s.v.SetEnvKeyReplacer(strings.NewReplacer("-", environmentSeparator))
	s.v.AutomaticEnv()
	var err error
	s.flags.VisitAll(func(f *pflag.Flag) {
		if slices.Contains(known, f.Name) {
			err = errors.Join(err, s.v.BindPFlag(f.Name, f))
		}
	})
	return s, err
}

// configFile is the file to read: --config, or GPURUN_CONFIG.
func configFile(flags *pflag.FlagSet) string {
	if f := flags.Lookup(configFlag); f != nil && f.Changed {
		return f.Value.String()
	}
	return os.Getenv(environmentName(configFlag))
}

func environmentName(key string) string {
	return environmentPrefix + "_" + strings.ToUpper(strings.ReplaceAll(key, "-", environmentSeparator))
}

// readFile reads the file and refuses keys that are not known.
func (s *Sources) readFile(known []string) error {
	if s.file == "" {
		return nil
	}
	extension := strings.TrimPrefix(filepath.Ext(s.file), ".")
	if types := []string{"toml", "yaml", "yml", "json"}; !slices.Contains(types, extension) {
		return exit.Usagef("config file %s: %w", s.file, phrase.Unknown("ending", extension, types))
	}
	text, err := ReadFile(s.file, maxConfigBytes)
	if err != nil {
		return exit.Usagef("reading the config file: %w", err)
	}
	s.v.SetConfigType(extension)
	if err := s.v.ReadConfig(bytes.NewReader(text)); err != nil {
		return exit.Usagef("config file %s: %s", s.file, phrase.OneLine(err))
	}
	for _, key := range s.v.AllKeys() {
		if !slices.Contains(known, key) {
			slices.Sort(known)
			return exit.Usagef("config file %s: %w", s.file, phrase.Unknown("key", key, known))
		}
	}
	return nil
}

// Source names where the value of a key comes from; "" is the defaults.
func (s *Sources) Source(key string) string {
	name := environmentName(key)
	switch {
	case s.flags.Changed(key):
		return "--" + key
	case os.Getenv(name) != "":
		return name
	case s.v.InConfig(key):
		return "config file " + s.file + ": " + key
	}
	return s.fallbacks[key].source
}

// Blame makes a usage error of what is wrong with the value of a key: it names
// the flag, the variable, or the file with the key.
func (s *Sources) Blame(key string, reason error) error {
	return exit.Usagef("%s: %w", cmp.Or(s.Source(key), key), reason)
}

// Config decodes the settings and checks each by itself.
func (s *Sources) Config() (Config, error) {
	var c Config
	hooks := mapstructure.ComposeDecodeHookFunc(textHook, mapstructure.StringToSliceHookFunc(","))
	err := s.v.UnmarshalExact(&c, viper.DecodeHook(hooks))
	var failed *mapstructure.DecodeError
	if errors.As(err, &failed) {
		return c, s.Blame(failed.Name(), decodingReason(failed.Unwrap()))
	}
	if err != nil {
		return c, exit.Usagef("reading the configuration: %s", phrase.OneLine(err))
	}
	return c, s.check(c)
}

// decodingReason says in the user's words why a value has the wrong form.
func decodingReason(err error) error {
	var parse *mapstructure.ParseError
	if !errors.As(err, &parse) {
		return errors.New(phrase.OneLine(err))
	}
	if parse.Expected.Kind() == reflect.Bool {
		return fmt.Errorf("%q is neither true nor false", parse.Value)
	}
	if kind := parse.Expected.Kind(); kind == reflect.Float32 || kind == reflect.Float64 {
		return fmt.Errorf("%q is not a number in range", parse.Value)
	}
	return fmt.Errorf("%q is not a whole number in range", parse.Value)
}

// textHook lets a value read itself from text, also where the source, such as
// TOML, has a number.
func textHook(_, to reflect.Type, data any) (any, error) {
	value := reflect.New(to).Interface()
	reader, ok := value.(encoding.TextUnmarshaler)
	if !ok {
		return data, nil
	}
	return value, reader.UnmarshalText(fmt.Append(nil, data))
}
