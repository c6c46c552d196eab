package decide

import (
	"cmp"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs/issuers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/exemptions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// Every provider has a row in the table of providers and in the documentation. A provider with a
// controller has everything that docs/developer/certificate-provider.md lists. Each message names the
// next step.
func TestEveryProviderIsComplete(t *testing.T) {
	listed := lists.Map(managerv1alpha1.CertificateProviders(), func(name managerv1alpha1.CertificateProvider) string { return string(name) })
	if !slices.Equal(issuers.Names(), listed) {
		t.Errorf("Providers in pkg/certs/issuers/providers.go has %q, CertificateProviders in pkg/apis/manager/v1alpha1/providers.go has %q: add what one of them lacks", issuers.Names(), listed)
	}
	kinds := map[string]managerv1alpha1.CertificateProvider{}
	for _, p := range issuers.Providers {
		t.Run(string(p.Name), func(t *testing.T) {
			contains(t, "docs/admin/certificate-providers.md", "\n| `"+string(p.Name)+"` | ")
			contains(t, "docs/glossary.md", "`"+string(p.Name)+"`")
			if p.Name == managerv1alpha1.ProviderManager || p.Name == managerv1alpha1.ProviderNone {
				installtest.Same(t, "it has a controller", false, issuers.HasController(p.Name))
				installtest.None(t, "kinds", p.Kinds)
				return
			}
			checkController(t, p)
			for _, kind := range p.Kinds {
				if other, twice := kinds[kind.Name]; twice {
					t.Errorf("%s is a kind of %s, too: decide/issuance.go and write/dynamic.go find resources by the name of the kind", kind.Name, other)
				}
				kinds[kind.Name] = p.Name
				if p.CRD == "" && !kind.OnlyManaged {
					t.Errorf("in pkg/certs/issuers/providers.go, set CRD of the row, or OnlyManaged of %s if every cluster has the kind: its objects need memory", kind.Name)
				}
				if p.CRD != "" && !kind.ClusterScoped && !slices.Contains(exemptions.Orders, kind.Resource.GroupResource()) {
					t.Errorf("add %s to Orders in pkg/install/exemptions/backend.go: the operator's own webhook must not block them", kind.Resource.GroupResource())
				}
				checkPermissions(t, kind)
			}
		})
	}
}

// checkController checks what a provider with a controller needs.
func checkController(t *testing.T, p issuers.Provider) {
	t.Helper()
	if !issuers.HasController(p.Name) || len(p.Kinds) == 0 {
		t.Error("set issued and Kinds of its row in pkg/certs/issuers/providers.go")
	}
	if r := requests[p.Name]; r.issue == nil || r.remove == nil {
		t.Error("add issue and remove to requests in pkg/controller/decide/issuance.go")
	}
	contains(t, "docs/admin/certificate-providers.md", "\n## "+string(p.Name)+"\n")
	contains(t, "test/integration/providers_test.go", "\n\t"+strconv.Quote(string(p.Name))+": {")
}

// checkPermissions checks what the manager, and a manager limited to namespaces, may do with a kind.
func checkPermissions(t *testing.T, kind issuers.Kind) {
	t.Helper()
	limited, verbs := "manifests/limited/namespace/role.yaml", []string{"list", "watch", "create", "patch", "delete"}
	if kind.ClusterScoped {
		limited, verbs = "manifests/limited/clusterrole.yaml", []string{"list", "watch"}
	}
	for _, file := range []string{"manifests/manager/clusterrole.yaml", limited} {
		var role rbacv1.Role
		installtest.Must(t, yaml.Unmarshal([]byte(read(t, file)), &role))
		for _, verb := range verbs {
			if !permits(role.Rules, kind.Resource, verb) {
				t.Errorf("permit %s of %s in %s", verb, kind.Resource.GroupResource(), file)
			}
		}
	}
	contains(t, "docs/admin/permissions.md", "| "+cmp.Or(kind.Resource.Group, "core")+" | "+kind.Resource.Resource+" |")
}

func contains(t *testing.T, file, text string) {
	t.Helper()
	if !strings.Contains(read(t, file), text) {
		t.Errorf("add %q to %s", text, file)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text := installtest.OrPanic(os.ReadFile("../../../" + file))
	return string(text)
}

func permits(rules []rbacv1.PolicyRule, resource schema.GroupVersionResource, verb string) bool {
	return slices.ContainsFunc(rules, func(r rbacv1.PolicyRule) bool {
		return slices.Contains(r.APIGroups, resource.Group) && slices.Contains(r.Resources, resource.Resource) && slices.Contains(r.Verbs, verb)
	})
}

// An object of another client with the name of a requested object is reported, and not written.
func TestOrderUnderTheNameOfAnotherObject(t *testing.T) {
	request := func(labels map[string]string) *unstructured.Unstructured {
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "cert-manager.io/v1", "kind": "Certificate"}}
		o.SetNamespace("shop")
		o.SetName("manager-service-cert")
		o.SetLabels(labels)
		return o
	}
	c := &certifier{decision: &decision{Facts: stageFacts(), now: now}}
	desired := request(csvspec.OwnerLabels(c.CSV))
	for name, test := range map[string]struct {
		live    *unstructured.Unstructured
		steps   int
		refusal string
	}{
		"absent":               {nil, 1, ""},
		"as desired":           {desired, 0, ""},
		"another client's":     {request(nil), 0, "Certificate shop/manager-service-cert is not the manager's: delete it, or choose another provider of certificates"},
		"of a deleted version": {request(map[string]string{"olm.managed": "true"}), 1, ""},
	} {
		var i issuance
		read := c.requestObject(&i, desired, test.live)
		if len(i.steps) != test.steps || i.refusal != test.refusal || i.requeue.Never() != (test.refusal == "") {
			t.Errorf("%s: steps %v, refusal %q, requeue %v", name, i.steps, i.refusal, i.requeue)
		}
		if test.refusal != "" && read != nil {
			t.Errorf("%s: it is read", name)
		}
	}
}

