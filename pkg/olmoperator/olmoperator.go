// Package olmoperator does what catalogs, consoles and users expect of olm-operator in addition to the installation of
// operators. Each of its subpackages writes one kind of object.
package olmoperator

import (
	"context"

	"k8s.io/apimachinery/pkg/util/wait"
)

// Controller writes one kind of object.
type Controller interface {
	// Fill starts the controller's own caches and waits until they are filled. A standby fills them, too.
	Fill(ctx context.Context) error
	// Run reconciles until the context ends.
	Run(ctx context.Context)
}

// Controllers are run by the same leader.
type Controllers []Controller

// Fill fills the caches of each controller.
func (c Controllers) Fill(ctx context.Context) error {
	for _, controller := range c {
		if err := controller.Fill(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Run runs each controller until the context ends.
func (c Controllers) Run(ctx context.Context) {
	var running wait.Group
	for _, controller := range c {
		running.StartWithContext(ctx, controller.Run)
	}
	running.Wait()
}
