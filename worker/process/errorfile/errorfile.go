// Package errorfile reads and writes error.json. In this file a worker of torchrun
// records why it failed, for its launcher. A launcher that another launcher started
// records its failure in the same way.
//
// A worker finds its path in TORCHELASTIC_ERROR_FILE. PyTorch's decorator
// torch.distributed.elastic.multiprocessing.errors.record writes
//
//	{"message": {"message": "Type: text",
//	             "extraInfo": {"py_callstack": "...", "timestamp": "1700000000"}}}
//
// and a launcher adds "errorCode" beside "message" when it passes the file on.
// Other programs may write a plain string as the message.
package errorfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"
)

// Variable is the environment variable with the path of the file.
const Variable = "TORCHELASTIC_ERROR_FILE"

// Record is the content of a file.
type Record struct {
	// Message is the error in a line, as "ValueError: bad loss".
	Message string
	// Callstack is the traceback; it may be empty.
	Callstack string
	// Time is that of the failure, to the second; zero if the file has none.
	Time time.Time
}

// maxBytes bounds a file's size. Tracebacks are shorter.
const maxBytes = 4 << 20

// document and details are the file's JSON.
type document struct {
	Message json.RawMessage `json:"message"`
}

type details struct {
	Message   string `json:"message"`
	ErrorCode int    `json:"errorCode,omitempty"`
	ExtraInfo extra  `json:"extraInfo"`
}

type extra struct {
	Callstack string `json:"py_callstack"`
	// Timestamp is in seconds; PyTorch writes it as a string.
	Timestamp json.RawMessage `json:"timestamp,omitempty"`
}

// Read reads a file. The error is fs.ErrNotExist where there is none.
func Read(path string) (*Record, error) {
	data, err := readAll(path)
	if err != nil {
		return nil, fmt.Errorf("reading an error file: %w", err)
	}
	record, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("reading the error file %s: %w", path, err)
	}
	return record, nil
}

func readAll(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxBytes+1))
	if err == nil && len(data) > maxBytes {
		err = fmt.Errorf("%s has more than %d bytes", path, maxBytes)
	}
	return data, err
}

func parse(data []byte) (*Record, error) {
	var doc document
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, err
	}
	var text string
	if json.Unmarshal(doc.Message, &text) == nil {
		return &Record{Message: text}, nil
	}
	var d details
	if len(doc.Message) == 0 {
		return nil, errors.New(`there is no "message"`)
	}
	if err := json.Unmarshal(doc.Message, &d); err != nil {
		return nil, err
	}
	return &Record{Message: d.Message, Callstack: d.ExtraInfo.Callstack, Time: seconds(d.ExtraInfo.Timestamp)}, nil
}

// seconds reads a time in seconds, written as a number or as a string.
func seconds(raw json.RawMessage) time.Time {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		text = string(raw)
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n <= 0 {
		return time.Time{}
	}
	return time.Unix(n, 0)
}

// Forward copies a worker's file to a launcher's, and adds the worker's exit code. The
// exit code of a killed worker is the negative number of the signal, as in Python.
// All other content stays unchanged.
func Forward(from, to string, exitCode int) error {
	data, err := readAll(from)
	if err == nil {
		err = os.WriteFile(to, withCode(data, exitCode), 0o644)
	}
	if err != nil {
		return fmt.Errorf("passing an error file on: %w", err)
	}
	return nil
}

// withCode adds the exit code to a message that is an object. Other files stay unchanged.
func withCode(data []byte, exitCode int) []byte {
	var doc, message map[string]json.RawMessage
	if json.Unmarshal(data, &doc) != nil || json.Unmarshal(doc["message"], &message) != nil || message == nil {
		return data
	}
	message["errorCode"] = json.RawMessage(strconv.Itoa(exitCode))
	inner, err := json.Marshal(message)
	if err != nil {
		return data
	}
	doc["message"] = inner
	changed, err := json.Marshal(doc)
	if err != nil {
		return data
	}
	return changed
}

// Write writes a file for a worker that has not written one.
func Write(to string, r Record, exitCode int) error {
	message, err := json.Marshal(details{Message: r.Message, ErrorCode: exitCode, ExtraInfo: extra{
		Callstack: r.Callstack, Timestamp: json.RawMessage(strconv.Quote(strconv.FormatInt(r.Time.Unix(), 10))),
	}})
	if err == nil {
		var data []byte
		if data, err = json.Marshal(document{Message: message}); err == nil {
			err = os.WriteFile(to, data, 0o644)
		}
	}
	if err != nil {
		return fmt.Errorf("writing an error file: %w", err)
	}
	return nil
}
