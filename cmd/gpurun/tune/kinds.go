package tune

import (
	"slices"

	"github.com/spf13/pflag"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/flags"
	"gpurun/cmd/gpurun/plan"
	"gpurun/cmd/gpurun/settings"
	"gpurun/configs"
	"gpurun/kernels/collective"
)

// Flags of collectives that take a list here.
const (
	epilogueFlag = "epilogue"
	hiddenFlag   = "hidden"
)

// kind is what calls of a collective may differ in beside their size.
type kind struct {
	epilogue string // a word of --epilogue
	hidden   int64  // elements of the epilogue's rows; 0: it has none
	file     string // the path of a kernel file that is measured beside gpurun's algorithms; empty: none
	op       string // of the kernel file; empty: the usual one
}

// plain is the kind of calls without epilogue.
func plain() kind { return kind{epilogue: settings.None} }

// kindsAsked lists the kinds that flags ask for. What a configuration says about usual
// runs does not count.
func kindsAsked(f *pflag.FlagSet) ([]kind, error) {
	s, err := settings.Load(f, configs.Tune)
	if err != nil {
		return nil, err
	}
	c, err := settings.Read(s)
	if err != nil {
		return nil, err
	}
	if !f.Changed(epilogueFlag) && !f.Changed(hiddenFlag) {
		return []kind{plain()}, nil
	}
	var kinds []kind
	add := func(k kind) {
		if !slices.Contains(kinds, k) {
			kinds = append(kinds, k)
		}
	}
	for _, word := range c.Epilogue {
		if e, _ := collective.ParseEpilogue(word); !e.ByRow() {
			add(kind{epilogue: word})
			continue
		}
		for _, n := range c.Hidden {
			add(kind{epilogue: word, hidden: n})
		}
	}
	return kinds, nil
}

// kindsOf lists those of the kinds that a collective has. Where it has no epilogues, its
// plain calls must be among them.
func kindsOf(what *collective.Collective, asked []kind) ([]kind, error) {
	switch why := flags.Inapplicable(what, epilogueFlag); {
	case why == "":
		return asked, nil
	case slices.Contains(asked, plain()):
		return []kind{plain()}, nil
	default:
		return nil, exit.Usagef("%s; name collectives that have epilogues, or add none to --epilogue to measure "+
			"plain calls too", why)
	}
}

// planOptions is PlanOptions for calls of that kind.
func (k kind) planOptions() plan.Options {
	o := PlanOptions()
	o.Override = func(c *settings.Config) {
		override(c)
		c.Epilogue = []string{k.epilogue}
		if k.hidden > 0 {
			c.Hidden = settings.Numbers{k.hidden}
		}
		if k.file != "" {
			c.Algo = append(c.Algo, k.file)
		}
		if k.op != "" {
			c.Op = []string{k.op}
		}
	}
	return o
}
