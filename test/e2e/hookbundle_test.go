package e2e

import (
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// hookBundle writes a bundle with the plain webhook server, after a test has done to it
// what it is about, and returns its folder.
func (e *env) hookBundle(name string, spoil func(*operatorsv1alpha1.ClusterServiceVersion, *corev1.PodSpec)) string {
	e.Helper()
	csv := hookCSV(name+".v1", server(name))
	spoil(csv, &csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Spec.Template.Spec)
	return bundleOf(e, name, csv)
}

func bundleOf(e *env, name string, csv *operatorsv1alpha1.ClusterServiceVersion) string {
	e.Helper()
	csv = csv.DeepCopy()
	csv.APIVersion, csv.Kind = operatorsv1alpha1.SchemeGroupVersion.String(), operatorsv1alpha1.ClusterServiceVersionKind
	text, err := yaml.Marshal(csv)
	e.must(err)
	folder := e.TempDir()
	for file, content := range map[string]string{
		"manifests/csv.yaml":        string(text),
		"metadata/annotations.yaml": "annotations: {operators.operatorframework.io.bundle.package.v1: " + name + "}\n",
	} {
		file = filepath.Join(folder, file)
		e.must(os.MkdirAll(filepath.Dir(file), 0o700))
		e.must(os.WriteFile(file, []byte(content), 0o600))
	}
	return folder
}

func unspoilt(*operatorsv1alpha1.ClusterServiceVersion, *corev1.PodSpec) {}
