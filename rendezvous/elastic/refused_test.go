package elastic

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"gpurun/rendezvous/transport/certtest"
)

// A server in plain text names a client that speaks TLS, as that client names the server.
func TestPlainServerNamesAClientWithTLS(t *testing.T) {
	t.Parallel()
	server := job(t, 2, 2)
	server.Timeouts.Join = time.Second
	late := next(t, enter(t, server, 0))
	client := server
	client.TLS = certtest.New(t).Load(nil, hostOf(t, server.Endpoint))
	_, err := enter(t, client, 1).NextRound(testContext(t))
	if err == nil || !strings.Contains(err.Error(), "does not speak TLS") {
		t.Errorf("got %v", err)
	}
	<-late.done
	if err := late.err; err == nil || !strings.Contains(err.Error(), "it speaks TLS and this node does not") {
		t.Errorf("got %v", err)
	}
}

// An agent that serves and waits in vain names whom it has refused: another job, another token, another authority.
func TestServerNamesWhomItRefuses(t *testing.T) {
	t.Parallel()
	config := job(t, 2, 2)
	config.TLS = certtest.New(t).Load(nil, hostOf(t, config.Endpoint))
	server := config
	server.Timeouts.Join = 2 * time.Second
	late := next(t, enter(t, server, 0))
	otherJob, otherToken, otherAuthority, plain := config, config, config, config
	otherJob.RunID, otherToken.Token, plain.TLS = "other", "other", nil
	otherAuthority.TLS = certtest.New(t).Load(nil, hostOf(t, config.Endpoint))
	for i, stranger := range []Config{otherJob, otherToken, otherAuthority, plain} {
		if _, err := enter(t, stranger, i+1).NextRound(testContext(t)); err == nil {
			t.Errorf("stranger %d was not refused", i)
		}
	}
	<-late.done
	err := late.err
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{
		"; refused: ", `job "other"`, "wrong token for this job", "it does not accept the certificate",
		"it does not speak TLS",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
