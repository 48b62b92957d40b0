package torchrun

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

// Lookup finds the value of a flag that is not on the command line, and says
// where it is from. The value is empty when there is none.
type Lookup func(flag string) (text, source string)

// Variable is the environment variable by which torchrun takes a flag:
// PET_NPROC_PER_NODE for nproc-per-node.
func Variable(flag string) string {
	return "PET_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// Take sets what the line says, and from lookup what it does not say. The line's
// settings of flags that are not torchrun's it leaves to the caller.
func (o *Options) Take(line Line, lookup Lookup) error {
	for _, s := range line.Settings {
		if o.flags.Lookup(s.Flag.Name) != s.Flag {
			continue
		}
		if err := o.set(s.Flag, s.Value, "--"+s.Flag.Name); err != nil {
			return err
		}
	}
	var failed error
	o.flags.VisitAll(func(f *pflag.Flag) {
		if f.Changed || failed != nil {
			return
		}
		if text, source := lookup(f.Name); text != "" {
			failed = o.set(f, text, source)
		}
	})
	if failed != nil {
		return failed
	}
	o.Words, o.Dashed = line.Words, line.Dashed
	return o.complete()
}

func (o *Options) set(f *pflag.Flag, text, source string) error {
	if err := f.Value.Set(text); err != nil {
		return fmt.Errorf("%s: %w", source, err)
	}
	o.sources[f.Name], f.Changed = source, true
	return nil
}

// complete refuses what excludes each other.
func (o *Options) complete() error {
	switch {
	case len(o.Words) == 0:
		return errors.New("nothing to run: give a script, module or command")
	case o.Module && o.NoPython && !o.RunPath:
		return errors.New("--module and --no-python exclude each other: a module runs with Python")
	}
	if o.Standalone {
		// What --standalone overrides.
		o.NNodes, o.NodeRank = NodeRange{1, 1}, 0
		o.RdzvBackend, o.RdzvEndpoint, o.RdzvID = "c10d", Endpoint{Host: "localhost", HasPort: true}, ""
	}
	if o.static() && o.NodeRank >= o.NNodes.Max {
		return fmt.Errorf("%s: node %d does not exist: --nnodes is %d, and nodes count from 0", o.Source("node-rank"),
			o.NodeRank, o.NNodes.Max)
	}
	return nil
}

func (o *Options) static() bool { return o.RdzvBackend == "static" }

// Several reports whether the job may have more than one machine.
func (o *Options) Several() bool { return o.NNodes.Max > 1 }

// defaultPort is what torchrun takes for a static endpoint without a port.
const defaultPort = 29500

// Master is where the workers of a job on one machine meet, for MASTER_ADDR and
// MASTER_PORT. Port 0 is any free port: no other machine needs to know it.
func (o *Options) Master() (addr string, port int) {
	const loopback = "127.0.0.1"
	switch {
	case !o.static():
		return cmp.Or(o.LocalAddr, loopback), 0
	case o.RdzvEndpoint.HasPort:
		return cmp.Or(o.RdzvEndpoint.Host, loopback), o.RdzvEndpoint.Port
	case o.RdzvEndpoint.Host != "":
		return o.RdzvEndpoint.Host, defaultPort
	case o.Source("master-port") != "":
		return cmp.Or(o.MasterAddr, loopback), o.MasterPort
	}
	return cmp.Or(o.MasterAddr, loopback), 0
}

// Unused lists the flags that are set and have no effect, one sentence each.
func (o *Options) Unused() []string {
	var notes []string
	note := func(flag, why string) {
		if source := o.Source(flag); source != "" {
			notes = append(notes, source+" has no effect: "+why)
		}
	}
	note("monitor-interval", "the end of a worker is noticed at once, without polling")
	note("start-method", "workers are programs of their own, started by fork and exec")
	note("event-log-handler", "there are no event logs")
	note("logs-specs", "it names the default")
	if o.RunPath {
		notes = append(notes, "--run-path: the script runs with an interpreter of its own")
	}
	return append(notes, o.overruled()...)
}

// overruled lists the rendezvous flags that other flags override.
func (o *Options) overruled() []string {
	var notes []string
	note := func(why string, flags ...string) {
		for _, flag := range flags {
			if source := o.Source(flag); source != "" {
				notes = append(notes, source+" has no effect: "+why)
			}
		}
	}
	alone, at := !o.Several(), o.RdzvEndpoint
	if o.Standalone {
		note("--standalone overrides it", "nnodes", "rdzv-backend", "rdzv-id")
	}
	if alone {
		note("a single machine needs no rendezvous", "rdzv-conf")
	}
	if alone && !o.static() {
		note("a single machine needs no rendezvous", "rdzv-endpoint")
	}
	switch addr, port := at.Host != "", at.HasPort; {
	case !o.static():
		note("it applies to --rdzv-backend static", "node-rank", "master-addr", "master-port")
	case addr && port, alone && (addr || port):
		note("--rdzv-endpoint overrides it", "master-addr", "master-port")
	case addr:
		note("--rdzv-endpoint overrides it", "master-addr")
	case port:
		note("--rdzv-endpoint overrides it", "master-port")
	}
	return notes
}
