package hosting

import (
	"context"
	"fmt"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
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

// clients creates clients on demand: webhooks that need only the request need no access to the API server.
type clients struct {
	process    string
	kubeconfig string
}

// config has no rate limit: API servers limit fairly, and a delayed informer would delay every webhook.
func (c clients) config(name string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = c.kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("%s needs the API server: %w", name, err)
	}
	config.UserAgent = c.process + "/" + name
	config.QPS = -1
	return config, nil
}

func (c clients) environment(name string) (Environment, error) {
	config, err := c.config(name)
	if err != nil {
		return Environment{}, err
	}
	client, err := kubernetes.NewForConfig(config)
	return Environment{Name: name, Config: config, Client: client}, err
}
