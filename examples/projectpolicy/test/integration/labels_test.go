// Package integration tests with a real API server how labels of namespaces can be changed.
package integration

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/rules"
	"k8s.io/client-go/kubernetes"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/internal/bundletest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

var cluster *kube.Cluster

func TestMain(m *testing.M) { kube.Main(m, &cluster) }

// The bundle's rules cover each subresource of namespaces by which a label can be removed.
func TestLabelWriters(t *testing.T) {
	csv := bundletest.CSV(t, "../../bundle/manifests/projectpolicy.clusterserviceversion.yaml")
	client, err := kubernetes.NewForConfig(cluster.Config())
	installtest.Must(t, err)
	served, err := client.Discovery().ServerResourcesForGroupVersion("v1")
	installtest.Must(t, err)
	var writers []string
	for _, r := range served.APIResources {
		_, sub, _ := strings.Cut(r.Name, "/")
		if !strings.HasPrefix(r.Name, "namespaces") || !slices.Contains(r.Verbs, "update") || !removesLabel(t, client, sub) {
			continue
		}
		writers = append(writers, r.Name)
		attributes := admission.NewAttributesRecord(nil, nil, corev1.SchemeGroupVersion.WithKind("Namespace"), "", "shop-dev",
			schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, sub, admission.Update, nil, false, nil)
		covered := false
		for _, rule := range csv.Spec.WebhookDefinitions[0].Rules {
			covered = covered || (&rules.Matcher{Rule: rule, Attr: attributes}).Matches()
		}
		if !covered {
			t.Errorf("an update of %s can remove a label, and no rule covers it", r.Name)
		}
	}
	if len(writers) < 2 {
		t.Errorf("labels are removed only by %v: this shows nothing", writers)
	}
}

func removesLabel(t *testing.T, client kubernetes.Interface, sub string) bool {
	t.Helper()
	namespaces := client.CoreV1().Namespaces()
	namespace := kube.Create(t, namespaces, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "shop-", Labels: map[string]string{"team": "shop"}}})
	delete(namespace.Labels, "team")
	request := client.CoreV1().RESTClient().Put().Resource("namespaces").Name(namespace.Name).Body(namespace)
	if sub != "" {
		request = request.SubResource(sub)
	}
	var updated corev1.Namespace
	if err := request.Do(t.Context()).Into(&updated); err != nil {
		t.Fatalf("namespaces/%s: %v", sub, err)
	}
	_, left := updated.Labels["team"]
	return !left
}
