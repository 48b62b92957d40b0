package agent

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"gpurun/worker/process/report"
)

// scriptedWorker is a worker that does what the words of its command line say, one
// after the other. A word is VERB:ARGUMENT, for one rank only R=VERB:ARGUMENT.
type scriptedWorker struct {
	rank    string
	reports *report.Writer
}

func runScriptedWorker(words []string) int {
	p := &scriptedWorker{rank: os.Getenv("RANK")}
	for _, word := range words {
		if rank, rest, ok := strings.Cut(word, "="); ok {
			if rank != p.rank {
				continue
			}
			word = rest
		}
		verb, argument, _ := strings.Cut(word, ":")
		if verb == "exit" {
			code, err := strconv.Atoi(argument)
			if err != nil {
				return 95
			}
			return code
		}
		if err := p.play(verb, argument); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", word, err)
			return 96
		}
	}
	return 0
}

func (p *scriptedWorker) play(verb, argument string) error {
	switch verb {
	case "phase":
		return p.report(report.Message{Kind: report.KindPhase, Phase: argument})
	case "result":
		return p.report(report.Message{Kind: report.KindResult, Result: json.RawMessage(argument)})
	case "fail":
		var failure report.Failure
		if err := json.Unmarshal([]byte(argument), &failure); err != nil {
			return err
		}
		return p.report(report.Message{Kind: report.KindFailure, Failure: &failure})
	case "garbage":
		fd, err := strconv.Atoi(os.Getenv(report.FDVariable))
		if err != nil {
			return err
		}
		_, err = syscall.Write(fd, []byte(argument+"\n"))
		return err
	case "print":
		_, err := fmt.Print(argument)
		return err
	case "complain":
		_, err := fmt.Fprint(os.Stderr, argument)
		return err
	case "await": // until the test closes descriptor 3
		_, err := io.Copy(io.Discard, os.NewFile(3, "gate"))
		return err
	case "ignore":
		signal.Ignore(syscall.SIGTERM)
	case "kill":
		// A shell dies of any signal; Go's runtime makes something of SIGABRT.
		return syscall.Exec("/bin/sh", []string{"sh", "-c", "kill -" + argument + " $$"}, os.Environ())
	case "block":
		time.Sleep(time.Hour)
	case "linger": // long enough for a signal that should not come
		time.Sleep(200 * time.Millisecond)
	case "listen": // wait for a signal
		number, err := strconv.Atoi(argument)
		if err != nil {
			return err
		}
		signals := make(chan os.Signal, 1)
		signal.Notify(signals, syscall.Signal(number))
		fmt.Println("listening")
		<-signals
	default:
		return fmt.Errorf("no such verb")
	}
	return nil
}

func (p *scriptedWorker) report(m report.Message) error {
	if p.reports == nil {
		w, err := report.Open()
		if err != nil {
			return err
		}
		p.reports = w
	}
	return p.reports.Send(m)
}
