// Package apiservers finds the API servers of a cluster, and decides when all of them were asked. It is pure.
package apiservers

import (
	"net"
	"strconv"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Service is the Service in namespace default whose endpoints are the API servers.
const Service = "kubernetes"

// Selector selects the EndpointSlices of Service.
func Selector() string {
	return labels.Set{discoveryv1.LabelServiceName: Service}.String()
}

// addresses returns the addresses with ports.
func addresses(slices []discoveryv1.EndpointSlice) (all []string) {
	for _, slice := range slices {
		for _, port := range slice.Ports {
			for _, endpoint := range slice.Endpoints {
				if port.Port != nil && len(endpoint.Addresses) > 0 {
					all = append(all, net.JoinHostPort(endpoint.Addresses[0], strconv.Itoa(int(*port.Port))))
				}
			}
		}
	}
	return all
}
