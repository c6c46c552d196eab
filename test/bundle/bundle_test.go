// Package bundle holds what pkg/cli/bundle claims about a cluster against a real API server:
// each finding that predicts a refusal is refused, and rendered manifests are accepted.
//
// BUNDLES names a folder with a registry+v1 bundle in NAME/VERSION for each operator, as
// in test/corpus.
package bundle

import (
	"context"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/installer"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

var cluster *kube.Cluster

func TestMain(m *testing.M) { kube.Main(m, &cluster) }

type env struct {
	kube    kubernetes.Interface
	dynamic dynamic.Interface
	mapper  *restmapper.DeferredDiscoveryRESTMapper
}

func newEnv(t *testing.T) *env {
	t.Helper()
	crds, err := filepath.Glob("../../manifests/crds/olm/operators*.yaml")
	must(t, err)
	must(t, cluster.InstallCRDs(t.Context(), append(crds, "../../manifests/crds/olm-webhook-manager.io_webhookrollouts.yaml", "testdata/monitoring.yaml")...))
	e := &env{}
	e.kube, err = kubernetes.NewForConfig(cluster.Config())
	must(t, err)
	config := cluster.Config()
	config.WarningHandler = rest.NoWarnings{} // unknown fields are what some tests are about
	e.dynamic, err = dynamic.NewForConfig(config)
	must(t, err)
	e.mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(e.kube.Discovery()))
	return e
}

func (e *env) resource(object *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	kind := object.GroupVersionKind()
	mapping, err := e.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		e.mapper.Reset()
		mapping, err = e.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	}
	if err != nil {
		return nil, err
	}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		return e.dynamic.Resource(mapping.Resource).Namespace(object.GetNamespace()), nil
	}
	return e.dynamic.Resource(mapping.Resource), nil
}

func (e *env) create(ctx context.Context, object runtime.Object, dryRun bool) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return err
	}
	u := &unstructured.Unstructured{Object: content}
	resource, err := e.resource(u)
	if err != nil {
		return err
	}
	options := metav1.CreateOptions{}
	if dryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	_, err = resource.Create(ctx, u, options)
	return err
}

func (e *env) namespace(t *testing.T, name string) {
	t.Helper()
	e.createIfAbsent(t, objectOf(corev1.SchemeGroupVersion.WithKind("Namespace"), "", name))
}

func newInstaller(t *testing.T) *installer.Installer {
	t.Helper()
	return installtest.OrPanic(installer.New(cluster.Config()))
}

func newEnvWithInstaller(t *testing.T) (*env, *installer.Installer) {
	t.Helper()
	return newEnv(t), newInstaller(t)
}

func (e *env) client(t *testing.T, object *unstructured.Unstructured) dynamic.ResourceInterface {
	t.Helper()
	client := installtest.OrPanic(e.resource(object))
	return client
}

func (e *env) createIfAbsent(t *testing.T, object runtime.Object) {
	t.Helper()
	if err := e.create(t.Context(), object, false); !apierrors.IsAlreadyExists(err) {
		must(t, err)
	}
}

var must = installtest.Must
