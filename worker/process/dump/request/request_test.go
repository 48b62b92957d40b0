package request

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"gpurun/worker/process/guard"
	"gpurun/worker/process/orphans"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAsk(t *testing.T) {
	l, err := Listen()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(); err == nil {
		t.Error("two listen at the same name")
	}
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		for range 2 {
			request := <-l.Requests()
			if !strings.Contains(request.Reason, strconv.Itoa(os.Getpid())) || request.Hang {
				t.Errorf("request %+v", request)
			}
			request.Page([]byte("the page"))
		}
	}()
	for range 2 {
		if page, err := Ask(t.Context(), os.Getpid()); err != nil || string(page) != "the page" {
			t.Errorf("%q, %v", page, err)
		}
	}
	<-answered
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		<-l.Requests() // and no page
		l.Close()
	}()
	if _, err := Ask(t.Context(), os.Getpid()); err == nil || !strings.Contains(err.Error(), "has sent no page") {
		t.Errorf("without a page: %v", err)
	}
	<-closed
	if _, err := Ask(t.Context(), os.Getpid()); err == nil || !strings.Contains(err.Error(), "does not take requests") {
		t.Errorf("without a listener: %v", err)
	}
}

// An agent that ends resets the connections that it has not accepted.
func TestAskAnEndingAgent(t *testing.T) {
	socket, err := net.Listen("unix", socketName(os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	asked := make(chan error, 1)
	go func() {
		_, err := Ask(t.Context(), os.Getpid())
		asked <- err
	}()
	waitForConnection(t, socket.(*net.UnixListener))
	if err := socket.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-asked; err == nil || !strings.Contains(err.Error(), "is ending") {
		t.Errorf("error %v", err)
	}
}

// waitForConnection returns once a connection waits to be accepted, and leaves it waiting.
func waitForConnection(t *testing.T, l *net.UnixListener) {
	t.Helper()
	raw, err := l.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var pollErr error
	if err := raw.Control(func(fd uintptr) {
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n := 0
		for n == 0 && (pollErr == nil || errors.Is(pollErr, unix.EINTR)) {
			n, pollErr = unix.Poll(fds, -1)
		}
	}); err != nil || pollErr != nil {
		t.Fatal(err, pollErr)
	}
}

// A process of another user's, or of any program, may have taken the name.
func TestAskAnotherProcess(t *testing.T) {
	l, err := Listen()
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, err = ask(t.Context(), socketName(os.Getpid()), os.Getpid()+1)
	if err == nil || !strings.Contains(err.Error(), "is not gpurun's agent") {
		t.Errorf("error %v", err)
	}
}

// begin starts a process with variables.
func begin(t *testing.T, variables ...string) int {
	t.Helper()
	cmd := exec.Command("/bin/sleep", "60")
	cmd.Env = variables
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd.Process.Pid
}

func TestFindAgent(t *testing.T) {
	const job = orphans.Variable + "=1-2-3"
	agent := begin(t, job, guard.LifelineVariable+"=3")
	worker, stranger := begin(t, job), begin(t, orphans.Variable+"=4-5-6")
	for pid, want := range map[int]int{agent: agent, worker: agent, os.Getpid(): agent, stranger: 0, 1 << 30: 0} {
		got, err := FindAgent(pid)
		if got != want || (err == nil) != (want != 0) {
			t.Errorf("process %d has agent %d, %v; want %d", pid, got, err, want)
		}
	}
}
