package callers

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/group"
	"k8s.io/apiserver/pkg/authentication/request/anonymous"
	"k8s.io/apiserver/pkg/authentication/request/bearertoken"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	"k8s.io/apiserver/pkg/authentication/request/union"
	"k8s.io/apiserver/pkg/authentication/request/x509"
	"k8s.io/apiserver/pkg/authentication/token/cache"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
)

// The ConfigMap in which an API server publishes the CAs of clients and of front proxies.
const (
	publishedCAsNamespace = metav1.NamespaceSystem
	publishedCAsName      = "extension-apiserver-authentication"
)

type authentication struct {
	authenticator authenticator.Request
	clientCAs     []dynamiccertificates.CAContentProvider
	run           []func(ctx context.Context)
}

// newAuthentication tries front proxy, client certificate and token. A caller without credentials is anonymous.
func (o *authenticationOptions) newAuthentication(m *metrics) (*authentication, error) {
	client, err := newClient(o.kubeconfig, 0)
	if err != nil {
		return nil, fmt.Errorf("--authentication-kubeconfig: %w", err)
	}
	a := &authentication{}
	var ways []authenticator.Request
	proxies, err := o.frontProxies(a, client)
	if err != nil {
		return nil, err
	}
	if proxies != nil {
		ways = append(ways, proxies)
	}
	clientCA, err := o.clientCA(client)
	if err != nil {
		return nil, err
	}
	if clientCA != nil {
		a.clientCAs = append(a.clientCAs, clientCA)
		ways = append(ways, x509.NewDynamic(clientCA.VerifyOptions, x509.CommonNameUserConversion))
	}
	if client != nil {
		reviewer := &tokenReviewer{client: client.AuthenticationV1().TokenReviews(), metrics: m}
		ways = append(ways, bearertoken.New(cache.New(reviewer, false, o.tokenTTL, o.tokenTTL)))
	}
	a.authenticator = union.NewFailOnError(group.NewAuthenticatedGroupAdder(union.New(ways...)), anonymous.NewAuthenticator(nil))
	return a, nil
}

func (o *authenticationOptions) clientCA(client kubernetes.Interface) (dynamiccertificates.CAContentProvider, error) {
	switch {
	case o.clientCAFile != "":
		ca, err := dynamiccertificates.NewDynamicCAContentFromFile("client-ca", o.clientCAFile)
		if err != nil {
			return nil, fmt.Errorf("--client-ca-file: %w", err)
		}
		return ca, nil
	case o.skipLookup:
		return nil, nil
	case client == nil:
		klog.InfoS("Client certificates are not accepted: set --client-ca-file, or --kubeconfig to look up the CA of the cluster")
		return nil, nil
	default:
		return publishedCA("client-ca", "client-ca-file", client)
	}
}

func publishedCA(purpose, key string, client kubernetes.Interface) (*dynamiccertificates.ConfigMapCAController, error) {
	ca, err := dynamiccertificates.NewDynamicCAFromConfigMapController(purpose, publishedCAsNamespace, publishedCAsName, key, client)
	if err != nil {
		return nil, fmt.Errorf("look up %s in ConfigMap %s/%s: %w", key, publishedCAsNamespace, publishedCAsName, err)
	}
	return ca, nil
}

func (o *authenticationOptions) frontProxies(a *authentication, client kubernetes.Interface) (authenticator.Request, error) {
	h := &o.requestHeader
	switch {
	case h.clientCAFile != "":
		ca, err := dynamiccertificates.NewDynamicCAContentFromFile("request-header", h.clientCAFile)
		if err != nil {
			return nil, fmt.Errorf("--requestheader-client-ca-file: %w", err)
		}
		a.clientCAs = append(a.clientCAs, ca)
		return headerrequest.NewDynamicVerifyOptionsSecure(ca.VerifyOptions,
			headerrequest.StaticStringSlice(h.allowedClients), headerrequest.StaticStringSlice(h.usernames), headerrequest.StaticStringSlice(h.uids),
			headerrequest.StaticStringSlice(h.groups), headerrequest.StaticStringSlice(h.extraPrefixes)), nil
	case o.skipLookup || client == nil:
		return nil, nil
	default:
		proxies, err := publishedFrontProxies(a, client)
		if err != nil && o.tolerateLookupFailure {
			klog.ErrorS(err, "Cannot look up the front proxies of the cluster, continuing without them")
			return nil, nil
		}
		return proxies, err
	}
}

func publishedFrontProxies(a *authentication, client kubernetes.Interface) (authenticator.Request, error) {
	ca, err := publishedCA("request-header", "requestheader-client-ca-file", client)
	if err != nil {
		return nil, err
	}
	headers := headerrequest.NewRequestHeaderAuthRequestController(publishedCAsName, publishedCAsNamespace, client,
		"requestheader-username-headers", "requestheader-uid-headers", "requestheader-group-headers",
		"requestheader-extra-headers-prefix", "requestheader-allowed-names")
	ctx := context.Background() // neither uses it
	if err := errors.Join(ca.RunOnce(ctx), headers.RunOnce(ctx)); err != nil {
		return nil, fmt.Errorf("look up front proxies in ConfigMap %s/%s: set --authentication-skip-lookup if the process may not read it: %w", publishedCAsNamespace, publishedCAsName, err)
	}
	a.clientCAs = append(a.clientCAs, ca)
	a.run = append(a.run, func(ctx context.Context) { headers.Run(ctx, 1) })
	return headerrequest.NewDynamicVerifyOptionsSecure(ca.VerifyOptions,
		headerrequest.StringSliceProviderFunc(headers.AllowedClientNames), headerrequest.StringSliceProviderFunc(headers.UsernameHeaders),
		headerrequest.StringSliceProviderFunc(headers.UIDHeaders), headerrequest.StringSliceProviderFunc(headers.GroupHeaders),
		headerrequest.StringSliceProviderFunc(headers.ExtraHeaderPrefixes)), nil
}
