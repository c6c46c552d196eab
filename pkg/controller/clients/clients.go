// Package clients holds the typed clients that the controller uses.
package clients

import (
	"cmp"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	aggregator "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmclient"
)

// Set holds one client for each API that the controller uses.
type Set struct {
	Config     *rest.Config // nil in the Set of an account
	Kube       kubernetes.Interface
	OLM        *olmclient.Client
	Extensions apiextensions.Interface
	Metadata   metadata.Interface
	Aggregator aggregator.Interface
	Dynamic    dynamic.Interface
	Accounts   *Accounts // nil in the Set of an account
}

// New returns the clients for a configuration.
func New(config *rest.Config) (Set, error) {
	set, err := newSet(config)
	set.Config, set.Accounts = config, newAccounts(config)
	return set, err
}

func newSet(config *rest.Config) (Set, error) {
	// Built-in kinds have a binary encoding, which takes half the time. Custom resources have none.
	binary := rest.CopyConfig(config)
	binary.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	binary.ContentType = runtime.ContentTypeProtobuf
	var set Set
	var errs [6]error
	set.Kube, errs[0] = kubernetes.NewForConfig(binary)
	set.OLM, errs[1] = olmclient.New(config)
	set.Extensions, errs[2] = apiextensions.NewForConfig(binary)
	set.Metadata, errs[3] = metadata.NewForConfig(config)
	set.Aggregator, errs[4] = aggregator.NewForConfig(binary)
	set.Dynamic, errs[5] = dynamic.NewForConfig(config)
	return set, cmp.Or(errs[:]...)
}
