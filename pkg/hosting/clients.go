package hosting

import (
	"fmt"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

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
