package main

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
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/spf13/viper"

	"gpurun/configs"
	"gpurun/worker/result"
)

// config is everything that can be configured; configs/default.toml explains
// the keys. A key is also the name of a flag.
type config struct {
	NProcPerNode  processes `mapstructure:"nproc-per-node"`
	Device        string    `mapstructure:"device"`
	RequireGPU    bool      `mapstructure:"require-gpu"`
	Oversubscribe bool      `mapstructure:"oversubscribe"`
	Grace         seconds   `mapstructure:"grace"`
	LogLevel      string    `mapstructure:"log-level"`
	LogFormat     string    `mapstructure:"log-format"`

	MinBytes    byteSize `mapstructure:"minbytes"`
	MaxBytes    byteSize `mapstructure:"maxbytes"`
	StepBytes   byteSize `mapstructure:"stepbytes"`
	StepFactor  int64    `mapstructure:"stepfactor"`
	Iters       int      `mapstructure:"iters"`
	WarmupIters int      `mapstructure:"warmup-iters"`
	RunCycles   int      `mapstructure:"run-cycles"`
	Op          []string `mapstructure:"op"`
	DataType    []string `mapstructure:"datatype"`
	Check       int      `mapstructure:"check"`
	CUDAGraph   int      `mapstructure:"cudagraph"`
	Timeout     seconds  `mapstructure:"timeout"`
	Algo        []string `mapstructure:"algo"`
	Seed        uint64   `mapstructure:"seed"`
	Output      string   `mapstructure:"output"`
	OutputFile  string   `mapstructure:"output-file"`
}

// settings are the sources of a config, brought together by viper: flags win over
// the environment, that over the file, and that over the defaults.
type settings struct {
	v     *viper.Viper
	flags *pflag.FlagSet
	file  string // of --config; may be empty
}

const (
	environmentPrefix    = "GPURUN"
	configFlag           = "config"
	environmentSeparator = "_"
)

