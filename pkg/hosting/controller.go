package hosting

import (
	"context"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Controller runs until ctx ends, and then returns. Where there is leader election it
// runs in one process at a time. An error ends the process, so that whoever looks after
// the process starts it anew; a controller that returns nil early is done.
type Controller func(ctx context.Context, env Environment) error

// Environment is what a controller or a webhook's Prepare has to work with.
type Environment struct {
	// Name is the one by which the controller or webhook is registered.
	Name string
	// Config is for making clients. Its user agent tells the controllers and webhooks of
	// one process apart.
	Config *rest.Config
	// Client is made from Config.
	Client kubernetes.Interface
}
