package chart

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	yamlreader "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

const (
	folder           = "../../charts/olm-webhook-manager"
	manifests        = "../../manifests/"
	managerNamespace = "olm-webhook-manager"
)

// objects are decoded objects by kind, namespace and name.
type objects map[string]map[string]any

func (o objects) add(t *testing.T, content []byte) {
	t.Helper()
	var object map[string]any
	if err := yaml.Unmarshal(content, &object); err != nil {
		t.Fatalf("%v:\n%s", err, content)
	}
	if len(object) == 0 { // The document has only comments.
		return
	}
	metadata, isMap := object["metadata"].(map[string]any)
	if !isMap {
		t.Fatalf("an object has no metadata:\n%s", content)
	}
	key := fmt.Sprint(object["kind"], " ", metadata["name"])
	if namespace := metadata["namespace"]; namespace != nil {
		key = fmt.Sprint(object["kind"], " ", namespace, "/", metadata["name"])
	}
	if _, exists := o[key]; exists {
		t.Fatalf("there are two objects %s", key)
	}
	o[key] = object
}

func load(t *testing.T) *chartv2.Chart {
	t.Helper()
	chart, err := loader.LoadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	return chart
}

// render returns what Helm renders with the values, by template.
func render(t *testing.T, values string) (map[string]string, error) {
	t.Helper()
	return renderIn(t, managerNamespace, values)
}

func renderIn(t *testing.T, namespace, values string) (map[string]string, error) {
	t.Helper()
	var given map[string]any
	if err := yaml.UnmarshalStrict([]byte(values), &given); err != nil {
		t.Fatal(err)
	}
	chart := load(t)
	release := common.ReleaseOptions{Name: "some-release", Namespace: namespace, IsInstall: true, Revision: 1}
	complete, err := util.ToRenderValues(chart, given, release, nil)
	if err != nil {
		return nil, err
	}
	return engine.Render(chart, complete)
}

// rendered returns the objects that Helm renders with the values.
func rendered(t *testing.T, values string) objects {
	t.Helper()
	files, err := render(t, values)
	if err != nil {
		t.Fatal(err)
	}
	all := objects{}
	for name, content := range files {
		if strings.HasSuffix(name, "NOTES.txt") {
			continue
		}
		reader := yamlreader.NewYAMLReader(bufio.NewReader(strings.NewReader(content)))
		for {
			document, err := reader.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			all.add(t, document)
		}
	}
	return all
}

// built returns the objects of folders of manifests. An object without a namespace gets the one that kubectl's flag -n
// would name.
func built(t *testing.T, namespace string, folders ...string) objects {
	t.Helper()
	all := objects{}
	for _, f := range folders {
		resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), manifests+f)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range resources.Resources() {
			if r.GetNamespace() == "" && namespace != "" {
				if err := r.SetNamespace(namespace); err != nil {
					t.Fatal(err)
				}
			}
			content, err := r.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			all.add(t, content)
		}
	}
	return all
}
