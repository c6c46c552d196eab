package doctor

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/route"
)

// Of a webhook of either failurePolicy there is no finding only if API servers can call its Service at
// its port, and every ready endpoint was asked and serves. All combinations of facts are tried.
func TestAllClearNeedsEveryAnswer(t *testing.T) {
	type outcome struct {
		Answer
		clear bool
	}
	outcomes := map[string]outcome{
		"serves":          {Answer{Asked: true, NotAfter: now.AddDate(1, 0, 0)}, true},
		"not asked":       {Answer{Message: "port-forward is refused"}, false},
		"fails":           {Answer{Asked: true, Reason: "Refused", Message: "it refuses connections"}, false},
		"zero value":      {},
		"expires tonight": {Answer{Asked: true, NotAfter: now.Add(1)}, false},
	}
	for k, kind := range []string{Validating, Mutating, Conversion, APIService, Validating, Mutating} {
		fails := k < 4
		for _, unverified := range []bool{false, true} {
			for _, by := range []route.By{route.ByClusterIP, route.ByEndpoint, route.ByExternalName, ""} {
				for ready := range 3 {
					for a, first := range outcomes {
						for b, second := range outcomes {
							for answered := range 3 {
								w := Webhook{Kind: kind, Available: metav1.ConditionTrue, Object: "w", Fails: fails, Service: shop, Port: 443, Unverified: unverified, Rules: newCluster().hook("v", shop, "Fail", "configmaps").Rules}
								f := Facts{
									Webhooks: []Webhook{w}, Services: map[types.NamespacedName]Service{shop: {By: by, Ports: map[int32]int{443: ready}, Ready: 2}},
									Answers: map[string][]Answer{w.String(): []Answer{first.Answer, second.Answer}[:answered]},
								}
								allClear := by == route.ByClusterIP && ready > 0 && answered >= ready
								for _, o := range []outcome{first, second}[:answered] {
									allClear = allClear && o.clear
								}
								if found := Diagnose(f, now); (len(found) == 0) != allClear {
									t.Fatalf("%s", fmt.Sprintf("%s, unverified %t, called by %q, %d ready, %d answers of %q and %q: %+v", kind, unverified, by, ready, answered, a, b, found))
								}
							}
						}
					}
				}
			}
		}
	}
}

// Of an APIService there is no finding only if API servers report that they call it.
func TestUnavailableAPIService(t *testing.T) {
	for status, want := range map[metav1.ConditionStatus]Level{metav1.ConditionTrue: "", metav1.ConditionFalse: Error, metav1.ConditionUnknown: Unknown, "": Unknown} {
		for _, by := range []route.By{route.ByClusterIP, route.ByExternalName} {
			w := Webhook{Kind: APIService, Object: "v1.example.com", Fails: true, Service: shop, Port: 443, Available: status, Report: "no answer"}
			f := Facts{
				Webhooks: []Webhook{w}, Answers: map[string][]Answer{w.String(): {{Asked: true, NotAfter: now.AddDate(1, 0, 0)}}},
				Services: map[types.NamespacedName]Service{shop: {By: by, Ports: map[int32]int{443: 1}, Ready: 1}},
			}
			got := lists.FilterMap(Diagnose(f, now), func(f Finding) (Level, bool) { return f.Level, f.Code == APIServiceUnavailable })
			if want == "" && len(got) > 0 || want != "" && (len(got) != 1 || got[0] != want) {
				t.Errorf("%q, called by %q: levels %q, want %q", status, by, got, want)
			}
			code, doubt := ReachOf(w, f, now).Code, ""
			if code == "" {
				doubt, _ = Doubt(w, f)
			}
			if (code == APIServiceUnavailable) != (want == Error) || (doubt == APIServiceUnavailable) != (want == Unknown) {
				t.Errorf("%q, called by %q: reach %q, doubt %q", status, by, code, doubt)
			}
		}
	}
}

