package apiservers

import (
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/client-go/rest"
)

// serverName is in the certificate of each API server.
const serverName = "kubernetes.default.svc"

// Configs returns a configuration for each API server that the EndpointSlices of Service list, by its address. It has the
// identity of another configuration.
func Configs(of *rest.Config, slices []discoveryv1.EndpointSlice) map[string]*rest.Config {
	all := map[string]*rest.Config{}
	for _, address := range addresses(slices) {
		config := rest.CopyConfig(of)
		config.Host, config.ServerName = "https://"+address, serverName
		all[address] = config
	}
	return all
}