// loadSettings reads what a command is told. The further profiles change
// defaults.
func loadSettings(cmd *cobra.Command, profiles ...[]byte) (*settings, error) {
	s := &settings{v: viper.New(), flags: cmd.Flags(), file: configFile(cmd)}
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
func configFile(cmd *cobra.Command) string {
	if f := cmd.Flags().Lookup(configFlag); f != nil && f.Changed {
		return f.Value.String()
	}
	return os.Getenv(environmentName(configFlag))
}

func environmentName(key string) string {
	return environmentPrefix + "_" + strings.ToUpper(strings.ReplaceAll(key, "-", environmentSeparator))
}

// setDefaults makes defaults of built-in profiles, of which the last wins.
func (s *settings) setDefaults(profiles [][]byte) error {
	for _, profile := range profiles {
		values, err := readProfile(profile)
		if err != nil {
			return err
		}
		for key, value := range values {
			s.v.SetDefault(key, value)
		}
	}
	return nil
}

// readProfile returns the values of a built-in profile by key.
func readProfile(profile []byte) (map[string]any, error) {
	v := viper.New()
	v.SetConfigType("toml")
	if err := v.ReadConfig(bytes.NewReader(profile)); err != nil {
		return nil, fmt.Errorf("reading the built-in defaults: %w", err)
	}
	return v.AllSettings(), nil
}

// showDefaults adds the defaults to the flags' help, for root and the commands
// below it.
func showDefaults(root *cobra.Command) error {
	usual, err := readProfile(configs.Default)
	if err != nil {
		return err
	}
	simulated, err := readProfile(configs.Simulator)
	if err != nil {
		return err
	}
	show := func(f *pflag.Flag) {
		text := fmt.Sprint(usual[f.Name])
		if other, ok := simulated[f.Name]; ok {
			text += fmt.Sprintf(", %v in the simulator", other)
		}
		if _, ok := usual[f.Name]; ok && !slices.Contains([]string{"", "0", "false"}, text) {
			f.Usage += " (default " + text + ")"
		}
	}
	root.PersistentFlags().VisitAll(show)
	for _, cmd := range root.Commands() {
		cmd.LocalNonPersistentFlags().VisitAll(show)
	}
	return nil
}

// readFile reads the file and refuses keys that are not known.
func (s *settings) readFile(known []string) error {
	if s.file == "" {
		return nil
	}
	text, err := os.ReadFile(s.file)
	if err != nil {
		return usagef("reading the config file: %w", err)
	}
	extension := strings.TrimPrefix(filepath.Ext(s.file), ".")
	if types := []string{"toml", "yaml", "yml", "json"}; !slices.Contains(types, extension) {
		return usagef("config file %s: %w", s.file, unknown("ending", extension, types))
	}
	s.v.SetConfigType(extension)
	if err := s.v.ReadConfig(bytes.NewReader(text)); err != nil {
		return usagef("config file %s: %s", s.file, oneLine(err))
	}
	for _, key := range s.v.AllKeys() {
		if !slices.Contains(known, key) {
			slices.Sort(known)
			return usagef("config file %s: %w", s.file, unknown("key", key, known))
		}
	}
	return nil
}

// source names where the value of a key comes from; "" is the defaults.
func (s *settings) source(key string) string {
	name := environmentName(key)
	switch {
	case s.flags.Changed(key):
		return "--" + key
	case os.Getenv(name) != "":
		return name
	case s.v.InConfig(key):
		return "config file " + s.file + ": " + key
	}
	return ""
}

// blame makes a usage error of what is wrong with the value of a key: it names
// the flag, the variable, or the file with the key.
func (s *settings) blame(key string, reason error) error {
	return usagef("%s: %w", cmp.Or(s.source(key), key), reason)
}

// config decodes the settings and checks each by itself.
func (s *settings) config() (config, error) {
	var c config
	hooks := mapstructure.ComposeDecodeHookFunc(textHook, mapstructure.StringToSliceHookFunc(","))
	err := s.v.UnmarshalExact(&c, viper.DecodeHook(hooks))
	var failed *mapstructure.DecodeError
	if errors.As(err, &failed) {
		return c, s.blame(failed.Name(), decodingReason(failed.Unwrap()))
	}
	if err != nil {
		return c, usagef("reading the configuration: %s", oneLine(err))
	}
	return c, s.check(c)
}

// decodingReason says in the user's words why a value has the wrong form.
func decodingReason(err error) error {
	var parse *mapstructure.ParseError
	if !errors.As(err, &parse) {
		return errors.New(oneLine(err))
	}
	if parse.Expected.Kind() == reflect.Bool {
		return fmt.Errorf("%q is neither true nor false", parse.Value)
	}
	return fmt.Errorf("%q is not a whole number in range", parse.Value)
}

// check refuses numbers out of range and words that do not exist.
func (s *settings) check(c config) error {
	for _, n := range []struct {
		key         string
		value       int64
		least, most int64
	}{
		{"stepfactor", c.StepFactor, 2, 1 << 30},
		{"iters", int64(c.Iters), 1, 1 << 20},
		{"warmup-iters", int64(c.WarmupIters), 0, 1 << 20},
		{"run-cycles", int64(c.RunCycles), 1, 1 << 20},
		{"check", int64(c.Check), 0, 1},
		{"cudagraph", int64(c.CUDAGraph), 0, 1 << 20},
	} {
		if n.value < n.least || n.value > n.most {
			return s.blame(n.key, fmt.Errorf("%d is not between %d and %d", n.value, n.least, n.most))
		}
	}
	for _, w := range []struct {
		key, word string
		valid     []string
	}{
		{"device", c.Device, []string{"auto", "cuda", "sim"}},
		{"output", c.Output, outputFormats()},
		{"log-level", c.LogLevel, []string{"debug", "info", "warn", "error"}},
		{"log-format", c.LogFormat, []string{"console", "json"}},
	} {
		if !slices.Contains(w.valid, w.word) {
			return s.blame(w.key, unknown("word", w.word, w.valid))
		}
	}
	return nil
}

func outputFormats() []string {
	var words []string
	for _, f := range result.Formats() {
		words = append(words, string(f))
	}
	return words
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

// oneLine puts an error of several lines into one.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
