package manager

import (
	"context"
	"os"
	"testing"

	"github.com/sirupsen/logrus"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// Two managers on one host, as with hostNetwork, must not take one Lease for that of both.
func TestElectorsOfOneHostDiffer(t *testing.T) {
	kube := installtest.OrPanic(kubernetes.NewForConfig(&rest.Config{Host: "127.0.0.1:1"})) // never called
	host := installtest.OrPanic(os.Hostname())
	identities := map[string]bool{}
	for range 2 {
		e := installtest.OrPanic(newElector(kube, "any", logrus.New(), func(context.Context) {}))
		identity := e.lock.Identity()
		installtest.Prefix(t, "the identity", host+"_", identity)
		identities[identity] = true
	}
	installtest.Same(t, "the number of identities of two electors of one host", 2, len(identities))
}
