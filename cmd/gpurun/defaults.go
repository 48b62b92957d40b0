package main

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/spf13/viper"

	"gpurun/configs"
)

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
	special := map[string]map[string]any{}
	for command, profile := range map[string][]byte{tuneCommand: configs.Tune, smokeCommand: configs.Smoke} {
		if special[command], err = readProfile(profile); err != nil {
			return err
		}
	}
	show := func(profiles ...map[string]any) func(*pflag.Flag) {
		return func(f *pflag.Flag) { showDefault(f, simulated, profiles) }
	}
	root.PersistentFlags().VisitAll(show(usual))
	for _, cmd := range root.Commands() {
		cmd.LocalNonPersistentFlags().VisitAll(show(special[cmd.Name()], usual))
	}
	return nil
}

// showDefault adds to a flag's help the value of the first profile that has one.
func showDefault(f *pflag.Flag, simulated map[string]any, profiles []map[string]any) {
	for _, profile := range profiles {
		value, ok := profile[f.Name]
		if !ok {
			continue
		}
		text := fmt.Sprint(value)
		if other, ok := simulated[f.Name]; ok {
			text += fmt.Sprintf(", %v in the simulator", other)
		}
		if !slices.Contains([]string{"", "0", "false"}, text) {
			f.Usage += " (default " + text + ")"
		}
		return
	}
}
