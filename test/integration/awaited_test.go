package integration

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/yaml"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	bundlepkg "github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/deploy"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/installer"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// A version that a bundle adds, and that its webhook converts to, is served once that webhook converts, or earlier if
// the webhook's own pods may be waiting for it.
func TestVersionsThatAreAwaited(t *testing.T) {
	for name, test := range map[string]struct {
		waits bool
		says  string
	}{
		"its webhook serves":       {false, "serves v2, which its webhook converts to"},
		"its webhook waits for it": {true, "serves v2, for which Deployment server may be waiting: requests in it fail until its webhook serves"},
	} {
		t.Run(name, func(t *testing.T) {
			e := newParallelEnv(t)
			crd := newCRD(e, "gears", "v1")
			e.manage()
			writes := watchServed(e, crd.Name, "v2")
			b := e.bundleOf(adding(crd, "v2"), converting("operator.v1", crd.Name))
			install := installing(e, b, patience)
			e.eventually("its Deployment exists", func() (bool, any) { return e.deployment("server") != nil, install.said() })
			if awaited := e.get("operator.v1").Annotations[wellknown.AnnotationAwaitedVersions]; awaited != crd.Name+"/v2" || writes.served() {
				t.Errorf("awaited are %q, v2 is served: %t", awaited, writes.served())
			}
			if test.waits {
				notReady(e, "server")
				e.eventually("the manager sees it", func() (bool, any) {
					deployments := e.rollout("operator.v1").Deployments
					return len(deployments) == 1 && deployments[0].Reason == "PodNotReady", deployments
				})
				install.cancel()
				install.endsWith(installer.ErrInterrupted)
				install = installing(e, b, 5*time.Second) // and as long again until its webhook serves
				e.eventually("the version is served", func() (bool, any) { return writes.served(), install.said() })
			}
			setAvailable(e, "server", true)
			install.ends()
			install.says(test.says)
			e.eventually("the watch has reported v2", func() (bool, any) { return writes.served(), nil })
			if first := writes.first(); first.Spec.Conversion.Strategy != apiextensionsv1.WebhookConverter || test.waits != (len(first.Spec.Conversion.Webhook.ClientConfig.CABundle) == 0) || first.Spec.Versions[0].Storage {
				t.Errorf("v2 came with %+v, stored in %+v", first.Spec.Conversion, first.Spec.Versions)
			}
			now, csv := e.crd(crd.Name), e.get("operator.v1")
			if _, awaits := csv.Annotations[wellknown.AnnotationAwaitedVersions]; awaits || csv.Status.Phase != operatorsv1alpha1.CSVPhaseSucceeded || !now.Spec.Versions[0].Storage || len(now.Spec.Conversion.Webhook.ClientConfig.CABundle) == 0 {
				t.Errorf("in the end it is %s, annotated %v; versions %+v, converted by %+v", csv.Status.Phase, csv.Annotations, now.Spec.Versions, now.Spec.Conversion)
			}
		})
	}
}

func adding(crd *apiextensionsv1.CustomResourceDefinition, version string) *apiextensionsv1.CustomResourceDefinition {
	next := &apiextensionsv1.CustomResourceDefinition{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"},
		ObjectMeta: metav1.ObjectMeta{Name: crd.Name}, Spec: *crd.Spec.DeepCopy(),
	}
	added := *next.Spec.Versions[0].DeepCopy()
	next.Spec.Versions[0].Storage, added.Name = false, version
	next.Spec.Versions = append([]apiextensionsv1.CustomResourceDefinitionVersion{added}, next.Spec.Versions...)
	return next
}

func (e *env) bundleOf(crd *apiextensionsv1.CustomResourceDefinition, csv *operatorsv1alpha1.ClusterServiceVersion) *bundlepkg.Bundle {
	e.Helper()
	csv.APIVersion, csv.Kind = operatorsv1alpha1.SchemeGroupVersion.String(), operatorsv1alpha1.ClusterServiceVersionKind
	csv.Spec.CustomResourceDefinitions.Owned = nil
	for _, v := range crd.Spec.Versions {
		csv.Spec.CustomResourceDefinitions.Owned = append(csv.Spec.CustomResourceDefinitions.Owned, operatorsv1alpha1.CRDDescription{Name: crd.Name, Version: v.Name, Kind: crd.Spec.Names.Kind})
	}
	folder := e.TempDir()
	for file, object := range map[string]any{
		"manifests/crd.yaml": crd, "manifests/csv.yaml": csv,
		"metadata/annotations.yaml": map[string]any{"annotations": map[string]string{"operators.operatorframework.io.bundle.package.v1": "operator"}},
	} {
		text := installtest.OrPanic(yaml.Marshal(object))
		file = filepath.Join(folder, file)
		e.must(os.MkdirAll(filepath.Dir(file), 0o700))
		e.must(os.WriteFile(file, text, 0o600))
	}
	b := installtest.OrPanic(bundlepkg.Open(e.ctx, folder, bundlepkg.Registry{}))
	return b
}

