package flight

import (
	"bytes"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gpurun/worker/process/dump"
)

// recorded is what testdata/pickles.py writes.
func recorded() []dump.Collective {
	stack := []dump.Frame{
		{Function: "all_reduce", File: "/opt/torch/distributed/distributed_c10d.py", Line: 2696},
		{Function: "main", File: "/job/train.py", Line: 214},
	}
	collective := func(sequence int64, state string) dump.Collective {
		return dump.Collective{
			Group: "default_pg", Ranks: []int{0, 1, 2}, Sequence: sequence, Operation: "ALLREDUCE",
			Sizes: [][]int64{{3, 4}}, Type: "Float", State: state,
			Created: time.Unix(1_700_000_000, sequence).UTC(), Python: stack,
		}
	}
	send := collective(1, "scheduled")
	send.Group, send.Ranks, send.Sequence, send.P2P, send.Operation = "pipeline (3)", nil, 70_000, true, "SEND 0->1"
	return []dump.Collective{collective(1, "completed"), collective(2, "started"), send}
}

// Python's pickle writes the opcodes of each protocol, PyTorch's pickler those of protocol 2.
func TestReadWhatPythonWrites(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip(err)
	}
	for _, form := range []string{"2", "3", "4", "5", "json"} {
		text, err := exec.Command(python, "testdata/pickles.py", form).Output()
		if err != nil {
			t.Fatal(err)
		}
		got, err := Read(bytes.NewReader(text))
		if diff := cmp.Diff(recorded(), got); err != nil || diff != "" {
			t.Errorf("%s: error %v, difference (-want +got):\n%s", form, err, diff)
		}
		for n := 0; n < len(text)-1; n += 11 {
			if _, err := Read(bytes.NewReader(text[:n])); err == nil && n < len(bytes.TrimSpace(text)) {
				t.Errorf("%s: the first %d bytes of %d are taken for a dump", form, n, len(text))
			}
		}
	}
}

// Read reads what PyTorch's C++ code writes: keys by BINGET, strings by BINUNICODE and BINPUT, 8 bytes by LONG1.
func TestReadPyTorchsPickler(t *testing.T) {
	const (
		text = "\x80\x02}(X\x07\x00\x00\x00versionq\x00X\x03\x00\x00\x002.4q\x01" +
			"X\x07\x00\x00\x00entriesq\x02](}(X\x05\x00\x00\x00stateq\x03X\x07\x00\x00\x00startedq\x04" +
			"X\x0f\x00\x00\x00time_created_nsq\x05\x8a\x08\x00\x00\x64\xa7\xb3\xb6\xe0\x0d" +
			"X\x11\x00\x00\x00collective_seq_idr\x06\x01\x00\x00M\x2c\x03" +
			"X\x0d\x00\x00\x00process_groupq\x07(X\x01\x00\x00\x000q\x08X\x09\x00\x00\x00undefinedq\x09t" +
			"X\x0b\x00\x00\x00duration_msq\x0aG\x3f\xe0\x00\x00\x00\x00\x00\x00" +
			"X\x0b\x00\x00\x00input_sizesq\x0b](](J\xff\xff\xff\xffee" +
			"X\x06\x00\x00\x00framesq\x0c](Ne" +
			"h\x04h\x03u" + // an item that nobody reads, "started": "state"
			"eu."
	)
	got, err := Read(strings.NewReader(text))
	want := []dump.Collective{{
		Group: "0", Sequence: 812, State: "started", Created: time.Unix(1_000_000_000, 0).UTC(),
		Sizes: [][]int64{{-1}}, Python: []dump.Frame{{}},
	}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("error %v, difference (-want +got):\n%s", err, diff)
	}
}

