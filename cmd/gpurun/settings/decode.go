package settings

import (
	"encoding"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"

	"github.com/go-viper/mapstructure/v2"
	"github.com/spf13/viper"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/suggest"
)

// Decode sets the fields of a structure, of which to is the address, to the values of the keys
// in their tags. Every key must have a field. A value of the wrong form is a usage error.
func (s *Sources) Decode(to any) error {
	hooks := mapstructure.ComposeDecodeHookFunc(textHook, plainHook, mapstructure.StringToSliceHookFunc(","))
	return s.undecoded(s.v.UnmarshalExact(to, viper.DecodeHook(hooks)))
}

// DecodeOnly is Decode for these keys only; other values may have any form.
func (s *Sources) DecodeOnly(to any, keys ...string) error {
	decoder, err := mapstructure.NewDecoder(&mapstructure.DecoderConfig{
		DecodeHook: mapstructure.ComposeDecodeHookFunc(textHook, plainHook), Result: to,
	})
	if err != nil {
		return err
	}
	values := map[string]any{}
	for _, key := range keys {
		values[key] = s.v.Get(key)
	}
	return s.undecoded(decoder.Decode(values))
}

// undecoded blames the source of the value that could not be decoded.
func (s *Sources) undecoded(err error) error {
	var failed *mapstructure.DecodeError
	switch {
	case errors.As(err, &failed):
		return s.Invalid(failed.Name(), decodingReason(failed.Unwrap()))
	case err != nil:
		return exit.Usagef("reading the configuration: %s", suggest.OneLine(err))
	}
	return nil
}

// decodingReason says in the user's words why a value has the wrong form.
func decodingReason(err error) error {
	var parse *mapstructure.ParseError
	if !errors.As(err, &parse) {
		return errors.New(suggest.OneLine(err))
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

// plainHook refuses values that mapstructure would convert: an empty value, a fraction for a whole number, and true for
// a number.
func plainHook(_, to reflect.Type, data any) (any, error) {
	kind := to.Kind()
	whole := reflect.Int <= kind && kind <= reflect.Uint64
	if number := whole || kind == reflect.Float32 || kind == reflect.Float64; !number && kind != reflect.Bool {
		return data, nil
	}
	switch value := data.(type) {
	case string:
		if strings.TrimSpace(value) == "" {
			return nil, errors.New("the value is empty: write one, or leave the setting out")
		}
	case bool:
		if kind != reflect.Bool {
			return nil, fmt.Errorf("%t is not a number", value)
		}
	case float64:
		if whole && value != math.Trunc(value) {
			return nil, fmt.Errorf("%v is not a whole number", value)
		}
	}
	return data, nil
}
