package storage

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func identityLease(name, holder string, renewed time.Duration) coordinationv1.Lease {
	return coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name, Labels: map[string]string{"apiserver.kubernetes.io/identity": "kube-apiserver"}},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, RenewTime: new(metav1.NewMicroTime(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC).Add(renewed)))},
	}
}

func TestUnasked(t *testing.T) {
	a, b, c := identityLease("apiserver-a", "a_1", 0), identityLease("apiserver-b", "b_1", -9*time.Second), identityLease("apiserver-c", "c_1", -time.Hour)
	left, empty := identityLease("apiserver-d", "", 0), identityLease("apiserver-e", "e_1", 0)
	empty.Spec.RenewTime = nil
	for name, test := range map[string]struct {
		leases    []coordinationv1.Lease
		addresses int
		err       string
	}{
		"none":                        {nil, 1, ""},
		"one":                         {[]coordinationv1.Lease{a}, 1, ""},
		"two behind one address":      {[]coordinationv1.Lease{b, a}, 1, "2 API servers renew an identity Lease in namespace kube-system (apiserver-a, apiserver-b), and 1 addresses of API servers are known: name an address of each API server with --api-servers"},
		"two with an address each":    {[]coordinationv1.Lease{a, b}, 2, ""},
		"more addresses than Leases":  {[]coordinationv1.Lease{a}, 3, ""},
		"one was replaced":            {[]coordinationv1.Lease{a, c}, 1, ""},
		"not held, and never renewed": {[]coordinationv1.Lease{a, left, empty}, 1, ""},
		"this clock does not matter":  {[]coordinationv1.Lease{c, c}, 1, "2 API servers"},
		"no address of an API server": {[]coordinationv1.Lease{a}, 0, "and 0 addresses"},
	} {
		t.Run(name, func(t *testing.T) {
			installtest.Error(t, test.err, unasked(test.leases, test.addresses))
		})
	}
}

// The command refuses before its first write, or prints that it has not compared.
func TestCheckLeases(t *testing.T) {
	kube := fake.NewClientset(new(identityLease("apiserver-a", "a_1", 0)), new(identityLease("apiserver-b", "b_1", 0)))
	servers := apiServers{kube: kube, addresses: []string{"10.0.0.1:6443", "https://10.0.0.1:6443"}}
	var text bytes.Buffer
	if err := servers.checkLeases(t.Context(), output.New(&text)); err == nil || text.Len() > 0 {
		t.Errorf("the error is %v, the output is %q", err, &text)
	}
	servers.addresses = []string{"10.0.0.1:6443", "10.0.0.2:6443"}
	if err := servers.checkLeases(t.Context(), output.New(&text)); err != nil || text.Len() > 0 {
		t.Errorf("with both addresses, the error is %v, the output is %q", err, &text)
	}
	kube.PrependReactor("list", "leases", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, errors.New("not you") })
	servers.addresses = servers.addresses[:1]
	if err := servers.checkLeases(t.Context(), output.New(&text)); err != nil || !strings.Contains(text.String(), "not compared with their identity Leases, which cannot be listed: not you\n") {
		t.Errorf("without permission, the error is %v, the output is %q", err, &text)
	}
}
