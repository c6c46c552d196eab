package hosting

import (
	"context"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Controller runs until ctx ends, and then returns. With leader election, it runs in one process at a
// time. An error ends the process, so that the kubelet restarts it. A controller that returns nil
// early has finished.
type Controller func(ctx context.Context, env Environment) error

// Environment has the clients of a controller or of a webhook's Prepare.
type Environment struct {
	// Name is the name of the controller or webhook.
	Name string
	// Config is for creating clients. Its user agent contains the name.
	Config *rest.Config
	// Client is a client of Config.
	Client kubernetes.Interface
}