// Nothing is unknown of a webhook that is never called.
func TestNothingIsUnknownOfWebhooksWithoutRules(t *testing.T) {
	called := Webhook{Service: shop, Port: 443}
	for name, test := range map[string]struct {
		webhook Webhook
		service Service
	}{
		"node-local":    {called, Service{By: route.ByClusterIP, NodeLocal: true, Ports: map[int32]int{443: 1}, Ready: 1}},
		"headless":      {called, Service{By: route.ByEndpoint, Ports: map[int32]int{443: 1}, Ready: 1}},
		"external name": {called, Service{By: route.ByExternalName, ExternalName: "a.example.com"}},
		"not asked":     {called, Service{By: route.ByClusterIP, Ports: map[int32]int{443: 2}, Ready: 2}},
		"URL":           {Webhook{Port: 443, URL: "https://a"}, Service{}},
	} {
		for _, fails := range []bool{true, false} {
			w := test.webhook
			w.Kind, w.Object, w.Name, w.Fails = Validating, "w", "w.example.com", fails
			f := Facts{Webhooks: []Webhook{w}, Services: map[types.NamespacedName]Service{shop: test.service}}
			installtest.None(t, fmt.Sprintf("findings of %s, fails %t", name, fails), Diagnose(f, now))
			w.Rules = newCluster().hook("v", shop, "Fail", "configmaps").Rules
			f.Webhooks[0] = w
			if found := Diagnose(f, now); len(found) == 0 {
				t.Errorf("%s, fails %t: nothing is unknown with rules", name, fails)
			}
		}
	}
}

// What cannot be known of a Service on some nodes, and of a server outside the cluster, is a finding
// for every failurePolicy. An expired caBundle is a finding also for a URL.
func TestNoAllClearForPlacesThatAreNotAsked(t *testing.T) {
	expired := caUntil(t, now.AddDate(0, 0, -1))
	for name, c := range map[string]struct {
		webhook   Webhook
		nodeLocal bool
		level     Level
		code      string
	}{
		"Local, Fail":          {Webhook{Fails: true, Service: shop, Port: 443}, true, Unknown, NodeLocalService},
		"Local, Ignore":        {Webhook{Service: shop, Port: 443}, true, Unknown, NodeLocalService},
		"URL, Fail":            {Webhook{Fails: true, URL: "https://a"}, false, Unknown, NotAsked},
		"URL, Ignore":          {Webhook{URL: "https://a"}, false, Unknown, NotAsked},
		"URL, expired, Fail":   {Webhook{Fails: true, URL: "https://a", CABundle: expired}, false, Error, "CAExpired"},
		"URL, expired, Ignore": {Webhook{URL: "https://a", CABundle: expired}, false, Warning, "CAExpired"},
	} {
		w := c.webhook
		w.Kind, w.Object, w.Rules = Validating, "w", newCluster().hook("v", shop, "Fail", "configmaps").Rules
		f := Facts{
			Webhooks: []Webhook{w}, Answers: map[string][]Answer{w.String(): {{Asked: true, NotAfter: now.AddDate(1, 0, 0)}}},
			Services: map[types.NamespacedName]Service{shop: {By: route.ByClusterIP, NodeLocal: c.nodeLocal, Ports: map[int32]int{443: 1}, Ready: 1}},
		}
		if found := Diagnose(f, now); len(found) != 1 || found[0].Level != c.level || found[0].Code != c.code {
			t.Errorf("%s: %+v", name, found)
		}
	}
}

// A label shortens the name of an owner that is longer than a label.
func TestOwnerWithALongName(t *testing.T) {
	for _, name := range []string{"shop.v1", strings.Repeat("shop.", 30) + "v1"} {
		csv := &operatorsv1alpha1.ClusterServiceVersion{}
		csv.Namespace, csv.Name = "shop", name
		w := Webhook{Kind: Validating, Object: "w", Owner: OwnerOf(csvspec.OwnedMeta(csv, "w"))}
		f := Facts{Webhooks: []Webhook{w}, Owners: map[types.NamespacedName]bool{OwnerNamed("shop", name): true}}
		installtest.Same(t, name+": the owner is missing", false, slices.ContainsFunc(Diagnose(f, now), func(f Finding) bool { return f.Code == OwnerMissing }))
	}
}

func caUntil(t *testing.T, end time.Time) []byte {
	t.Helper()
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: end.AddDate(-1, 0, 0), NotAfter: end, IsCA: true, BasicConstraintsValid: true}
	der := installtest.OrPanic(x509.CreateCertificate(nil, template, template, key.Public(), key))
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
