// Package catalog writes file-based catalogs: opm serves them, and catalog-operator installs operators from them.
package catalog

import (
	"fmt"
	"slices"

	"github.com/blang/semver/v4"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operator-framework/api/pkg/lib/version"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
)

// Bundle is one version of an operator.
type Bundle struct {
	Package string
	CSV     *operatorsv1alpha1.ClusterServiceVersion
	// Others are the objects of the bundle in addition to its ClusterServiceVersion.
	Others []*unstructured.Unstructured
	// Image has the files of the bundle. Without an image, the catalog has its objects.
	Image string
}

// Read returns the bundle in a folder.
func Read(dir string) (Bundle, error) {
	read, err := bundle.Inspect(dir)
	if err != nil {
		return Bundle{}, err
	}
	if err := read.Err(); err != nil {
		return Bundle{}, err
	}
	b := Bundle{Package: read.Package(), CSV: read.CSV}
	for _, o := range read.Objects {
		if o != read.CSVObject {
			b.Others = append(b.Others, o.Unstructured)
		}
	}
	return b, nil
}

// Name returns the name of the ClusterServiceVersion.
func (b Bundle) Name() string { return b.CSV.Name }

// release is the variable that differs between the pods of two releases.
const release = "RELEASE"

// Release returns the bundle as another version, PACKAGE.vNUMBER, whose pods differ in a variable. Edits change it further.
func (b Bundle) Release(number string, edits ...func(*Bundle)) Bundle {
	released := Bundle{Package: b.Package, CSV: b.CSV.DeepCopy()}
	for _, o := range b.Others {
		released.Others = append(released.Others, o.DeepCopy())
	}
	csv := released.CSV
	csv.Name = fmt.Sprintf("%s.v%s", b.Package, number)
	csv.Spec.Version = version.OperatorVersion{Version: semver.MustParse(number)}
	csv.Spec.Replaces = ""
	for _, container := range containers(csv) {
		container.Env = slices.DeleteFunc(container.Env, func(v corev1.EnvVar) bool { return v.Name == release })
		container.Env = append(container.Env, corev1.EnvVar{Name: release, Value: number})
	}
	for _, edit := range edits {
		edit(&released)
	}
	return released
}

func containers(csv *operatorsv1alpha1.ClusterServiceVersion) (all []*corev1.Container) {
	deployments := csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs
	for i := range deployments {
		pod := &deployments[i].Spec.Template.Spec
		for j := range pod.Containers {
			all = append(all, &pod.Containers[j])
		}
	}
	return all
}

// NeverReady is an edit: the containers of a version do not start.
func NeverReady(b *Bundle) {
	for _, container := range containers(b.CSV) {
		container.Args = []string{"--no-such-flag"}
	}
}

// FailsSoon is an edit: the Deployments of a version report after a few seconds that they do not progress.
func FailsSoon(b *Bundle) {
	deployments := b.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs
	for i := range deployments {
		deployments[i].Spec.ProgressDeadlineSeconds = new(int32(5))
		deployments[i].Spec.MinReadySeconds = 0
	}
}
