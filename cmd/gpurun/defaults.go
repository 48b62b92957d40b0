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
