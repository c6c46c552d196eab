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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

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

// A user who may delete only a part of an installation keeps all of it, and the error names what is refused.
func TestRemovalIsRefusedBeforehand(t *testing.T) {
	var deleted []string
	c := answers(t, map[string]string{
		"/api":                               `{"kind": "APIVersions", "versions": ["v1"]}`,
		"/apis":                              `{"kind": "APIGroupList", "apiVersion": "v1", "groups": [{"name": "rbac.authorization.k8s.io", "versions": [{"groupVersion": "rbac.authorization.k8s.io/v1", "version": "v1"}]}]}`,
		"/api/v1":                            `{"kind": "APIResourceList", "groupVersion": "v1", "resources": []}`,
		"/apis/rbac.authorization.k8s.io/v1": `{"kind": "APIResourceList", "groupVersion": "rbac.authorization.k8s.io/v1", "resources": [{"name": "clusterroles", "singularName": "clusterrole", "namespaced": false, "kind": "ClusterRole", "verbs": ["delete"]}]}`,
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
			if err != nil {
				t.Error(err)
			}
			asked := review.Spec.ResourceAttributes
			review.Status.Allowed = asked.Name != "kept" || asked.Verb != "delete" || asked.Resource != "clusterroles" || asked.Group != "rbac.authorization.k8s.io"
			if err := json.NewEncoder(w).Encode(review); err != nil {
				t.Error(err)
			}
		})
	})
	removal := deploy.Removal{Delete: []*unstructured.Unstructured{rbacObject("ClusterRole", "", "first"), rbacObject("ClusterRole", "", "kept"), rbacObject("ClusterRole", "", "last")}}
	_, err := c.Uninstall(t.Context(), Installation{Print: t.Logf}, ConfirmedRemoval{removal})
	installtest.Error(t, "nothing was deleted", err)
	installtest.Contains(t, err.Error(), "ClusterRole kept: you may not delete it")
	installtest.Same(t, "deleted", "", strings.Join(deleted, " "))
}
