package tcpstore

import (
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTranscripts plays conversations of testdata/*.txt. A line is bytes in
// hex: "1> " what client 1 sends, "1< " what it must then receive; # begins a
// comment. Every line is awaited, so that the order holds between clients too.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			play(t, string(text))
		})
	}
}

func play(t *testing.T, text string) {
	s, _ := serve(t, Limits{})
	clients := map[string]*client{}
	for i, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		who, data := line[:1], strings.ReplaceAll(line[2:], " ", "")
		b, err := hex.DecodeString(data)
		if err != nil {
			t.Fatalf("line %d: %v", i+1, err)
		}
		if clients[who] == nil {
			clients[who] = &client{t: t, conn: dial(t, s)}
		}
		if line[1] == '>' {
			clients[who].write(b)
		} else if diff := cmp.Diff(fmt.Sprintf("% x", b), fmt.Sprintf("% x", clients[who].read(len(b)))); diff != "" {
			t.Fatalf("line %d: (-want +got):\n%s", i+1, diff)
		}
	}
	// No client may have been sent more.
	for who, c := range clients {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := awaitEnd(c.conn); err != nil {
			t.Errorf("client %s: %v", who, err)
		}
	}
}
