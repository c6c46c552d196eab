package integration

import (
	"context"
	"io"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/audit"
	clusterpkg "github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cluster"
	doctorcmd "github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/doctor"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// One resource in the scope cannot be listed, because its conversion webhook is lost, too. The audit lists the rest.
func TestAuditWhileAConversionWebhookIsLost(t *testing.T) {
	e := newParallelEnv(t)
	group := e.namespace + ".example.com"
	versionOf := func(name string, storage bool) map[string]any {
		return map[string]any{"name": name, "served": true, "storage": storage, "schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}
	}
	crd := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": apiextensionsv1.SchemeGroupVersion.String(), "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "gadgets." + group},
		"spec": map[string]any{
			"group": group, "scope": "Namespaced", "names": map[string]any{"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "listKind": "GadgetList"},
			"versions": []any{versionOf("v1", true), versionOf("v2", false)},
			"conversion": map[string]any{"strategy": "Webhook", "webhook": map[string]any{
				"conversionReviewVersions": []any{"v1"}, "clientConfig": map[string]any{"service": map[string]any{"namespace": e.namespace, "name": "none"}},
			}},
		},
	}}
	definitions := e.any.Resource(apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions"))
	_, err := definitions.Create(e.ctx, crd, metav1.CreateOptions{})
	e.must(err)
	e.Cleanup(func() { _ = definitions.Delete(context.Background(), crd.GetName(), metav1.DeleteOptions{}) })
	gadgets := e.any.Resource(schema.GroupVersionResource{Group: group, Version: "v1", Resource: "gadgets"}).Namespace(e.namespace)
	e.eventually("a gadget is created", func() (bool, any) {
		_, err := gadgets.Create(e.ctx, &unstructured.Unstructured{Object: map[string]any{"apiVersion": group + "/v1", "kind": "Gadget", "metadata": map[string]any{"name": "one"}}}, metav1.CreateOptions{})
		return err == nil, err
	})
	hook := opensSilent(e, anyOperation("", "v1", "configmaps"), anyOperation(group, "v2", "gadgets"))
	_, err = e.kube.CoreV1().ConfigMaps(e.namespace).Create(e.ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "passed"}}, metav1.CreateOptions{})
	e.must(err)
	reader := installtest.OrPanic(clusterpkg.New(cluster.Config()))
	facts, _, err := reader.Audit(e.ctx, metav1.NamespaceAll, []string{hook})
	if err != nil {
		t.Fatalf("the audit ends, without a list: %v", err)
	}
	report := audit.List(facts)
	same(t, "objects", lists.Map(report.Entries, func(a audit.Entry) string { return a.Name }), []string{"passed"})
	installtest.Says(t, "resources that could not be listed", "gadgets."+group+": conversion webhook for", strings.Join(report.Unread, "\n"))
	said, err := runAudit(e, hook)
	installtest.Contains(t, said, "configmaps "+e.namespace+"/passed")
	installtest.Error(t, "the list is not complete: gadgets."+group, err)
}

// An API group in the scope is not served at the moment: its API server is lost. The list is not complete, and reports this.
func TestAuditOfAGroupThatIsNotServed(t *testing.T) {
	e := newParallelEnv(t)
	group := lostGroup(e)
	hook := opensSilent(e, anyOperation(group, "v1", "gadgets"))
	reader := installtest.OrPanic(clusterpkg.New(cluster.Config()))
	facts, _, err := reader.Audit(e.ctx, metav1.NamespaceAll, []string{hook})
	e.must(err)
	installtest.Says(t, "resources that could not be read", "the resources of "+group+"/v1 could not be read", strings.Join(audit.List(facts).Unread, "\n"))
	_, err = runAudit(e, hook)
	installtest.Error(t, "the list is not complete: the resources of "+group+"/v1", err)
}

// An object of a group whose API server is lost: its apiVersion and kind are correct.
func TestExplainOfAGroupThatIsNotServed(t *testing.T) {
	e := newParallelEnv(t)
	group := lostGroup(e)
	cmd := doctorcmd.NewCommand(nil)
	cmd.SetIn(strings.NewReader("{apiVersion: " + group + "/v1, kind: Gadget, metadata: {name: one}}"))
	cmd.SetOut(io.Discard)
	cmd.SetErr(io.Discard)
	cmd.SetArgs([]string{"explain", "-f", "-", "--kubeconfig", cluster.Kubeconfig})
	installtest.Error(t, "the resources of "+group+"/v1 cannot be read", cmd.ExecuteContext(e.ctx))
}

// lostGroup returns an API group whose API server does not answer.
func lostGroup(e *env) string {
	e.Helper()
	group := e.namespace + ".example.org"
	services := e.any.Resource(schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"})
	_, err := services.Create(e.ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": map[string]any{"name": "v1." + group},
		"spec": map[string]any{"group": group, "version": "v1", "groupPriorityMinimum": int64(1000), "versionPriority": int64(10), "insecureSkipTLSVerify": true,
			"service": map[string]any{"namespace": e.namespace, "name": "none"}},
	}}, metav1.CreateOptions{})
	e.must(err)
	e.Cleanup(func() { _ = services.Delete(context.Background(), "v1."+group, metav1.DeleteOptions{}) })
	e.eventually("discovery fails for the group", func() (bool, any) {
		_, _, err := e.kube.Discovery().ServerGroupsAndResources()
		failed, _ := discovery.GroupDiscoveryFailedErrorGroups(err)
		return failed[schema.GroupVersion{Group: group, Version: "v1"}] != nil, err
	})
	return group
}
