package settings

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/flags/flagtest"
)

// iters has every source, and each is taken away in turn.
func TestWhichSourceWins(t *testing.T) {
	file := write(t, "iters = 3")
	for _, c := range []struct {
		flag, variable, file bool
		given, source        string
	}{
		{true, true, true, "1", "--iters"},
		{false, true, true, "2", "GPURUN_ITERS"},
		{false, false, true, "3", "config file " + file + ": iters"},
		{false, false, false, "4", "SLURM_ITERS"},
	} {
		var words []string
		if c.flag {
			words = append(words, "-n", "1")
		}
		if c.file {
			words = append(words, "--config", file)
		}
		t.Setenv("GPURUN_ITERS", map[bool]string{true: "2"}[c.variable])
		s, err := Load(flagtest.Collective(t, "allreduce", words...))
		if err != nil {
			t.Fatal(err)
		}
		s.FallBack(map[string]Fallback{"iters": {Text: "4", Source: "SLURM_ITERS"}})
		if got := s.Given("iters"); got != c.given || s.Source("iters") != c.source || s.Flagged("iters") != c.flag {
			t.Errorf("%+v: %s by %s", c, got, s.Source("iters"))
		}
		err = s.Invalid("iters", errors.New("bad"))
		if exit.Code(err) != exit.Usage || err.Error() != c.source+": bad" {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// Nobody gave what a profile says, and the last profile wins.
func TestProfiles(t *testing.T) {
	s, err := Load(flagtest.Collective(t, "allreduce"), []byte("iters = 5\nseed = 5"), []byte("iters = 6"))
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Iters int
		Seed  uint64
	}
	if err := s.DecodeOnly(&got, "iters", "seed"); err != nil || got.Iters != 6 || got.Seed != 5 {
		t.Errorf("%+v, %v", got, err)
	}
	if s.Given("iters") != "" || s.Source("iters") != "" {
		t.Errorf("%q by %q", s.Given("iters"), s.Source("iters"))
	}
	if err := s.Invalid("iters", errors.New("bad")); err.Error() != "iters: bad" {
		t.Error(err)
	}
}

// A value that has not the form of its field is blamed, and no other.
func TestDecodeOnly(t *testing.T) {
	file := write(t, "iters = \"many\"\nseed = 7")
	s, err := Load(flagtest.Collective(t, "allreduce", "--config", file))
	if err != nil {
		t.Fatal(err)
	}
	var seed struct{ Seed uint64 }
	if err := s.DecodeOnly(&seed, "seed"); err != nil || seed.Seed != 7 {
		t.Errorf("%+v, %v", seed, err)
	}
	var iters struct {
		Iters int `mapstructure:"iters"`
	}
	want := "config file " + file + ": iters: "
	if err := s.DecodeOnly(&iters, "iters"); exit.Code(err) != exit.Usage || len(err.Error()) <= len(want) ||
		err.Error()[:len(want)] != want {
		t.Errorf("error %v", err)
	}
}

// What could be taken for a number, and is none, is no number: least of all 0, which turns
// verification off.
func TestNumbersAreWritten(t *testing.T) {
	for text, why := range map[string]string{
		`check = ""`: "the value is empty", `check = " "`: "the value is empty", "check = 0.9": "not a whole number",
		"check = true": "not a number",
		"check = 1.0":  "",
	} {
		s, err := Load(flagtest.Collective(t, "allreduce", "--config", write(t, text)))
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Check int `mapstructure:"check"`
		}
		switch err := s.DecodeOnly(&got, "check"); {
		case why == "" && (err != nil || got.Check != 1):
			t.Errorf("%s: %d, %v", text, got.Check, err)
		case why != "" && (exit.Code(err) != exit.Usage || !strings.Contains(err.Error(), why)):
			t.Errorf("%s: error %v, want %s", text, err, why)
		}
	}
}

// Of a flag of torchrun's, gpurun's variable wins over torchrun's, that over the file, and the
// file over a fallback.
func TestLookup(t *testing.T) {
	file := write(t, "nnodes = 3")
	for _, c := range []struct{ own, torchrun, config, text, source string }{
		{"1", "2", file, "1", "GPURUN_NNODES"},
		{"", "2", file, "2", "PET_NNODES"},
		{"", "", file, "3", "config file " + file + ": nnodes"},
		{"", "", "", "4", "SLURM_NNODES"},
	} {
		t.Setenv("GPURUN_NNODES", c.own)
		t.Setenv("PET_NNODES", c.torchrun)
		t.Setenv("GPURUN_CONFIG", c.config)
		s, err := Load(flagtest.Collective(t, "allreduce"))
		if err != nil {
			t.Fatal(err)
		}
		s.FallBack(map[string]Fallback{"nnodes": {Text: "4", Source: "SLURM_NNODES"}})
		if text, source := s.Lookup("nnodes"); text != c.text || source != c.source {
			t.Errorf("%+v: %s by %s", c, text, source)
		}
	}
}

// TestNameSource: NameSource adds the source of the setting to an error of InvalidKey, and to no other error.
func TestNameSource(t *testing.T) {
	t.Setenv("GPURUN_SYMM", "vmm")
	s, err := Load(flagtest.Collective(t, "allreduce"))
	if err != nil {
		t.Fatal(err)
	}
	other := errors.New("other")
	var got []string
	for _, err := range []error{
		InvalidKey("symm", "not on a %s", "Monday"), s.NameSource(InvalidKey("symm", "not on a %s", "Monday")),
		s.NameSource(other),
	} {
		got = append(got, err.Error())
	}
	if diff := cmp.Diff([]string{"--symm: not on a Monday", "GPURUN_SYMM: not on a Monday", "other"}, got); diff != "" {
		t.Error(diff)
	}
	if s.NameSource(nil) != nil {
		t.Error("nothing is blamed")
	}
}

// What is no file of settings is a slip of the user's.
func TestFileIsRefused(t *testing.T) {
	folder := t.TempDir()
	for _, file := range []string{
		folder + "/missing.toml", folder, write(t, "nonsense"), write(t, "itres = 3"), "/dev/zero",
	} {
		_, err := Load(flagtest.Collective(t, "allreduce", "--config", file))
		if exit.Code(err) != exit.Usage {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// Each key is there once, in one document.
func TestOneDocument(t *testing.T) {
	for text, ok := range map[string]bool{
		"json {\"iters\": 1, \"seed\": 2}":                   true,
		"json {\n\t\"iters\":\t1,\n\t\"seed\": 2\n}\n":       true,
		"json {\"iters\": 1, \"iters\": 2}":                  false,
		"json {\"datatype\": \"f\\u006coat\", \"seed\"\n:2}": true,
		"json {\"iters\": 1, \"Iters\": 2}":                  false,
		"yaml iters: 1\nseed: 2\n":                           true,
		"yaml ---\niters: 1\n...\n":                          true,
		"yaml iters: 1\niters: 2\n":                          false,
		"yaml iters: 1\n---\nseed: 2\n":                      false,
		"yaml ":                                              true,
	} {
		extension, text, _ := strings.Cut(text, " ")
		file := filepath.Join(t.TempDir(), "config."+extension)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Load(flagtest.Collective(t, "allreduce", "--config", file))
		if ok != (err == nil) || !ok && exit.Code(err) != exit.Usage {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// What is not TOML is found by its line.
func TestLineIsNamed(t *testing.T) {
	file := write(t, "iters = 3\nseed = [\n")
	_, err := Load(flagtest.Collective(t, "allreduce", "--config", file))
	if want := "config file " + file + ":2: toml: "; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v does not begin with %s", err, want)
	}
}

// write makes a configuration file.
func write(t *testing.T, text string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