func TestReadRefuses(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"a call":           {"\x80\x02cos\nsystem\n(X\x02\x00\x00\x00idtR.", "wants to call code"},
		"an import":        {"\x80\x04\x8c\x02os\x8c\x06system\x93.", "wants to call code"},
		"an old version":   {"\x80\x02}X\x07\x00\x00\x00versionX\x03\x00\x00\x001.5s.", `version "1.5"`},
		"a number":         {"\x80\x02K\x01.", "in place of a dictionary"},
		"text":             {"no pickle", "damaged pickle"},
		"nothing":          {"", "damaged pickle"},
		"no value":         {"\x80\x02.", "stack is empty"},
		"a mark's value":   {"K\x01(.", "stack is empty"},
		"a missing mark":   {"]K\x01e.", "no mark"},
		"a missing memo":   {"h\x07.", "no value 7"},
		"a key alone":      {"}(K\x01u.", "key without a value"},
		"a list of text":   {"X\x01\x00\x00\x00aK\x01a.", "appending to a string"},
		"an item of text":  {"X\x01\x00\x00\x00aK\x01K\x01s.", "setting an item of a string"},
		"a long string":    {"X\xff\xff\xff\xffa", "unexpected EOF"},
		"a longer string":  {"\x8d\xff\xff\xff\xff\xff\xff\xff\xffa", "unexpected EOF"},
		"a long integer":   {"\x8a\x09123456789.", "integer of 9 bytes"},
		"too many opcodes": {strings.Repeat("N", mostSteps+1), "opcodes"},
		"too many bytes":   {strings.Repeat(" ", mostBytes+1), "TORCH_FR_BUFFER_SIZE"},
	} {
		if _, err := Read(strings.NewReader(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
}

// A list may contain itself, and all entries may share what is large.
func TestReadBoundsWhatIsShared(t *testing.T) {
	var b strings.Builder
	b.WriteString("\x80\x02}(X\x07\x00\x00\x00versionX\x03\x00\x00\x002.4X\x07\x00\x00\x00entries](}(")
	name := strings.Repeat("n", 1<<20)
	fmt.Fprintf(&b, "X\x0e\x00\x00\x00profiling_nameX\x00\x00\x10\x00%s", name)
	b.WriteString("X\x06\x00\x00\x00frames]q\x01(" + strings.Repeat("h\x01", 100_000) + "e")
	b.WriteString("uq\x00" + strings.Repeat("h\x00", mostEntries) + "eu.")
	got, err := Read(strings.NewReader(b.String()))
	if err != nil || len(got) != mostEntries {
		t.Fatalf("%d entries, error %v", len(got), err)
	}
	if c := got[0]; len(c.Python) != mostFrames || len(c.Operation) != mostLetters {
		t.Errorf("%d frames, a name of %d bytes", len(c.Python), len(c.Operation))
	}
}

func TestNames(t *testing.T) {
	for name, want := range map[string]string{
		"nccl:all_reduce": "ALLREDUCE", "gloo:_all_gather_base": "ALLGATHER", "nccl:_reduce_scatter_base": "REDUCE_SCATTER",
		"nccl:all_reduce_barrier": "BARRIER", "nccl:recv 3<-0": "RECV 3<-0", "nccl:_new_thing": "NEW_THING", "": "",
	} {
		if got := operation(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	for text, want := range map[string]int{"[0, 1]": 2, "[]": 0, "0, 1": 0, "[-1]": 0, "": 0} {
		if got := parseRanks(text); len(got) != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("\x80\x02}(X\x07\x00\x00\x00versionq\x00X\x03\x00\x00\x002.4q\x01X\x07\x00\x00\x00entriesq\x02](}eu."))
	f.Add([]byte("\x80\x02}]q\x00h\x00a\x94(K\x01M\x01\x02J\x01\x02\x03\x04\x8a\x01\x05\x88\x89G12345678e\x85\x86ld."))
	f.Add([]byte(`{"version":"2.4","pg_config":{"0":{"ranks":"[0]"}},"entries":[{"process_group":["0"],"frames":[{}]}]}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		all, _ := Read(bytes.NewReader(in))
		for _, c := range all {
			if len(c.Python) > mostFrames || len(c.Sizes) > mostTensors {
				t.Errorf("%d frames, %d sizes", len(c.Python), len(c.Sizes))
			}
		}
	})
}
