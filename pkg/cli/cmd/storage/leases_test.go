package storage

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func identityLease(name, holder string, renewed time.Duration) coordinationv1.Lease {
	return coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name, UID: types.UID(name), Labels: map[string]string{"apiserver.kubernetes.io/identity": "kube-apiserver"}},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, RenewTime: new(metav1.NewMicroTime(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC).Add(renewed)))},
	}
}

func TestLeasesOfRunning(t *testing.T) {
	a, b, c := identityLease("apiserver-a", "a_1", 0), identityLease("apiserver-b", "b_1", -9*time.Second), identityLease("apiserver-c", "c_1", -time.Hour)
	aLater, bLater, cLater := identityLease("apiserver-a", "a_1", 10*time.Second), identityLease("apiserver-b", "b_1", time.Second), identityLease("apiserver-c", "c_1", -time.Hour+10*time.Second)
	left, empty := identityLease("apiserver-d", "", 0), identityLease("apiserver-e", "e_1", 0)
	empty.Spec.RenewTime = nil
	list := func(all ...coordinationv1.Lease) []coordinationv1.Lease { return all }
	for name, test := range map[string]struct {
		first, second []coordinationv1.Lease
		stale, want   string
	}{
		"none":                            {nil, nil, "", ""},
		"one":                             {list(a), list(a), "", "apiserver-a"},
		"one, renewed":                    {list(a), list(aLater), "", "apiserver-a"},
		"two":                             {list(b, a), list(b, a), "", "apiserver-a apiserver-b"},
		"one was replaced":                {list(a, c), list(aLater, c), "apiserver-c", "apiserver-a"},
		"a clock is an hour behind":       {list(a, c), list(aLater, cLater), "apiserver-c", "apiserver-a apiserver-c"},
		"a clock is an hour ahead":        {list(c, b, a), list(cLater, bLater, aLater), "apiserver-c", "apiserver-a apiserver-b apiserver-c"},
		"one starts":                      {list(a, c), list(aLater, bLater, c), "apiserver-c", "apiserver-a apiserver-b"},
		"one starts, with a clock behind": {list(a), list(aLater, cLater), "", "apiserver-a apiserver-c"},
		"one ends":                        {list(a, b, c), list(aLater, c), "apiserver-c", "apiserver-a"},
		"not held, and never renewed":     {list(a, left, empty), list(a, left, empty), "", "apiserver-a"},
		"the clock of this machine":       {list(c), list(c), "", "apiserver-c"},
		"the newest one is not held":      {list(left, c), list(left, c), "", "apiserver-c"},
	} {
		installtest.Same(t, name+": stale", test.stale, strings.Join(staleLeases(test.first), " "))
		installtest.Same(t, name+": running", test.want, strings.Join(leasesOfRunning(test.first, test.second), " "))
	}
}

func TestUnasked(t *testing.T) {
	for name, test := range map[string]struct {
		servers   []string
		addresses int
		err       string
	}{
		"none":                        {nil, 1, ""},
		"one":                         {[]string{"a"}, 1, ""},
		"two behind one address":      {[]string{"a", "b"}, 1, "2 API servers renew an identity Lease in namespace kube-system (a, b), and 1 addresses of API servers are known: name an address of each API server with --api-servers"},
		"two with an address each":    {[]string{"a", "b"}, 2, ""},
		"more addresses than Leases":  {[]string{"a"}, 3, ""},
		"no address of an API server": {[]string{"a"}, 0, "and 0 addresses"},
	} {
		t.Run(name, func(t *testing.T) {
			installtest.Error(t, test.err, unasked(test.servers, test.addresses))
		})
	}
}

// The command refuses before its first write, or prints that it has not compared.
func TestCheckLeases(t *testing.T) {
	kube := fake.NewClientset(new(identityLease("apiserver-a", "a_1", 0)), new(identityLease("apiserver-b", "b_1", 0)))
	servers := apiServers{kube: kube, addresses: []string{"10.0.0.1:6443", "https://10.0.0.1:6443"}}
	var text bytes.Buffer
	installtest.Error(t, "2 API servers renew an identity Lease", servers.checkLeases(t.Context(), output.New(&text)))
	installtest.Same(t, "output", "", text.String())
	servers.addresses = []string{"10.0.0.1:6443", "10.0.0.2:6443"}
	installtest.Must(t, servers.checkLeases(t.Context(), output.New(&text)))
	installtest.Same(t, "output with both addresses", "", text.String())
	kube.PrependReactor("list", "leases", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, errors.New("not you") })
	servers.addresses = servers.addresses[:1]
	installtest.Must(t, servers.checkLeases(t.Context(), output.New(&text)))
	installtest.Contains(t, text.String(), "not compared with their identity Leases, which cannot be listed: not you\n")
}

// A cluster without identity Leases is not compared, and the command prints that.
func TestNoLeases(t *testing.T) {
	servers := apiServers{kube: fake.NewClientset(), addresses: []string{"10.0.0.1:6443"}}
	var text bytes.Buffer
	installtest.Must(t, servers.checkLeases(t.Context(), output.New(&text)))
	installtest.Contains(t, text.String(), "not compared with their identity Leases, because namespace kube-system has none that is held")
}

// An API server whose clock is behind counts when it renews its Lease. An interruption ends the wait.
func TestClockBehind(t *testing.T) {
	behind := identityLease("apiserver-b", "b_1", -3*time.Minute)
	for name, test := range map[string]struct {
		renews, interrupted bool
		err                 string
	}{
		"it runs":        {renews: true, err: "2 API servers renew an identity Lease"},
		"it is replaced": {},
		"interrupted":    {interrupted: true, err: context.Canceled.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				kube := fake.NewClientset(new(identityLease("apiserver-a", "a_1", 0)), &behind)
				ctx, interrupt := context.WithCancel(t.Context())
				defer interrupt()
				time.AfterFunc(10*time.Second, func() {
					if test.interrupted {
						interrupt()
					}
					if test.renews {
						renewed := behind.DeepCopy()
						renewed.Spec.RenewTime = new(metav1.NewMicroTime(behind.Spec.RenewTime.Add(10 * time.Second)))
						_, err := kube.CoordinationV1().Leases("kube-system").Update(ctx, renewed, metav1.UpdateOptions{})
						installtest.Must(t, err)
					}
				})
				var text bytes.Buffer
				servers := apiServers{kube: kube, addresses: []string{"10.0.0.1:6443"}}
				began := time.Now()
				installtest.Error(t, test.err, servers.checkLeases(ctx, output.New(&text)))
				installtest.Same(t, "output", "waiting 15s: an API server whose clock is behind may renew apiserver-b\n", text.String())
				if took := time.Since(began); test.interrupted != (took < renewalPeriod) {
					t.Errorf("it took %s", took)
				}
			})
		})
	}
}
