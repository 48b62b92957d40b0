package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"google.golang.org/grpc"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/nvsentinel"
	pb "gpurun/cmd/gpurun/nvsentinel/v1"
	"gpurun/worker/process/signals"
)

// connector stands for NVSentinel's, and writes a line to a file for each event.
type connector struct {
	pb.UnimplementedPlatformConnectorServer
	file string
}

func (c connector) HealthEventOccurredV1(_ context.Context, all *pb.HealthEvents) (*pb.Empty, error) {
	f, err := os.OpenFile(c.file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	for _, e := range all.Events {
		fmt.Fprintf(f, "%s healthy=%v fatal=%v %v %v: %s\n", e.NodeName, e.IsHealthy, e.IsFatal, e.ErrorCode,
			e.ProcessingStrategy, e.Message)
	}
	return &pb.Empty{}, f.Close()
}

// serveConnector serves a connector on a Unix socket; its events are lines of the file.
func serveConnector(socket, file string) (stop func(), err error) {
	l, err := net.Listen("unix", socket)
	if err != nil {
		return nil, err
	}
	s := grpc.NewServer()
	pb.RegisterPlatformConnectorServer(s, connector{file: file})
	go func() { _ = s.Serve(l) }()
	return s.Stop, nil
}

// startConnector starts a connector that ends with the script: the socket is connector.sock, the file connector.log.
func startConnector(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: connector")
	}
	stop, err := serveConnector(ts.MkAbs("connector.sock"), ts.MkAbs("connector.log"))
	ts.Check(err)
	ts.Defer(stop)
}

func TestVerdictsAreReported(t *testing.T) {
	socket, file := filepath.Join(t.TempDir(), "s"), filepath.Join(t.TempDir(), "log")
	stop, err := serveConnector(socket, file)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	wrong := &exit.Error{Code: exit.WrongData, Said: "rank 3 has\nwrong data"}
	for _, c := range []struct {
		strategy string
		ended    error
		code     int
		want     string // empty: no event
	}{
		{"", nil, 0, "n1 healthy=true fatal=false [] EXECUTE_REMEDIATION: gpurun smoke: PASS"},
		{
			"EXECUTE_REMEDIATION", wrong, 1,
			"n1 healthy=false fatal=true [GPURUN_WRONG_DATA] EXECUTE_REMEDIATION: gpurun smoke: FAIL: rank 3 has wrong data",
		},
		{
			"STORE_ONLY", wrong, 0,
			"n1 healthy=false fatal=true [GPURUN_WRONG_DATA] STORE_ONLY: gpurun smoke: FAIL: rank 3 has wrong data",
		},
		{
			"", errors.New("no GPU"), 3,
			"n1 healthy=false fatal=true [GPURUN_ENVIRONMENT] EXECUTE_REMEDIATION: gpurun smoke: FAIL: no GPU",
		},
		{"STORE_ONLY", exit.Usagef("bad"), 2, ""},
		{"STORE_ONLY", signals.Received{Signal: 15}, 143, ""},
	} {
		for name, value := range map[string]string{
			nvsentinel.SocketVariable: socket, nvsentinel.NodeVariable: "n1", nvsentinel.StrategyVariable: c.strategy,
		} {
			t.Setenv(name, value)
		}
		told, err := newVerdictReporter("nvsentinel")
		if err != nil {
			t.Fatal(err)
		}
		_ = os.Remove(file)
		var stderr bytes.Buffer
		code := exit.Code(told.report(t.Context(), &stderr, c.ended))
		got, _ := os.ReadFile(file) // there is none without an event
		if text := strings.TrimSpace(string(got)); code != c.code || text != c.want {
			t.Errorf("%v: code %d, event %q, want %d, %q", c.ended, code, text, c.code, c.want)
		}
		const held = "exits with 0: PROCESSING_STRATEGY is STORE_ONLY"
		if c.ended != nil && code == 0 && !strings.Contains(stderr.String(), held) {
			t.Errorf("stderr %q", stderr.String())
		}
	}
}
