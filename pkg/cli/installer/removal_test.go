package installer

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/deploy"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// answers returns an Installer for an API server that answers by its path.
func answers(t *testing.T, texts map[string]string, more func(*http.ServeMux)) *Installer {
	t.Helper()
	mux := http.NewServeMux()
	for path, text := range texts {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) })
	}
	more(mux)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	c := installtest.OrPanic(New(&rest.Config{Host: server.URL}))
	return c
}

// A user who may delete only a part of an installation, or who may not update its record, keeps all of it. The error names
// what is refused.
func TestRemovalIsRefusedBeforehand(t *testing.T) {
	var deleted []string
	c := answers(t, map[string]string{
		"/api":                               `{"kind": "APIVersions", "versions": ["v1"]}`,
		"/apis":                              `{"kind": "APIGroupList", "apiVersion": "v1", "groups": [{"name": "rbac.authorization.k8s.io", "versions": [{"groupVersion": "rbac.authorization.k8s.io/v1", "version": "v1"}]}]}`,
		"/api/v1":                            `{"kind": "APIResourceList", "groupVersion": "v1", "resources": []}`,
		"/api/v1/namespaces/mall/configmaps": `{"kind": "ConfigMapList", "apiVersion": "v1", "items": []}`,
		"/api/v1/namespaces/mall/configmaps/bundle-installation.shop": `{"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "bundle-installation.shop", "namespace": "mall", "resourceVersion": "1"}, "data": {"record.yaml": "clusterServiceVersion: shop.v1"}}`,
		"/apis/rbac.authorization.k8s.io/v1":                          `{"kind": "APIResourceList", "groupVersion": "rbac.authorization.k8s.io/v1", "resources": [{"name": "clusterroles", "singularName": "clusterrole", "namespaced": false, "kind": "ClusterRole", "verbs": ["delete"]}]}`,
	}, func(mux *http.ServeMux) {
		mux.HandleFunc("DELETE /apis/rbac.authorization.k8s.io/v1/clusterroles/{name}", func(w http.ResponseWriter, r *http.Request) {
			deleted = append(deleted, r.PathValue("name"))
			fmt.Fprint(w, `{"apiVersion": "v1", "kind": "Status", "status": "Success"}`)
		})
		mux.HandleFunc("POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews", func(w http.ResponseWriter, r *http.Request) {
			var review authorizationv1.SelfSubjectAccessReview
			body, err := io.ReadAll(r.Body)
			if err == nil {
				_, _, err = scheme.Codecs.UniversalDeserializer().Decode(body, nil, &review)
			}
			installtest.Error(t, "", err)
			asked := review.Spec.ResourceAttributes
			key := strings.Join([]string{asked.Verb, asked.Group, asked.Resource, asked.Namespace, asked.Name}, " ")
			review.Status.Allowed = key != "delete rbac.authorization.k8s.io clusterroles  kept" && key != "delete  configmaps mall bundle-installation.shop"
			installtest.Error(t, "", json.NewEncoder(w).Encode(review))
		})
	})
	removal := deploy.Removal{Delete: []*unstructured.Unstructured{rbacObject("ClusterRole", "", "first"), rbacObject("ClusterRole", "", "kept"), rbacObject("ClusterRole", "", "last")}}
	i := Installation{Bundle: &bundle.Bundle{CSV: &operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}}, Manifests: []*unstructured.Unstructured{rbacObject("Role", "mall", "last")}, Print: t.Logf}
	_, err := c.Uninstall(t.Context(), i, ConfirmedRemoval{removal})
	installtest.Error(t, "nothing was deleted", err)
	installtest.Contains(t, err.Error(), "ClusterRole kept: you may not delete clusterroles.rbac.authorization.k8s.io: ask for this permission",
		"ConfigMap mall/bundle-installation.shop: you may not delete configmaps: ask for this permission")
	installtest.Same(t, "deleted", "", strings.Join(deleted, " "))
}

// Without a record, the definitions of a bundle stay, although the user asked to delete them: the error names them.
func TestNothingIsLeftButDefinitions(t *testing.T) {
	csv := &operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Name: "shop.v1"}}
	i := Installation{Bundle: &bundle.Bundle{CSV: csv}, Manifests: []*unstructured.Unstructured{rbacObject("Role", "mall", "reader")}}
	err := CheckRemoval(i, deploy.Removal{KeptDefinitions: []string{"CustomResourceDefinition carts.shop stays: --adopt removes it"}})
	installtest.Error(t, "nothing is left to remove\nCustomResourceDefinition carts.shop stays: --adopt removes it", err)
	installtest.Error(t, "", CheckRemoval(i, deploy.Removal{StaleRecord: true}))
}
