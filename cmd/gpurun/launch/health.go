package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"gpurun/worker/process/healthcheck"
)

// machineCheck is what --health-check says, or nil. Of several gpurun on a machine the first checks it.
func (p *command) machineCheck(stderr io.Writer) func(context.Context) error {
	name := p.config.HealthCheck
	if name == "" || p.task != nil && p.task.LocalRank > 0 {
		return nil
	}
	return func(ctx context.Context) error {
		check, err := newCheck(name, time.Duration(p.config.HealthCheckTimeout))
		if err != nil {
			return err
		}
		begun := time.Now()
		err = check.Run(ctx)
		if failure := new(healthcheck.Failure); errors.As(err, &failure) {
			failure.Show(stderr)
		}
		p.log.Debug("the health check has ended", zap.Duration("after", time.Since(begun)), zap.Error(err))
		return err
	}
}

// newCheck is a check by gpurun's own command of that name, or by a shell command.
func newCheck(name string, timeout time.Duration) (healthcheck.Check, error) {
	c := healthcheck.Check{Name: name, Timeout: timeout}
	if name != "doctor" && name != "smoke" {
		c.Path, c.Argv = "/bin/sh", []string{"sh", "-c", name}
		c.Env = slices.DeleteFunc(os.Environ(), isOfHealthCheck)
		return c, nil
	}
	var err error
	if c.Path, err = os.Executable(); err != nil {
		return c, fmt.Errorf("finding gpurun for the health check: %w", err)
	}
	// The name is gpurun's also where this process goes by torchrun, which takes every word for a script.
	c.Argv, c.Env = []string{"gpurun", "--require-gpu", name}, slices.DeleteFunc(os.Environ(), isOfJob)
	return c, nil
}

// isOfHealthCheck reports whether a variable, KEY=VALUE, would have a gpurun in the check check the machine again.
func isOfHealthCheck(variable string) bool { return strings.HasPrefix(variable, "GPURUN_HEALTH_CHECK") }

// isOfJob reports whether a variable, KEY=VALUE, is about the job's place among machines, or a setting of it. A check
// of this machine alone must not read it. Paths of libraries are settings of the machine.
func isOfJob(variable string) bool {
	key, _, _ := strings.Cut(variable, "=")
	return slices.ContainsFunc([]string{"PET_", "SLURM_", "GPURUN_"}, func(prefix string) bool {
		return strings.HasPrefix(key, prefix)
	}) && !strings.HasSuffix(key, "_LIB")
}
