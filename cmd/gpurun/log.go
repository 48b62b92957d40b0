package main

import (
	"io"
	"slices"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// newLogger logs to w, without sampling. Its level can be asked and changed
// through c.LogLevel only.
func newLogger(c config, w io.Writer) (*zap.Logger, error) {
	level, err := parseLevel(c.LogLevel)
	if err != nil {
		return nil, err
	}
	encoder, err := newEncoder(c.LogFormat)
	if err != nil {
		return nil, err
	}
	return zap.New(zapcore.NewCore(encoder, zapcore.Lock(zapcore.AddSync(w)), level)), nil
}

func parseLevel(word string) (zap.AtomicLevel, error) {
	if levels := []string{"debug", "info", "warn", "error"}; !slices.Contains(levels, word) {
		return zap.AtomicLevel{}, unknown("log level", word, levels)
	}
	return zap.ParseAtomicLevel(word)
}

func newEncoder(format string) (zapcore.Encoder, error) {
	keys := zapcore.EncoderConfig{
		LevelKey: "level", TimeKey: "time", NameKey: "logger", MessageKey: "msg",
		EncodeLevel:    zapcore.LowercaseLevelEncoder,
		EncodeTime:     zapcore.RFC3339NanoTimeEncoder,
		EncodeDuration: zapcore.StringDurationEncoder,
		EncodeName:     zapcore.FullNameEncoder,
	}
	switch format {
	case "json":
		return zapcore.NewJSONEncoder(keys), nil
	case "console":
		keys.EncodeTime = zapcore.TimeEncoderOfLayout("15:04:05.000")
		keys.ConsoleSeparator = " "
		return zapcore.NewConsoleEncoder(keys), nil
	}
	return nil, unknown("log format", format, []string{"console", "json"})
}
