package program

import (
	"fmt"
	"io"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"gpurun/worker/result/printable"
)

// NewLogger logs to w, without sampling: entries of a level or above, in the form "console" or "json".
func NewLogger(level, format string, w io.Writer) (*zap.Logger, error) {
	least, err := zap.ParseAtomicLevel(level)
	if err != nil {
		return nil, fmt.Errorf("creating the logger: %w", err)
	}
	return zap.New(zapcore.NewCore(newEncoder(format), zapcore.Lock(zapcore.AddSync(entries{w})), least)), nil
}

// entries writes entries of a log, each in one write. Control characters in them become escapes.
type entries struct{ w io.Writer }

func (e entries) Write(p []byte) (int, error) {
	if _, err := io.WriteString(e.w, printable.Text(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// newEncoder writes for people, or in the form "json" for programs.
func newEncoder(format string) zapcore.Encoder {
	keys := zapcore.EncoderConfig{
		LevelKey: "level", TimeKey: "time", NameKey: "logger", MessageKey: "msg",
		EncodeLevel:    zapcore.LowercaseLevelEncoder,
		EncodeTime:     zapcore.RFC3339NanoTimeEncoder,
		EncodeDuration: zapcore.StringDurationEncoder,
		EncodeName:     zapcore.FullNameEncoder,
	}
	if format == "json" {
		return zapcore.NewJSONEncoder(keys)
	}
	keys.EncodeTime = zapcore.TimeEncoderOfLayout("15:04:05.000")
	keys.ConsoleSeparator = " "
	return zapcore.NewConsoleEncoder(keys)
}

// RankPrefix marks lines of output when there are several ranks.
func RankPrefix(workers int) func(rank int) string {
	return func(rank int) string {
		if workers == 1 {
			return ""
		}
		return fmt.Sprintf("[rank %d] ", rank)
	}
}
