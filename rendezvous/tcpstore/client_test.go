package tcpstore

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testTimeout is how long a test waits for an event that must come. No test waits so long for
// an event that must not come.
const testTimeout = 30 * time.Second

func listen(t testing.TB) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func serve(t testing.TB, limits Limits) (*Server, *observer.ObservedLogs) {
	t.Helper()
	core, logs := observer.New(zap.DebugLevel)
	s, err := Serve(context.Background(), listen(t), Options{Limits: limits, Logger: zap.New(core)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, logs
}

// client speaks the protocol of one generation, and fails the test when the
// server does not.
type client struct {
	t    testing.TB
	conn net.Conn
	gen  generation
}

func dial(t testing.TB, s *Server) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(testTimeout)); err != nil {
		t.Fatal(err)
	}
	return c
}

func connect(t testing.TB, s *Server, gen generation) *client {
	t.Helper()
	c := &client{t: t, conn: dial(t, s), gen: gen}
	if gen == current {
		c.write(validation())
	}
	return c
}

// validation is what a client of the current generation sends first.
func validation() []byte { return binary.LittleEndian.AppendUint32([]byte{0}, validateMagic) }

func (c *client) write(b []byte) {
	c.t.Helper()
	if _, err := c.conn.Write(b); err != nil {
		c.t.Fatal(err)
	}
}

// ask sends a request. Strings become blobs, ints 8 bytes.
func (c *client) ask(op operation, arguments ...any) {
	c.t.Helper()
	c.write(encode(c.gen, op, arguments...))
}

func encode(gen generation, op operation, arguments ...any) []byte {
	code := byte(op)
	if gen == legacy && op <= opGetNumKeys {
		code--
	}
	b := []byte{code}
	for _, a := range arguments {
		switch a := a.(type) {
		case int:
			b = binary.LittleEndian.AppendUint64(b, uint64(a))
		case string:
			b = binary.LittleEndian.AppendUint64(b, uint64(len(a)))
			b = append(b, a...)
		}
	}
	return b
}

func (c *client) read(n int) []byte {
	c.t.Helper()
	b := make([]byte, n)
	if _, err := io.ReadFull(c.conn, b); err != nil {
		c.t.Fatalf("reading %d bytes: %v", n, err)
	}
	return b
}

func (c *client) readInt() int {
	c.t.Helper()
	return int(int64(binary.LittleEndian.Uint64(c.read(8))))
}

func (c *client) readBlob() string { c.t.Helper(); return string(c.read(c.readInt())) }

// hungUp waits until the server has hung up.
func (c *client) hungUp() {
	c.t.Helper()
	if err := awaitEnd(c.conn); err != nil {
		c.t.Errorf("the server did not hang up: %v", err)
	}
}

func awaitEnd(conn net.Conn) error {
	n, err := io.Copy(io.Discard, conn)
	if n > 0 {
		return &net.ParseError{Type: "silence", Text: "an answer"}
	}
	if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
		return err
	}
	return nil // the end, or a reset
}

func (c *client) set(key, value string) { c.t.Helper(); c.ask(opSet, key, value) }

// store is set, and waits until others see the value.
func (c *client) store(key, value string) {
	c.t.Helper()
	c.set(key, value)
	c.numKeys()
}

func (c *client) get(key string) string {
	c.t.Helper()
	c.ask(opGet, key)
	return c.readBlob()
}

func (c *client) add(key string, delta int) int {
	c.t.Helper()
	c.ask(opAdd, key, delta)
	return c.readInt()
}

func (c *client) numKeys() int {
	c.t.Helper()
	c.ask(opGetNumKeys)
	return c.readInt()
}
