package check

import "fmt"

// Strategy is a way to choose schedules.
type Strategy string

// The strategies.
const (
	// Random lets hosts, streams and warps take turns of random length in random order.
	Random Strategy = "random"
)

// DefaultStrategies are those of an exploration that names none.
var DefaultStrategies = []Strategy{Random}

// Strategies are all that there are.
var Strategies = []Strategy{Random}

// ParseStrategy finds a strategy by its name.
func ParseStrategy(name string) (Strategy, error) {
	for _, s := range Strategies {
		if string(s) == name {
			return s, nil
		}
	}
	return "", fmt.Errorf("%q is no strategy; choose from %v", name, Strategies)
}
