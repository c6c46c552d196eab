package kube

import (
	"bytes"
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
)

func TestCertManager(t *testing.T) {
	must(t, cluster.StartCertManager(t.Context()))
	client, err := dynamic.NewForConfig(cluster.Config())
	must(t, err)
	for resource, object := range map[string]map[string]any{
		"issuers": {"kind": "Issuer", "spec": map[string]any{"selfSigned": map[string]any{}}},
		"certificates": {"kind": "Certificate", "spec": map[string]any{
			"secretName": "issued", "dnsNames": []any{"example.test"},
			"issuerRef": map[string]any{"kind": "Issuer", "name": "issues"},
		}},
	} {
		object["apiVersion"], object["metadata"] = "cert-manager.io/v1", map[string]any{"name": "issues"}
		objects := client.Resource(schema.GroupVersionResource{Group: "cert-manager.io", Version: "v1", Resource: resource}).Namespace("default")
		if _, err := objects.Create(t.Context(), &unstructured.Unstructured{Object: object}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := objects.Delete(context.Background(), "issues", metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
	secrets := newClient(t, cluster.Config()).CoreV1().Secrets("default")
	err = wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		issued, err := secrets.Get(ctx, "issued", metav1.GetOptions{})
		return err == nil && bytes.Contains(issued.Data[corev1.TLSCertKey], []byte("CERTIFICATE")), nil
	})
	if err != nil {
		t.Errorf("no certificate is issued: %v", err)
	}
}
