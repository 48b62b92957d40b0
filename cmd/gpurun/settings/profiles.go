package settings

import (
	"bytes"
	"fmt"
	"maps"

	"github.com/spf13/viper"
)

// setDefaults makes defaults of built-in profiles, of which the last wins.
func (s *Sources) setDefaults(profiles [][]byte) error {
	values, err := Defaults(profiles...)
	if err != nil {
		return err
	}
	for key, value := range values {
		s.v.SetDefault(key, value)
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

// Defaults returns the values of built-in profiles by key, of which the last wins.
func Defaults(profiles ...[]byte) (map[string]any, error) {
	all := map[string]any{}
	for _, profile := range profiles {
		values, err := readProfile(profile)
		if err != nil {
			return nil, err
		}
		maps.Copy(all, values)
	}
	return all, nil
}
