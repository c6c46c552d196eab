package world

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// Definitions reads the CustomResourceDefinitions of OLM and of the manager, once. The argument is the root of the repository.
func Definitions(root string) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	definitionsOnce.Do(func() { definitions, errDefinitions = readDefinitions(root) })
	return definitions, errDefinitions
}

var (
	definitionsOnce sync.Once
	definitions     []*apiextensionsv1.CustomResourceDefinition
	errDefinitions  error
)

func readDefinitions(root string) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	paths, err := filepath.Glob(filepath.Join(root, "manifests/crds/olm/operators*.yaml"))
	if err != nil {
		return nil, err
	}
	var all []*apiextensionsv1.CustomResourceDefinition
	for _, path := range append(paths, filepath.Join(root, "manifests/crds/olm-webhook-manager.io_webhookrollouts.yaml")) {
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal(content, definition); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, definition)
	}
	return all, nil
}

// Define creates definitions, and returns when the API server serves them. It delays the creation of custom resources for two seconds after that.
func Define(ctx context.Context, config *rest.Config, all []*apiextensionsv1.CustomResourceDefinition) error {
	client, err := clientset.NewForConfig(config)
	if err != nil {
		return err
	}
	for _, definition := range all {
		if _, err := client.ApiextensionsV1().CustomResourceDefinitions().Create(ctx, definition, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	for _, definition := range all {
		if err := kube.WaitUntilServed(ctx, client, definition.Name); err != nil {
			return err
		}
	}
	return nil
}
