package hosting

import (
	"fmt"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// clients makes clients on demand: a process whose webhooks judge by the request alone
// needs no access to the API server.
type clients struct {
	process    string
	kubeconfig string
}

// config is for one controller or webhook. It does not throttle: the API server's
// priority and fairness knows better, and an informer that waits in line makes every
// webhook late.
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