type installation struct {
	*env
	mutex  sync.Mutex
	lines  []string
	ended  chan error
	cancel context.CancelFunc
}

// installing is for all namespaces, unless some are named.
func installing(e *env, b *bundlepkg.Bundle, patience time.Duration, watch ...string) *installation {
	e.Helper()
	if len(watch) == 0 {
		watch = []string{metav1.NamespaceAll}
	}
	manifests := installtest.OrPanic(bundlepkg.Manifests(b, bundlepkg.Options{Namespace: e.namespace, Watch: watch}))
	c := installtest.OrPanic(installer.New(cluster.Config()))
	i := &installation{env: e, ended: make(chan error, 1)}
	ctx, cancel := context.WithCancel(e.ctx)
	i.cancel = cancel
	go func() {
		installation := installer.Installation{Bundle: b, Manifests: manifests, Timeout: patience, Print: i.say}
		for _, m := range manifests { // as an administrator who agrees to everything
			installation.Adopted = append(installation.Adopted, deploy.Reference(m))
		}
		i.ended <- agreeAndInstall(ctx, c, installation)
	}()
	return i
}

func agreeAndInstall(ctx context.Context, c *installer.Installer, i installer.Installation) error {
	p, err := c.Plan(ctx, installer.Show(output.New(io.Discard), i))
	if err != nil {
		return err
	}
	agreed, err := p.Confirm(func() error { return nil })
	if err != nil {
		return err
	}
	_, err = c.Install(ctx, agreed)
	return err
}

func (i *installation) say(format string, args ...any) {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	i.lines = append(i.lines, fmt.Sprintf(format, args...))
}

func (i *installation) said() string {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	return strings.Join(i.lines, "\n")
}

func (i *installation) says(text string) {
	i.Helper()
	installtest.Contains(i, i.said(), text)
}

func (i *installation) ends() { i.endsWith(nil) }

func (i *installation) endsWith(want error) {
	i.Helper()
	select {
	case err := <-i.ended:
		if !errors.Is(err, want) {
			i.Fatalf("it ends with %v, want %v\n%s", err, want, i.said())
		}
	case <-time.After(patience):
		i.Fatalf("it does not end:\n%s", i.said())
	}
}

type versionWatch struct {
	mutex  sync.Mutex
	states []*apiextensionsv1.CustomResourceDefinition
}

func watchServed(e *env, crd, version string) *versionWatch {
	e.Helper()
	w := kube.Watch(e, extensions(e).ApiextensionsV1().CustomResourceDefinitions(), metav1.ListOptions{FieldSelector: "metadata.name=" + crd})
	s := &versionWatch{}
	go func() {
		for event := range w.ResultChan() {
			if d, ok := event.Object.(*apiextensionsv1.CustomResourceDefinition); ok && event.Type != watch.Deleted {
				s.add(d, version)
			}
		}
	}()
	return s
}

func (s *versionWatch) add(d *apiextensionsv1.CustomResourceDefinition, version string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, v := range d.Spec.Versions {
		if v.Name == version && v.Served {
			s.states = append(s.states, d)
		}
	}
}

func (s *versionWatch) served() bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return len(s.states) > 0
}

func (s *versionWatch) first() *apiextensionsv1.CustomResourceDefinition {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.states[0]
}

func (e *env) crd(name string) *apiextensionsv1.CustomResourceDefinition {
	e.Helper()
	return kube.Get(e, extensions(e).ApiextensionsV1().CustomResourceDefinitions(), name)
}

// notReady plays a pod of a Deployment that runs and does not get ready, and the kubelet that warns of it.
func notReady(e *env, deployment string) {
	e.Helper()
	setAvailable(e, deployment, false)
	pod := kube.Create(e, e.kube.CoreV1().Pods(e.namespace), ownPod(e, deployment+"-6d4cf56db6"))
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: deployment, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}}}
	kube.UpdateStatus(e, e.kube.CoreV1().Pods(e.namespace), pod)
	kube.Create(e, e.kube.CoreV1().Events(e.namespace), &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "unhealthy-"}, Type: corev1.EventTypeWarning, Reason: "Unhealthy", Message: "Readiness probe failed", LastTimestamp: metav1.Now(),
		InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: e.namespace, Name: pod.Name, UID: pod.UID},
	})
}
