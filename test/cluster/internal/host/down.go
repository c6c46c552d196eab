package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// TakeDown ends the cluster and leaves nothing of it. It is no error if there is none.
func TakeDown(ctx context.Context, run string, out io.Writer) error {
	if !remains(run) {
		fmt.Fprintln(out, "No cluster is up.")
		return nil
	}
	if err := lacksPrivilege(thisMachine()); err != nil {
		return err
	}
	unlock, err := lock(run)
	if err != nil {
		return err
	}
	defer unlock()
	s := steps{out: out, start: time.Now()}
	if err := takeDown(ctx, run); err != nil {
		return err
	}
	s.say("the cluster is down")
	return nil
}

// takeDown runs all its steps, also when one fails, so that it removes what it can.
func takeDown(ctx context.Context, run string) error {
	var errs []error
	if pid := findNode(run); pid != 0 {
		errs = append(errs, endNode(pid))
	}
	return errors.Join(append(errs, removeLink(ctx), removeCgroups(), os.RemoveAll(run))...)
}
