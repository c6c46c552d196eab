package decide

import (
	"os"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs/issuers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
)

// Every provider has a row in the table of providers and in the documentation. A provider with a
// controller has a request, a removal, the permissions for its objects, and a section.
func TestEveryProviderIsComplete(t *testing.T) {
	var listed []string
	for _, name := range managerv1alpha1.CertificateProviders() {
		listed = append(listed, string(name))
	}
	if !slices.Equal(issuers.Names(), listed) {
		t.Errorf("the table has the providers %q, the API has %q", issuers.Names(), listed)
	}
	page := "\n" + read(t, "docs/admin/certificate-providers.md")
	roles := map[string][]rbacv1.PolicyRule{}
	for _, file := range []string{"manifests/manager/clusterrole.yaml", "manifests/limited/namespace/role.yaml"} {
		var role rbacv1.Role
		if err := yaml.Unmarshal([]byte(read(t, file)), &role); err != nil {
			t.Fatal(err)
		}
		roles[file] = role.Rules
	}
	for _, p := range issuers.Providers {
		t.Run(string(p.Name), func(t *testing.T) {
			if !strings.Contains(page, "\n| `"+string(p.Name)+"` | ") {
				t.Error("the documentation has no row for it")
			}
			if p.Name == managerv1alpha1.ProviderManager || p.Name == managerv1alpha1.ProviderNone {
				if issuers.HasController(p.Name) {
					t.Error("it has a controller")
				}
				return
			}
			checkController(t, p, page, roles)
		})
	}
}

// checkController checks what a provider with a controller needs.
func checkController(t *testing.T, p issuers.Provider, page string, roles map[string][]rbacv1.PolicyRule) {
	t.Helper()
	if r := requests[p.Name]; !issuers.HasController(p.Name) || r.issue == nil || r.remove == nil || len(p.Requests) == 0 {
		t.Error("it lacks the check of its Secrets, a request, its removal, or the kinds of its objects")
	}
	if !strings.Contains(page, "\n## "+string(p.Name)+"\n") {
		t.Error("the documentation has no section about it")
	}
	for kind, resource := range p.Requests {
		for file, rules := range roles {
			for _, verb := range []string{"list", "watch", "create", "patch", "delete"} {
				if !permits(rules, resource, verb) {
					t.Errorf("%s does not permit to %s a %s", file, verb, kind)
				}
			}
		}
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile("../../../" + file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func permits(rules []rbacv1.PolicyRule, resource schema.GroupVersionResource, verb string) bool {
	return slices.ContainsFunc(rules, func(r rbacv1.PolicyRule) bool {
		return slices.Contains(r.APIGroups, resource.Group) && slices.Contains(r.Resources, resource.Resource) && slices.Contains(r.Verbs, verb)
	})
}

// An object of another client with the name of an order is reported, and not written.
func TestOrderUnderTheNameOfAnotherObject(t *testing.T) {
	order := func(labels map[string]string) *unstructured.Unstructured {
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "cert-manager.io/v1", "kind": "Certificate"}}
		o.SetNamespace("shop")
		o.SetName("manager-service-cert")
		o.SetLabels(labels)
		return o
	}
	c := &certifier{decision: &decision{Facts: stageFacts(), now: now}}
	desired := order(csvspec.OwnerLabels(c.CSV))
	for name, test := range map[string]struct {
		live    *unstructured.Unstructured
		steps   int
		refusal string
	}{
		"absent":               {nil, 1, ""},
		"as desired":           {desired, 0, ""},
		"another client's":     {order(nil), 0, "Certificate shop/manager-service-cert is not the manager's: delete it, or choose another provider of certificates"},
		"of a deleted version": {order(map[string]string{"olm.managed": "true"}), 1, ""},
	} {
		var i issuance
		read := c.order(&i, desired, test.live)
		if len(i.steps) != test.steps || i.refusal != test.refusal || i.requeue.Never() != (test.refusal == "") {
			t.Errorf("%s: steps %v, refusal %q, requeue %v", name, i.steps, i.refusal, i.requeue)
		}
		if test.refusal != "" && read != nil {
			t.Errorf("%s: it is read", name)
		}
	}
}

// Nothing is requested of cert-manager while an Issuer of another client has the name of the manager's: it would
// sign the certificate.
func TestNothingIsRequestedOfAnotherClientsIssuer(t *testing.T) {
	for name, test := range map[string]struct {
		issuers []string // of another client
		refused bool
	}{
		"no Issuer":                   {},
		"one that signs certificates": {[]string{names.CA("server-service")}, true},
		"one that signs itself":       {[]string{names.SelfSigned("server-service")}, true},
		"one that the order ignores":  {[]string{"other"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			d := &decision{Facts: stageFacts(), now: now, answers: NewAnswers(), secrets: map[string]*corev1.Secret{}}
			d.CertManager = true
			c := &certifier{d, "server", "server-service"}
			order, err := c.fromCertManager(issuers.Issuer{})
			for ; err != nil; order, err = c.fromCertManager(issuers.Issuer{}) {
				if len(d.questions) == 0 {
					t.Fatal(err)
				}
				for _, question := range d.questions {
					answerWithIssuers(d, question, test.issuers)
				}
				d.questions = nil
			}
			if (order.refusal != "") != test.refused || (len(order.steps) == 0) != test.refused || order.Published != nil {
				t.Errorf("refusal %q, steps %v, published: %v", order.refusal, order.steps, order.Published)
			}
		})
	}
}

// answerWithIssuers answers a question: nothing exists but Issuers of another client.
func answerWithIssuers(d *decision, question Question, foreign []string) {
	switch q := question.(type) {
	case ReadSecret:
		d.secrets[q.Name] = nil
	case WatchObject:
		object := Object{Cached: true}
		if q.Resource == issuers.Issuers && slices.Contains(foreign, q.Name) {
			object.Live = &unstructured.Unstructured{Object: map[string]any{"apiVersion": "cert-manager.io/v1", "kind": "Issuer"}}
			object.Live.SetNamespace(q.Namespace)
			object.Live.SetName(q.Name)
		}
		d.answers.Objects[q.ObjectKey] = object
	}
}
