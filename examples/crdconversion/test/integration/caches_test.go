package integration

import (
	"context"
	"encoding/json"
	"os"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/yaml"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/crdconversion/convert"
)

const crdName = "caches.crdconversion.example.com"

// installCRD makes the definition what a bundle says, and leaves nothing of another one.
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

// removeCRD removes the definition and all Caches when the test ends. To delete them the
// API server converts them: the webhook must have been started before, to end after.
func (e *env) removeCRD() {
	e.Helper()
	e.Cleanup(func() {
		ctx := context.Background()
		crds := e.crds.ApiextensionsV1().CustomResourceDefinitions()
		e.must(crds.Delete(ctx, crdName, metav1.DeleteOptions{}))
		e.must(wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
			_, err := crds.Get(ctx, crdName, metav1.GetOptions{})
			return apierrors.IsNotFound(err), nil
		}))
	})
}

// served waits until the API server serves exactly these versions, and converts whatever
// there is from one to another.
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

// patchCRD changes the definition as an administrator does.
func (e *env) patchCRD(patch map[string]any, subresources ...string) {
	e.Helper()
	body, err := json.Marshal(patch)
	e.must(err)
	_, err = e.crds.ApiextensionsV1().CustomResourceDefinitions().Patch(e.Context(), crdName, "application/merge-patch+json", body, metav1.PatchOptions{}, subresources...)
	e.must(err)
}

// storeIn has all Caches stored in a version, and the API server know that no other is.
func (e *env) storeIn(version schema.GroupVersion) {
	e.Helper()
	crd, err := e.crds.ApiextensionsV1().CustomResourceDefinitions().Get(e.Context(), crdName, metav1.GetOptions{})
	e.must(err)
	for i := range crd.Spec.Versions {
		crd.Spec.Versions[i].Storage = crd.Spec.Versions[i].Name == version.Version
	}
	before := e.storageVersionHash(version)
	e.patchCRD(map[string]any{"spec": map[string]any{"versions": crd.Spec.Versions}})
	e.eventually(func() (bool, any) {
		now := e.storageVersionHash(version)
		return now != before, now
	})
	all, err := e.In(version).List(e.Context(), metav1.ListOptions{})
	e.must(err)
	for _, object := range all.Items {
		_, err := e.In(version).Update(e.Context(), &object, metav1.UpdateOptions{})
		e.must(err)
	}
	e.patchCRD(map[string]any{"status": map[string]any{"storedVersions": []string{version.Version}}}, "status")
}

// storageVersionHash is by what the API server shows in which version it stores.
func (e *env) storageVersionHash(version schema.GroupVersion) string {
	e.Helper()
	resources, err := e.crds.Discovery().ServerResourcesForGroupVersion(version.String())
	e.must(err)
	for _, resource := range resources.APIResources {
		if resource.Name == convert.Resource {
			return resource.StorageVersionHash
		}
	}
	e.Fatalf("%s is not among the resources of %s", convert.Resource, version)
	return ""
}

// eventually waits until a condition holds, and fails with what it saw last.
func (e *env) eventually(condition func() (ok bool, seen any)) {
	e.Helper()
	var last any
	err := wait.PollUntilContextTimeout(e.Context(), 50*time.Millisecond, 30*time.Second, true, func(context.Context) (bool, error) {
		ok, seen := condition()
		last = seen
		return ok, nil
	})
	if err != nil {
		e.Fatalf("not within 30 s; last seen: %v", last)
	}
}
