package elastic

import (
	"net"
	"testing"
	"time"
)

// A server stays until the last agent has read what it was told.
func TestCloseWaitsForTheAgents(t *testing.T) {
	config, err := job(t, 1, 1).withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	config.Timeouts.Close = time.Hour
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, err := serve(config, l, "")
	if err != nil {
		t.Fatal(err)
	}
	s.coordinator.attend() // and does not read
	closed := make(chan error, 1)
	go func() { closed <- s.close("the test ends") }()
	<-s.coordinator.over
	for asked := false; !asked; time.Sleep(time.Millisecond) {
		s.coordinator.mu.Lock()
		asked = s.coordinator.drained != nil
		s.coordinator.mu.Unlock()
	}
	time.Sleep(10 * time.Millisecond) // a server that does not wait would be gone
	select {
	case err := <-closed:
		t.Errorf("it did not wait: %v", err)
		return
	default:
	}
	s.coordinator.left()
	if err := <-closed; err != nil {
		t.Error(err)
	}
}
