package settings

import (
	"errors"

	"github.com/go-viper/mapstructure/v2"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/phrase"
)

// Launch is what can be configured about launching anything. Of a command gpurun's own
// settings say no more; the rest is in torchrun's options.
type Launch struct {
	Grace       Seconds    `mapstructure:"grace"`
	SignalGrace Seconds    `mapstructure:"signal-grace"`
	LogLevel    string     `mapstructure:"log-level"`
	LogFormat   string     `mapstructure:"log-format"`
	JoinTimeout Seconds    `mapstructure:"join-timeout"`
	Trust       TrustFiles `mapstructure:",squash"`
}

// Launch decodes these settings alone: others may have a form of torchrun's
// that collectives do not take.
func (s *Sources) Launch() (Launch, error) {
	var c Launch
	decoder, err := mapstructure.NewDecoder(&mapstructure.DecoderConfig{DecodeHook: mapstructure.DecodeHookFuncType(textHook), Result: &c})
	if err != nil {
		return c, err
	}
	values := map[string]any{}
	for _, key := range append(tlsKeys(), "grace", "signal-grace", "log-level", "log-format", "rdzv-token-file", "join-timeout") {
		values[key] = s.v.Get(key)
	}
	err = decoder.Decode(values)
	var failed *mapstructure.DecodeError
	if errors.As(err, &failed) {
		return c, s.Blame(failed.Name(), decodingReason(failed.Unwrap()))
	}
	if err != nil {
		return c, exit.Usagef("reading the configuration: %s", phrase.OneLine(err))
	}
	if s.Source("join-timeout") == "" {
		c.JoinTimeout = 0 // the default is that of collectives; torchrun's is longer
	}
	return c, s.checkLaunch(c)
}
