package settings

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/spf13/pflag"
	"github.com/spf13/viper"
	"go.yaml.in/yaml/v3"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/suggest"
	"gpurun/configs"
)

// Sources are all the sources of values, brought together by viper: flags win over the
// environment, that over the file, that over fallbacks, and those over the defaults. The keys
// are those of the built-in defaults, and the names of the flags.
type Sources struct {
	v         *viper.Viper
	flags     *pflag.FlagSet
	file      string // of --config; may be empty
	fallbacks map[string]Fallback
}

const (
	environmentPrefix    = "GPURUN"
	configFlag           = "config"
	environmentSeparator = "_"
	maxConfigBytes       = 1 << 20 // a larger file is a mistake
)

// Load reads the settings of a command from its flags, the environment and a file. The profiles change defaults.
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
		return exit.Usagef("config file %s: %w", s.file, suggest.Unknown("file extension", extension, types))
	}
	text, err := ReadFile(s.file, maxConfigBytes)
	if err != nil {
		return exit.Usagef("reading the config file: %w", err)
	}
	s.v.SetConfigType(extension)
	if err := s.v.ReadConfig(bytes.NewReader(text)); err != nil {
		return misread(s.file, err)
	}
	check := map[string]func([]byte) error{"json": checkKeys, "yaml": checkDocuments, "yml": checkDocuments}[extension]
	if check != nil {
		if err := check(text); err != nil {
			return misread(s.file, err)
		}
	}
	for _, key := range s.v.AllKeys() {
		if !slices.Contains(known, key) {
			slices.Sort(known)
			return exit.Usagef("config file %s: %w", s.file, suggest.Unknown("key", key, known))
		}
	}
	return nil
}

// checkKeys refuses an object of JSON that has a key twice, of which viper would take the last value.
func checkKeys(text []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	if begin, err := decoder.Token(); err != nil || begin != json.Delim('{') {
		return err
	}
	seen := map[string]bool{}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return err
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return err
		}
		name := strings.ToLower(fmt.Sprint(key)) // viper's keys have no case
		if seen[name] {
			return fmt.Errorf("the key %q is there twice", name)
		}
		seen[name] = true
	}
	return nil
}

// checkDocuments refuses YAML with a second document, which viper would not read.
func checkDocuments(text []byte) error {
	var document any
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	if err := decoder.Decode(&document); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if err := decoder.Decode(&document); !errors.Is(err, io.EOF) {
		return errors.New("it has several documents: keep one")
	}
	return nil
}

// misread makes a usage error of a file that is not of its form, with the line where that is
// known.
func misread(file string, err error) error {
	var parsing viper.ConfigParseError
	if errors.As(err, &parsing) {
		err = parsing.Unwrap()
	}
	var wrong *toml.DecodeError
	if errors.As(err, &wrong) {
		line, _ := wrong.Position()
		file = fmt.Sprintf("%s:%d", file, line)
	}
	return exit.Usagef("config file %s: %s", file, suggest.OneLine(err))
}

// File is the configuration file; empty: none.
func (s *Sources) File() string { return s.file }

// Source names where the value of a key comes from; "" is the defaults.
func (s *Sources) Source(key string) string {
	name := environmentName(key)
	switch {
	case s.Flagged(key):
		return "--" + key
	case os.Getenv(name) != "":
		return name
	case s.v.InConfig(key):
		return "config file " + s.file + ": " + key
	}
	return s.fallbacks[key].Source
}

// Flagged reports whether the flag of a key was given, which wins over all other sources.
func (s *Sources) Flagged(key string) bool { return s.flags.Changed(key) }

// Given is the value of a key as text, or "" where it is the default.
func (s *Sources) Given(key string) string {
	if s.Source(key) == "" {
		return ""
	}
	return s.v.GetString(key)
}

// Blame makes a usage error of what is wrong with the value of a key: it names
// the flag, the variable, or the file with the key.
func (s *Sources) Invalid(key string, reason error) error {
	return exit.Usagef("%s: %w", cmp.Or(s.Source(key), key), reason)
}
