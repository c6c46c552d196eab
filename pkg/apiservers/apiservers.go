// Package apiservers finds the API servers of a cluster, each at its own address.
package apiservers

import (
	"net"
	"strconv"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
)

const (
	// Service is the Service in namespace default whose endpoints are the API servers.
	Service = "kubernetes"
	// serverName is in the certificate of each API server.
	serverName = "kubernetes.default.svc"
)

// Selector selects the EndpointSlices of Service.
func Selector() string {
	return labels.Set{discoveryv1.LabelServiceName: Service}.String()
}

// Configs returns a configuration for each API server that the EndpointSlices of Service list, by its address. It has the
// identity of another configuration.
func Configs(of *rest.Config, slices []discoveryv1.EndpointSlice) map[string]*rest.Config {
	all := map[string]*rest.Config{}
	for _, slice := range slices {
		for _, port := range slice.Ports {
			for _, endpoint := range slice.Endpoints {
				if port.Port == nil || len(endpoint.Addresses) == 0 {
					continue
				}
				address := net.JoinHostPort(endpoint.Addresses[0], strconv.Itoa(int(*port.Port)))
				config := rest.CopyConfig(of)
				config.Host, config.ServerName = "https://"+address, serverName
				all[address] = config
			}
		}
	}
	return all
}
