package e2e

import (
	"fmt"
	"os"
	"path/filepath"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// explainsRequests runs the commands of docs/admin that show which webhooks see a request, with a cluster and without one.
func (g *guide) explainsRequests() {
	g.Helper()
	folder := g.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(folder, name)
		if content != "" {
			g.must(os.WriteFile(path, []byte(content), 0o600))
		}
		return path
	}
	configMap := file("configmap.yaml", `{apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: shop}}`)
	stored := kube.List(g, kubeClient.CoreV1().Pods("shop"), metav1.ListOptions{}).Items[0].Name // It can be deleted.
	pod := file("pod.yaml", fmt.Sprintf(`{apiVersion: v1, kind: Pod, metadata: {name: %s, namespace: shop}, spec: {containers: [{name: one, image: one}]}}`, stored))
	contains(g.env, g.works("kubectl webhooks doctor explain -f FILE", "FILE", configMap), "v.shop.io")
	g.works("kubectl webhooks doctor explain -f pod.yaml --request-user", "pod.yaml", pod)
	contains(g.env, g.works("kubectl webhooks doctor explain -f pod.yaml --operation DELETE --all", "pod.yaml", pod), "v.shop.io")

	cluster, policies, core := file("cluster.yaml", ""), file("policies.yaml", ""), file("core.json", "")
	g.works("kubectl get mutatingwebhookconfigurations,", "cluster.yaml", cluster)
	g.works("kubectl get validatingadmissionpolicies,", "policies.yaml", policies)
	g.works("kubectl get --raw /api/v1", "core.json", core)
	said := g.works("kubectl webhooks doctor explain -f configmap.yaml --dump", "configmap.yaml", configMap,
		"cluster.yaml", cluster, "policies.yaml", policies, "core.json", core)
	contains(g.env, said, "v.shop.io")
}
