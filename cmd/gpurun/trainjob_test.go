package main

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// startController starts a stand-in for Kubeflow Trainer's controller, which ends with the script, and sets the
// variables by which a TrainJob reports to it. Each report is a line of controller.log.
func startController(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: controller")
	}
	var mu sync.Mutex
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		line, err := readProgress(r)
		if err != nil || r.Header.Get("Authorization") != "Bearer secret" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		f, err := os.OpenFile(ts.MkAbs("controller.log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			fmt.Fprintln(f, line)
			err = f.Close()
		}
		if err != nil {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	ts.Defer(server.Close)
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	ts.Check(os.WriteFile(ts.MkAbs("ca.crt"), certificate, 0o600))
	ts.Check(os.WriteFile(ts.MkAbs("token"), []byte("secret"), 0o600))
	ts.Setenv("KUBEFLOW_TRAINER_SERVER_URL", server.URL)
	ts.Setenv("KUBEFLOW_TRAINER_SERVER_CA_CERT", ts.MkAbs("ca.crt"))
	ts.Setenv("KUBEFLOW_TRAINER_SERVER_TOKEN", ts.MkAbs("token"))
}

// readProgress makes a line of a report: the progress, and NAME=VALUE of each metric.
func readProgress(r *http.Request) (line string, err error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return "", err
	}
	var report struct {
		TrainerStatus struct {
			ProgressPercentage int
			Metrics            []struct{ Name, Value string }
		}
	}
	if err := json.Unmarshal(body, &report); err != nil {
		return "", err
	}
	line = fmt.Sprintf("%d%%", report.TrainerStatus.ProgressPercentage)
	for _, m := range report.TrainerStatus.Metrics {
		line += " " + m.Name + "=" + m.Value
	}
	return line, nil
}
