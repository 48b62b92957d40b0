package outcome

import (
	"context"

	"github.com/spf13/pflag"

	"gpurun/cmd/gpurun/program"
)

// Perform plans work in the agent, which returns all errors that can be found beforehand, and then does the work. CI
// systems get the outcome under the title.
func Perform[Plan any](ctx context.Context, a *program.Invocation, f *pflag.FlagSet, title string,
	plan func() (Plan, error), do func(context.Context, *program.Invocation, Plan) error,
) error {
	return Annotated(a, title, a.Guarded(func() error {
		p, err := plan()
		if err != nil {
			return Unable(a, title, f, err)
		}
		return do(ctx, a, p)
	}))
}
