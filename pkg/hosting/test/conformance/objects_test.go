package conformance

import (
	"context"
	"strings"
	"sync"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/hostingtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// newClient returns an administrator's client.
func newClient(t *testing.T, handlers ...rest.WarningHandler) kubernetes.Interface {
	t.Helper()
	config := cluster.Config()
	for _, h := range handlers {
		config.WarningHandler = h
	}
	client, err := kubernetes.NewForConfig(config)
	hostingtest.Must(t, err)
	return client
}

type warnings struct {
	mu    sync.Mutex
	texts []string
}

func (w *warnings) HandleWarningHeader(_ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.texts = append(w.texts, text)
}

func (w *warnings) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	texts := w.texts
	w.texts = nil
	return texts
}

// newNamespace creates a namespace, and deletes the registrations of a Builder of that name after
// the test. It also returns a client of an administrator.
func newNamespace(t *testing.T, prefix string) (name string, client kubernetes.Interface) {
	t.Helper()
	client = newClient(t)
	made := kube.Create(t, client.CoreV1().Namespaces(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: prefix + "-"}})
	t.Cleanup(func() { unregister(t, made.Name) })
	return made.Name, client
}

func unregister(t *testing.T, builder string) {
	t.Helper()
	ctx := context.Background()
	client, err := dynamic.NewForConfig(cluster.Config())
	hostingtest.Must(t, err)
	for _, resource := range []string{"validatingwebhookconfigurations", "mutatingwebhookconfigurations"} {
		registrations := client.Resource(admissionregistrationv1.SchemeGroupVersion.WithResource(resource))
		list, err := registrations.List(ctx, metav1.ListOptions{})
		hostingtest.Must(t, err)
		for _, r := range list.Items {
			if strings.HasPrefix(r.GetName(), builder+"-") {
				if err := registrations.Delete(ctx, r.GetName(), metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
					t.Error(err)
				}
			}
		}
	}
}

func selecting(namespace string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}}
}

func doing(what string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: what}, Data: map[string]string{"do": what}}
}

func dryRun(ctx context.Context, client kubernetes.Interface, namespace, do string) error {
	_, err := client.CoreV1().ConfigMaps(namespace).Create(ctx, doing(do), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}

// waitUntilCalled returns when the API server calls the webhook.
func waitUntilCalled(t *testing.T, client kubernetes.Interface, namespace string) {
	t.Helper()
	hostingtest.Eventually(t, "the API server calls the webhook", func() bool {
		return apierrors.IsForbidden(dryRun(t.Context(), client, namespace, "deny"))
	})
}

func logEnd(t *testing.T) int64 {
	t.Helper()
	if !cluster.Audit.Available() {
		t.Skip("the audit log of the cluster that KUBECONFIG names cannot be read")
	}
	place, err := cluster.Audit.End()
	hostingtest.Must(t, err)
	return place
}

func waitForAnnotation(t *testing.T, place int64, key, value string) {
	t.Helper()
	hostingtest.Eventually(t, "the audit log has "+key, func() bool {
		events, err := cluster.Audit.Since(place)
		hostingtest.Must(t, err)
		for _, event := range events {
			if event.Annotations[key] == value {
				return true
			}
		}
		return false
	})
}
