package torchrun

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/spf13/pflag"
)

// others are flags of a launcher that torchrun does not have.
func others() *pflag.FlagSet {
	f := pflag.NewFlagSet("others", pflag.ContinueOnError)
	f.SetNormalizeFunc(dashes)
	f.String("grace", "", "")
	f.String("log-level", "", "")
	f.BoolP("quiet", "q", false, "")
	return f
}

// take reads a command line with these variables.
func take(args []string, env map[string]string) (*Options, Line, error) {
	o := New()
	line, err := o.Split(args, others())
	if err == nil {
		err = o.Take(line, func(flag string) (string, string) { return env[Variable(flag)], Variable(flag) })
	}
	return o, line, err
}

// plain are the options without what is not compared.
var plain = cmp.Options{cmpopts.IgnoreUnexported(Options{}), cmp.AllowUnexported(Streams{})}

func TestTake(t *testing.T) {
	tests := map[string]struct {
		args string
		env  map[string]string
		want func(*Options)
	}{
		"nothing": {args: "train.py", want: func(*Options) {}},
		"values behind = or as words": {
			args: "--nnodes=1:2 --nproc-per-node 4 --rdzv-id=job train.py --lr 0.1",
			want: func(o *Options) {
				o.NNodes, o.NProcPerNode, o.RdzvID = NodeRange{1, 2}, Processes{Number: 4}, "job"
				o.Words = []string{"train.py", "--lr", "0.1"}
			},
		},
		"underscores": {
			args: "--nproc_per_node=2 --rdzv_endpoint=[::1]:29400 --no_python --rdzv-backend c10d x",
			want: func(o *Options) {
				o.NProcPerNode, o.RdzvEndpoint, o.NoPython, o.RdzvBackend = Processes{Number: 2}, Endpoint{"::1", 29400, true},
					true, "c10d"
				o.Words = []string{"x"}
			},
		},
		"beginnings": {
			args: "--redirect=3 --nproc auto --rdzv_back=c10d --max 2 --log-d d x",
			want: func(o *Options) {
				o.Redirects, o.NProcPerNode, o.RdzvBackend, o.MaxRestarts, o.LogDir = Streams{all: 3}, Processes{Word: "auto"},
					"c10d", 2, "d"
				o.Words = []string{"x"}
			},
		},
		"a beginning of torchrun's and of others": {
			args: "--log-=d train.py",
			want: func(o *Options) { o.LogDir = "d" },
		},
		"short": {
			args: "-r3 -t 0:1,2:3 -m pkg.train -m",
			want: func(o *Options) {
				o.Redirects, o.Tee, o.Module = Streams{all: 3}, Streams{byRank: map[int]int{0: 1, 2: 3}}, true
				o.Words = []string{"pkg.train", "-m"}
			},
		},
		"short ones in one word": {
			args: "-mr=1 x",
			want: func(o *Options) { o.Module, o.Redirects, o.Words = true, Streams{all: 1}, []string{"x"} },
		},
		"dashes": {
			args: "--standalone -- prog --nnodes 9",
			want: func(o *Options) {
				o.Standalone, o.RdzvBackend, o.RdzvEndpoint = true, "c10d", Endpoint{"localhost", 0, true}
				o.Words, o.Dashed = []string{"prog", "--nnodes", "9"}, true
			},
		},
		"standalone overrides": {
			args: "--standalone --nnodes 4 --node-rank 3 --rdzv-id x --rdzv-endpoint h:1 train.py",
			want: func(o *Options) {
				o.Standalone, o.RdzvBackend, o.RdzvEndpoint = true, "c10d", Endpoint{"localhost", 0, true}
			},
		},
		"variables": {
			args: "--nproc-per-node 3 train.py",
			env: map[string]string{
				"PET_NNODES": "1", "PET_NPROC_PER_NODE": "2", "PET_STANDALONE": "0", "PET_NO_PYTHON": "1", "PET_REDIRECTS": "1:3",
			},
			want: func(o *Options) {
				o.NProcPerNode, o.NoPython, o.Redirects = Processes{Number: 3}, true, Streams{byRank: map[int]int{1: 3}}
			},
		},
		"quoted conf": {
			args: "--rdzv-conf 'join_timeout=60,is_host=1' train.py",
			want: func(o *Options) { o.RdzvConf = map[string]string{"join_timeout": "60", "is_host": "1"} },
		},
		"filters": {
			args: "--duplicate-stdout-filters=loss,,acc,step --local-ranks-filter 0,2 train.py",
			want: func(o *Options) {
				o.DuplicateStdoutFilters, o.LocalRanksFilter = []string{"loss,acc", "step"}, Ranks{0, 2}
			},
		},
		"signals": {
			args: "--signals-to-handle SIGTERM,SIGUSR1 --virtual-local-rank --grace 3 train.py",
			want: func(o *Options) { o.SignalsToHandle, o.VirtualRank = Signals{syscall.SIGTERM, syscall.SIGUSR1}, true },
		},
		"module and run-path": {
			args: "-m --no-python --run-path train.py",
			want: func(o *Options) { o.Module, o.NoPython, o.RunPath = true, true, true },
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, _, err := take(strings.Fields(test.args), test.env)
			if err != nil {
				t.Fatal(err)
			}
			want := New()
			want.Words = []string{"train.py"}
			test.want(want)
			if diff := cmp.Diff(want, got, plain); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTakeRefuses(t *testing.T) {
	tests := map[string]string{
		"":                                   "nothing to run: give a script",
		"--standalone":                       "nothing to run: give a script",
		"--nnodes":                           "--nnodes needs a value",
		"--nnodes --standalone x":            "--nnodes needs a value",
		"--nnodes 0 x":                       `--nnodes: "0" is neither`,
		"--nnodes 2:1 x":                     `--nnodes: "2:1" is neither`,
		"--nnodes 1:2:3 x":                   `--nnodes: "1:2:3" is neither`,
		"--nproc-per-node 0 x":               `"0" is not a number of processes`,
		"--nproc-per-node many x":            `"many" is not a number of processes`,
		"--max-restarts -1 x":                `--max-restarts: "-1" is not a whole number`,
		"--monitor-interval nan x":           "not a number of seconds",
		"--rdzv-backend zookeeper x":         `unknown value "zookeeper" (valid: static, c10d`,
		"--rdzv-endpoint h:65536 x":          "not a port",
		"--rdzv-endpoint h:1:2 x":            "not a host with a port",
		"--rdzv-conf a x":                    `"a" is not of the form key=value`,
		"--master-port 70000 x":              "not a port",
		"--node-rank 1 x":                    "--node-rank: node 1 does not exist",
		"--start-method thread x":            `unknown value "thread"`,
		"--logs-specs mine x":                `unknown value "mine" (valid: default`,
		"--numa-binding near x":              `unknown value "near"`,
		"--signals-to-handle SIGKILL x":      `unknown signal "SIGKILL"`,
		"--signals-to-handle SIGTERM,USR1 x": `unknown signal "USR1"`,
		"--standalone=maybe x":               `--standalone: "maybe" is neither 1 nor 0`,
		"-r 4 x":                             `--redirects: "4" is neither`,
		"-t 0:4 x":                           `--tee: "0:4" is neither`,
		"-t 0:1,:2 x":                        "is neither",
		"--local-ranks-filter 0,x x":         `"x" is not a whole number`,
		"-m --no-python x":                   "exclude each other",
		"--rdzv x y": "--rdzv is ambiguous: --rdzv-backend, --rdzv-conf, " +
			"--rdzv-endpoint and --rdzv-id",
		"--no 1 x":                            "--no is ambiguous: --no-python and --node-rank",
		"--nothing x":                         "unknown flag --nothing",
		"-x y":                                "unknown flag -x",
		"--=1 x":                              "unknown flag --",
		"--duplicate-stdout-filters -r 3 x y": "--duplicate-stdout-filters needs a value",
		"--grac":                              "--grace needs a value",
	}
	for args, want := range tests {
		_, _, err := take(strings.Fields(args), nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", args, err, want)
		}
	}
	_, _, err := take([]string{"x"}, map[string]string{"PET_NNODES": "no"})
	if err == nil || !strings.HasPrefix(err.Error(), "PET_NNODES: ") {
		t.Errorf("a variable: %v", err)
	}
	var unknown *UnknownFlagError
	if _, _, err := take([]string{"--nothing"}, nil); !errors.As(err, &unknown) || unknown.Flag != "--nothing" {
		t.Errorf("an unknown flag: %v", err)
	}
}

func TestOthersFlagsAreLeftToTheCaller(t *testing.T) {
	_, line, err := take([]string{"--log-l", "debug", "-q", "--grace=3", "x"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range line.Settings {
		got = append(got, s.Flag.Name+"="+s.Value)
	}
	if diff := cmp.Diff([]string{"log-level=debug", "quiet=true", "grace=3"}, got); diff != "" {
		t.Error(diff)
	}
	if !line.Has("quiet") || line.Has("standalone") {
		t.Error("Has is wrong")
	}
}

func TestMaster(t *testing.T) {
	tests := map[string]string{
		"x":                              "127.0.0.1:0",
		"--standalone --master-port 5 x": "127.0.0.1:0",
		"--rdzv-backend c10d x":          "127.0.0.1:0",
		"--rdzv-backend c10d --rdzv-endpoint localhost:29400 --local-addr 10.0.0.1 x": "10.0.0.1:0",
		"--master-port 29500 x":                    "127.0.0.1:29500",
		"--master-addr host --master-port 1 x":     "host:1",
		"--master-addr host x":                     "host:0",
		"--rdzv-endpoint host x":                   "host:29500",
		"--rdzv-endpoint host:0 x":                 "host:0",
		"--rdzv-endpoint host:7 --master-port 8 x": "host:7",
	}
	for args, want := range tests {
		o, _, err := take(strings.Fields(args), nil)
		if err != nil {
			t.Fatal(err)
		}
		addr, port := o.Master()
		if got := fmt.Sprintf("%s:%d", addr, port); got != want {
			t.Errorf("%q: %s, want %s", args, got, want)
		}
	}
}

func TestUnusedIsSaid(t *testing.T) {
	tests := map[string][]string{
		"--monitor-interval 5 --start-method fork --event-log-handler file --logs-specs default --run-path x": {
			"--monitor-interval", "--start-method", "--event-log-handler", "--logs-specs", "--run-path:",
		},
		"--rdzv-backend c10d --rdzv-endpoint localhost:0 --rdzv-conf a=1 --node-rank 3 --master-addr h --master-port 1 x": {
			"--rdzv-conf", "--rdzv-endpoint", "--node-rank", "--master-addr", "--master-port",
		},
		"--standalone --nnodes 2 --rdzv-id i --rdzv-backend static x": {
			"--nnodes", "--rdzv-backend", "--rdzv-id",
		},
		"--nnodes 2 --rdzv-backend c10d --rdzv-endpoint h --node-rank 3 --master-addr h --master-port 1 x": {
			"--node-rank", "--master-addr", "--master-port",
		},
		"--nnodes 2 --rdzv-backend etcd --rdzv-endpoint h --rdzv-conf read_timeout=1 --master-port 1 x": {
			"--master-port",
		},
		"--nnodes 2 --rdzv-endpoint h:1 --rdzv-conf read_timeout=1 --node-rank 1 --master-addr h --master-port 1 x": {
			"--master-addr", "--master-port",
		},
		"--nnodes 2 --rdzv-endpoint h --master-addr h --master-port 1 x":  {"--master-addr"},
		"--nnodes 2 --rdzv-endpoint :1 --master-addr h --master-port 1 x": {"--master-port"},
		"--nnodes 2 --master-addr h --master-port 1 --node-rank 1 x":      nil,
		"--rdzv-endpoint h --master-port 1 x":                             {"--master-port"},
		"--master-addr h --master-port 1 x":                               nil,
	}
	for args, want := range tests {
		o, _, err := take(strings.Fields(args), nil)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, note := range o.Unused() {
			flag, _, _ := strings.Cut(note, " ")
			got = append(got, flag)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", args, diff)
		}
	}
	o, _, err := take([]string{"--nproc-per-node=2", "x"}, map[string]string{"PET_MONITOR_INTERVAL": "1"})
	if notes := o.Unused(); err != nil || len(notes) != 1 ||
		!strings.HasPrefix(notes[0], "PET_MONITOR_INTERVAL has no effect") {
		t.Errorf("notes: %q, %v", notes, err)
	}
}

func TestDefaultsCanBeRead(t *testing.T) {
	New().Flags().VisitAll(func(f *pflag.Flag) {
		if err := f.Value.Set(f.DefValue); err != nil {
			t.Errorf("--%s: %v", f.Name, err)
		}
		if f.Changed || f.Usage == "" {
			t.Errorf("--%s: %+v", f.Name, f)
		}
	})
}

func TestStreams(t *testing.T) {
	both, err := parseStreams("0:1,2:3")
	if err != nil || !both.Any() {
		t.Fatal(both, err)
	}
	want := [][2]bool{{true, false}, {false, false}, {true, true}}
	for rank := range want {
		if out, errOut := both.Of(rank); out != want[rank][0] || errOut != want[rank][1] {
			t.Errorf("rank %d: %v, %v", rank, out, errOut)
		}
	}
	none, err := parseStreams("0:0")
	if err != nil || none.Any() {
		t.Error(none, err)
	}
}

func TestNamed(t *testing.T) {
	for program, want := range map[string]bool{
		"torchrun": true, "/usr/bin/torchrun": true, "gpurun": false, "torchrun/gpurun": false, "torchrun2": false,
	} {
		if Named(program) != want {
			t.Errorf("%s: %v", program, !want)
		}
	}
}

func FuzzSplit(f *testing.F) {
	f.Add("--nnodes=1:2 -r3 --no_python x --nnodes 3")
	f.Add("-mt 0:1 -- -x")
	f.Add("--rdzv-conf '\"a=b,c\"' --=")
	f.Fuzz(func(t *testing.T, text string) {
		args := strings.Fields(text)
		o := New()
		line, err := o.Split(args, others())
		if err != nil {
			return
		}
		if n := len(args) - len(line.Words); n < 0 || !slices.Equal(args[n:], line.Words) {
			t.Fatalf("%q: the words are %q", args, line.Words)
		}
		// An error is fine, a panic is not.
		if err := o.Take(line, func(string) (string, string) { return "", "" }); err == nil && len(o.Words) == 0 {
			t.Fatalf("%q: nothing to run", args)
		}
	})
}
