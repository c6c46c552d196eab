package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// InstallCRDs applies the CustomResourceDefinitions of YAML files, and returns when the API server serves all of them.
func (c *Cluster) InstallCRDs(ctx context.Context, paths ...string) error {
	client, err := apiextensions.NewForConfig(c.config)
	if err != nil {
		return err
	}
	var crds []*apiextensionsv1.CustomResourceDefinition
	for _, path := range paths {
		objects, err := readObjects(path)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		for _, object := range objects {
			crd, err := applyCRD(ctx, client, object)
			if err != nil {
				return fmt.Errorf("%s: apply %s %s: %w", path, object.GetKind(), object.GetName(), err)
			}
			crds = append(crds, crd)
		}
	}
	for _, crd := range crds {
		if err := WaitUntilServed(ctx, client, crd.Name); err != nil {
			return err
		}
	}
	return nil
}

func readObjects(path string) ([]unstructured.Unstructured, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var objects []unstructured.Unstructured
	for decoder := yaml.NewYAMLToJSONDecoder(file); ; {
		var object unstructured.Unstructured
		err := decoder.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		if len(object.Object) > 0 { // a file may begin with a line of dashes
			objects = append(objects, object)
		}
	}
}

func applyCRD(ctx context.Context, client apiextensions.Interface, object unstructured.Unstructured) (*apiextensionsv1.CustomResourceDefinition, error) {
	if object.GetKind() != "CustomResourceDefinition" {
		return nil, errors.New("it is no CustomResourceDefinition")
	}
	body, err := json.Marshal(object.Object)
	if err != nil {
		return nil, err
	}
	// In kubectl's name, so that a later kubectl apply finds no other client's fields.
	return client.ApiextensionsV1().CustomResourceDefinitions().Patch(ctx, object.GetName(), types.ApplyPatchType, body,
		metav1.PatchOptions{FieldManager: "kubectl", Force: new(true)})
}

// WaitUntilServed also requests objects: the condition Established is true before the first request is answered.
func WaitUntilServed(ctx context.Context, client apiextensions.Interface, name string) error {
	const limit = time.Minute
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, limit, true, func(ctx context.Context) (bool, error) {
		crd, err := client.ApiextensionsV1().CustomResourceDefinitions().Get(ctx, name, metav1.GetOptions{})
		if err != nil || !apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Established) {
			return false, err
		}
		return allServed(ctx, client, crd), nil
	})
	if err != nil {
		return fmt.Errorf("CustomResourceDefinition %s is not served: %w", name, err)
	}
	return nil
}

func allServed(ctx context.Context, client apiextensions.Interface, crd *apiextensionsv1.CustomResourceDefinition) bool {
	for _, version := range crd.Spec.Versions {
		path := fmt.Sprintf("/apis/%s/%s/%s", crd.Spec.Group, version.Name, crd.Spec.Names.Plural)
		list := client.Discovery().RESTClient().Get().AbsPath(path).Param("limit", "1")
		if version.Served && list.Do(ctx).Error() != nil {
			return false
		}
	}
	return true
}
