package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// The keys of a log entry; every other key is a field.
const (
	keyLevel   = "level"
	keyTime    = "time"
	keyLogger  = "logger"
	keyMessage = "msg"
)

// Core returns a zap core that sends log entries to the agent.
func (w *Writer) Core(level zapcore.LevelEnabler) zapcore.Core {
	encoder := zapcore.NewJSONEncoder(zapcore.EncoderConfig{
		LevelKey:       keyLevel,
		TimeKey:        keyTime,
		NameKey:        keyLogger,
		MessageKey:     keyMessage,
		EncodeLevel:    zapcore.LowercaseLevelEncoder,
		EncodeTime:     zapcore.RFC3339NanoTimeEncoder,
		EncodeDuration: zapcore.StringDurationEncoder,
	})
	return zapcore.NewCore(encoder, logSink{w}, level)
}

// logSink wraps each encoded entry in a message.
type logSink struct{ w *Writer }

func (s logSink) Write(entry []byte) (int, error) {
	if err := s.w.Send(Message{Kind: KindLog, Log: bytes.TrimSpace(entry)}); err != nil {
		return 0, err
	}
	return len(entry), nil
}

// Sync does nothing: an entry is in the pipe when Write returns.
func (s logSink) Sync() error { return nil }

// Relog writes the entry of a log message to logger, with its own time, level
// and fields, and with the logger's fields in addition. It fails when the
// payload is not a log entry.
func Relog(logger *zap.Logger, log json.RawMessage) error {
	var values map[string]json.RawMessage
	if err := json.Unmarshal(log, &values); err != nil {
		return fmt.Errorf("reading a log entry: %w", err)
	}
	entry, err := takeEntry(values)
	if err != nil {
		return fmt.Errorf("reading a log entry: %w", err)
	}
	fields := make([]zap.Field, 0, len(values))
	for key, value := range values {
		fields = append(fields, zap.Reflect(key, value))
	}
	slices.SortFunc(fields, func(a, b zap.Field) int { return strings.Compare(a.Key, b.Key) })
	if checked := logger.Core().Check(entry, nil); checked != nil {
		checked.Write(fields...)
	}
	return nil
}

// takeEntry removes from values the keys that make up the entry itself.
func takeEntry(values map[string]json.RawMessage) (zapcore.Entry, error) {
	var entry zapcore.Entry
	for key, target := range map[string]any{
		keyLevel:   &entry.Level,
		keyTime:    &entry.Time,
		keyLogger:  &entry.LoggerName,
		keyMessage: &entry.Message,
	} {
		value, ok := values[key]
		if !ok {
			continue
		}
		if err := json.Unmarshal(value, target); err != nil {
			return zapcore.Entry{}, fmt.Errorf("key %q: %w", key, err)
		}
		delete(values, key)
	}
	if entry.Time.IsZero() {
		entry.Time = time.Now()
	}
	return entry, nil
}
