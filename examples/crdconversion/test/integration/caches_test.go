package integration

import (
	"context"
	"os"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/yaml"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

const crdName = "caches.crdconversion.example.com"

func (e *env) installCRD(bundle string) {
	e.Helper()
	text, err := os.ReadFile("../../" + bundle + "/manifests/crdconversion.example.com_caches.yaml")
	e.must(err)
	crd := &apiextensionsv1.CustomResourceDefinition{}
	e.must(yaml.UnmarshalStrict(text, crd))
	crds := e.crds.ApiextensionsV1().CustomResourceDefinitions()
	live, err := crds.Get(e.Context(), crdName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = crds.Create(e.Context(), crd, metav1.CreateOptions{})
	} else if err == nil {
		crd.ResourceVersion = live.ResourceVersion
		_, err = crds.Update(e.Context(), crd, metav1.UpdateOptions{})
	}
	e.must(err)
}

// removeCRD deletes the definition and all Caches when the test ends. The API server converts them
// for that, so the webhook must be started before, to stop after it.
func (e *env) removeCRD() {
	e.Helper()
	e.Cleanup(func() {
		ctx := context.Background()
		crds := e.Dynamic.Resource(apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions"))
		e.must(crds.Delete(ctx, crdName, metav1.DeleteOptions{}))
		e.must(kube.AwaitRemoval(ctx, crds, crdName))
	})
}

// served waits until the API server serves these versions, and converts all objects between them.
func (e *env) served(versions ...schema.GroupVersion) {
	e.Helper()
	e.eventually(func() (bool, any) {
		for _, version := range versions {
			if err := e.TryDryRun(e.T, version); err != nil {
				return false, err
			}
		}
		return true, nil
	})
}

func (e *env) eventually(condition func() (ok bool, seen any)) {
	e.Helper()
	var last any
	err := wait.PollUntilContextTimeout(e.Context(), 50*time.Millisecond, 2*time.Minute, true, func(context.Context) (bool, error) {
		ok, seen := condition()
		last = seen
		return ok, nil
	})
	if err != nil {
		e.Fatalf("not within 2 min; last observed: %v", last)
	}
}