// Nothing is requested of cert-manager while another client's Issuer has the name of the manager's: it would sign.
func TestNothingIsRequestedOfAnotherClientsIssuer(t *testing.T) {
	for name, test := range map[string]struct {
		issuers []string // of another client
		refused bool
	}{
		"no Issuer":                    {},
		"one that signs certificates":  {[]string{names.CA("server-service")}, true},
		"one that signs itself":        {[]string{names.SelfSigned("server-service")}, true},
		"one that the request ignores": {[]string{"other"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			d := &decision{Facts: stageFacts(), now: now, answers: NewAnswers(), secrets: map[string]*corev1.Secret{}}
			d.Requestable = map[managerv1alpha1.CertificateProvider]bool{managerv1alpha1.ProviderCertManager: true}
			c := &certifier{d, "server", "server-service"}
			issued, err := c.fromCertManager(issuers.Issuer{})
			for ; err != nil; issued, err = c.fromCertManager(issuers.Issuer{}) {
				if len(d.questions) == 0 {
					t.Fatal(err)
				}
				for _, question := range d.questions {
					answerWithIssuers(d, question, test.issuers)
				}
				d.questions = nil
			}
			if (issued.refusal != "") != test.refused || (len(issued.steps) == 0) != test.refused || issued.Published != nil {
				t.Errorf("refusal %q, steps %v, published: %v", issued.refusal, issued.steps, issued.Published)
			}
		})
	}
}

// answerWithIssuers answers a question: nothing exists but Issuers of another client.
func answerWithIssuers(d *decision, question Question, unowned []string) {
	switch q := question.(type) {
	case ReadSecret:
		d.secrets[q.Name] = nil
	case WatchObject:
		object := Object{Cached: true}
		if q.Resource == issuers.Issuers && slices.Contains(unowned, q.Name) {
			object.Live = &unstructured.Unstructured{Object: map[string]any{"apiVersion": "cert-manager.io/v1", "kind": "Issuer"}}
			object.Live.SetNamespace(q.Namespace)
			object.Live.SetName(q.Name)
		}
		d.answers.Objects[q.ObjectKey] = object
	}
}
