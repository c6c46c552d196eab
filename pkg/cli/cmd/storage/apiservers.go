package storage

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cluster"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/storage"
)

type apiServers struct {
	config    *rest.Config
	kube      kubernetes.Interface
	addresses []string // of all API servers; none for the list of the Service kubernetes
}

// Hashes asks at the address of the kubeconfig, and each API server at its own. Each question has a connection of its
// own: a load balancer sends all questions on one connection to the same API server.
func (s apiServers) Hashes(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, version string) ([]string, error) {
	servers, err := s.all(ctx)
	if err != nil {
		return nil, err
	}
	var hashes []string
	for _, server := range servers {
		server.Wrap(func(next http.RoundTripper) http.RoundTripper { return oneRequest{next} })
		hash, err := hashFrom(ctx, server, crd, version)
		if err != nil {
			return nil, fmt.Errorf("API server %s: %w", server.Host, err)
		}
		hashes = append(hashes, hash)
	}
	return hashes, nil
}

type oneRequest struct{ next http.RoundTripper }

func (r oneRequest) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.Close = true
	return r.next.RoundTrip(request)
}

// all expects the name of the Service in certificates, except of API servers that are named: they are verified by address.
func (s apiServers) all(ctx context.Context) ([]*rest.Config, error) {
	listed, err := s.listed(ctx)
	if err != nil {
		return nil, err
	}
	servers := []*rest.Config{rest.CopyConfig(s.config)}
	addresses := s.named()
	switch named := addresses.Len(); {
	case named == 0 && len(listed) == 0:
		return nil, storage.ErrNoAddresses
	case named > 0 && named < len(listed):
		return nil, fmt.Errorf("--api-servers names %d API servers, and the Service kubernetes has %d (%s): name every one", named, len(listed), strings.Join(listed, ", "))
	case named > 0:
		for _, address := range sets.List(addresses) {
			servers = append(servers, s.at(address, s.config.ServerName))
		}
	default:
		for _, address := range listed {
			servers = append(servers, s.at(address, cmp.Or(s.config.ServerName, "kubernetes.default.svc")))
		}
	}
	return servers, nil
}

func (s apiServers) named() sets.Set[string] {
	return sets.New(lists.Map(s.addresses, func(address string) string { return strings.TrimPrefix(address, "https://") })...)
}

func (s apiServers) listed(ctx context.Context) ([]string, error) {
	list, err := s.kube.DiscoveryV1().EndpointSlices(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=kubernetes"})
	if err != nil {
		return nil, err
	}
	return slices.Concat(lists.Map(list.Items, addressesOf)...), nil
}

func addressesOf(slice discoveryv1.EndpointSlice) []string {
	var addresses []string
	for _, port := range slice.Ports {
		for _, endpoint := range slice.Endpoints {
			if port.Port != nil && len(endpoint.Addresses) > 0 {
				addresses = append(addresses, net.JoinHostPort(endpoint.Addresses[0], strconv.Itoa(int(*port.Port))))
			}
		}
	}
	return addresses
}

func (s apiServers) at(address, serverName string) *rest.Config {
	server := rest.CopyConfig(s.config)
	server.Host, server.ServerName = "https://"+strings.TrimPrefix(address, "https://"), serverName
	return server
}

func hashFrom(ctx context.Context, server *rest.Config, crd *apiextensionsv1.CustomResourceDefinition, version string) (string, error) {
	client, err := cluster.Discovery(ctx, server)
	if err != nil {
		return "", err
	}
	list, err := client.ServerResourcesForGroupVersion(crd.Spec.Group + "/" + version)
	if err != nil {
		return "", err
	}
	for _, r := range list.APIResources {
		if r.Name == crd.Spec.Names.Plural {
			return r.StorageVersionHash, nil
		}
	}
	return "", fmt.Errorf("does not serve %s in %s yet", crd.Name, version)
}
