package litmus

import (
	"fmt"
	"strings"
)

// mostStates is how many final states a result shows.
const mostStates = 16

// String is the result as lines: the verdict, the states and the races.
func (r *Result) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: ", r.Test.Name)
	verdict := "holds"
	if !r.Holds {
		verdict = "does not hold"
	}
	if r.Test.Condition != nil {
		fmt.Fprintf(&b, "%s %s; ", r.Test.Quantifier, verdict)
	}
	fmt.Fprintf(&b, "%d states, %d executions\n", len(r.States), r.Executions)
	for i := range r.States {
		if i == mostStates {
			fmt.Fprintf(&b, "    and %d more\n", len(r.States)-mostStates)
			break
		}
		mark := " "
		if &r.States[i] == r.Witness {
			mark = "*" // the state that decides the verdict
		}
		fmt.Fprintf(&b, "  %s %s\n", mark, r.States[i].Describe(r.Test))
	}
	for _, race := range r.Races {
		fmt.Fprintf(&b, "  race: %s %s (line %d), %s %s (line %d)\n", r.Test.Threads[race.Threads[0]].Name, race.First.Text,
			race.First.Line, r.Test.Threads[race.Threads[1]].Name, race.Second.Text, race.Second.Line)
	}
	if r.Bounded {
		b.WriteString("  loops were bounded: longer runs are left out\n")
	}
	if r.Deadlock {
		b.WriteString("  some executions wait at a barrier for ever\n")
	}
	return b.String()
}
