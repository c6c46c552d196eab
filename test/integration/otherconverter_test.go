package integration

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// A conversion that another client has set up, and that works, is not replaced: neither at the
// installation nor after an edit. When what converts no longer exists it is.
func TestConversionOfAnotherClient(t *testing.T) {
	for name, begin := range map[string]func(e *env, crd string){
		"at the installation": func(e *env, crd string) { e.create(converting("operator.v1", crd)) },
		"by an edit": func(e *env, crd string) {
			c := converting("operator.v1", crd)
			conversion := c.Spec.WebhookDefinitions
			c.Spec.WebhookDefinitions = []operatorsv1alpha1.WebhookDescription{webhook("first.example.com", "server")}
			e.install(c)
			e.edit("operator.v1", func(c *operatorsv1alpha1.ClusterServiceVersion) {
				c.Spec.WebhookDefinitions = append(c.Spec.WebhookDefinitions, conversion...)
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newOperatorEnv(t)
			crd := newCRD(e, "bolts", "v1", "v2").Name
			service(e, "helms", map[string]string{"app": "another"})
			converts(e, crd, e.namespace, "helms", string(e.authority("others").pem()))
			m := e.manage()
			begin(e, crd)
			e.reachesSaying("operator.v1", operatorsv1alpha1.CSVPhasePending, operatorsv1alpha1.CSVReasonRequirementsNotMet, "is converted by Service "+e.namespace+"/helms, which does not belong to this ClusterServiceVersion")
			m.looksAgain("operator.v1")
			same(t, "the Service that converts it", converter(e, crd), "helms")
			e.must(e.kube.CoreV1().Services(e.namespace).Delete(e.ctx, "helms", metav1.DeleteOptions{}))
			m.looksAgain("operator.v1")
			e.succeeds("operator.v1")
			same(t, "the Service that converts it", converter(e, crd), "server-service")
		})
	}
}

// A placeholder that a bundle brings is replaced, and so is a conversion by the bundle's own Service.
// What another client writes into a conversion of the manager's is repaired.
func TestConversionsThatAreReplaced(t *testing.T) {
	for name, test := range map[string]struct {
		selector                     map[string]string // of the Service; none if it does not exist
		namespace, service, caBundle string
	}{
		"a Service that does not exist": {nil, "system", "webhook-service", "a CA"},
		"no caBundle":                   {map[string]string{"app": "another"}, "", "helms", ""},
		"the bundle's own Service":      {map[string]string{"app": "server"}, "", "webhook-service", "a CA"},
		"a Service of the derived name": {map[string]string{"app": "another"}, "", "server-service", "a CA"},
	} {
		t.Run(name, func(t *testing.T) {
			e := newOperatorEnv(t)
			crd := newCRD(e, "nuts", "v1", "v2").Name
			if test.selector != nil {
				test.namespace = e.namespace
				service(e, test.service, test.selector)
			}
			if test.caBundle == "a CA" {
				test.caBundle = string(e.authority("others").pem())
			}
			converts(e, crd, test.namespace, test.service, test.caBundle)
			e.manage()
			e.install(converting("operator.v1", crd))
			ours := converter(e, crd)
			service(e, "later", map[string]string{"app": "another"})
			converts(e, crd, e.namespace, "later", string(e.authority("others").pem()))
			becomes(e, "the conversion is repaired", func() string { return conversion(e, crd).Webhook.ClientConfig.Service.Name }, ours)
			e.succeeds("operator.v1")
		})
	}
}

func service(e *env, name string, selector map[string]string) {
	e.Helper()
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ServiceSpec{Selector: selector, Ports: []corev1.ServicePort{{Port: 443}}}}
	kube.Create(e, e.kube.CoreV1().Services(e.namespace), service)
}

func converts(e *env, crd, namespace, service, caBundle string) {
	e.Helper()
	editCRD(e, crd, func(c *apiextensionsv1.CustomResourceDefinition) {
		c.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter, Webhook: &apiextensionsv1.WebhookConversion{
			ClientConfig:             &apiextensionsv1.WebhookClientConfig{Service: &apiextensionsv1.ServiceReference{Namespace: namespace, Name: service}, CABundle: []byte(caBundle)},
			ConversionReviewVersions: []string{"v1"},
		}}
	})
}

// A definition that is named any number of times is asked about once in each reconciliation.
func TestConversionOfAnotherClientNamedManyTimes(t *testing.T) {
	e := newOperatorEnv(t)
	crd := newCRD(e, "rivets", "v1", "v2").Name
	service(e, "helms", map[string]string{"app": "another"})
	converts(e, crd, e.namespace, "helms", string(e.authority("others").pem()))
	m := e.manage()
	const many = 500
	c := converting("operator.v1", crd)
	c.Spec.WebhookDefinitions[0].ConversionCRDs = slices.Repeat([]string{crd}, many)
	e.create(c)
	e.reaches("operator.v1", operatorsv1alpha1.CSVPhaseFailed, operatorsv1alpha1.CSVReasonInvalidWebhookDescription)
	since := auditEnd(e)
	m.looksAgain("operator.v1")
	asked := installtest.Count(m.audited(since), func(event auditv1.Event) bool {
		return event.Verb == "get" && event.ObjectRef != nil && event.ObjectRef.Resource == "services" && event.ObjectRef.Name == "helms"
	})
	if asked == 0 || asked >= many {
		t.Errorf("the Service was asked about %d times", asked)
	}
}
