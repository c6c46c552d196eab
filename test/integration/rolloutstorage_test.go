package integration

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/programs"
)

const (
	rolloutsCRD   = "webhookrollouts.olm-webhook-manager.io"
	rolloutsFile  = "../../manifests/crds/olm-webhook-manager.io_webhookrollouts.yaml"
	oldVersion    = "v1alpha1"
	newVersion    = "v1beta1"
	operatorCount = 10
)

// A later manifest stores WebhookRollouts in a new version. An administrator migrates them as docs/admin/upgrade.md
// describes, while the manager writes statuses in the old version. No WebhookRollout is lost. The old version can be
// removed from the definition after the migration and not before it, and so can the new one on the way back.
// The definition is that of all tests: none runs next to this one.
func TestStorageOfWebhookRollouts(t *testing.T) {
	e := operating(newEnv(t), allNamespaces)
	s := &rolloutStorage{env: e, definitions: e.any.Resource(apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions"))}
	e.Cleanup(s.restore)
	s.manager = e.manage()
	for i := range operatorCount {
		e.install(csv(fmt.Sprintf("operator-%d.v1", i), fmt.Sprintf("server-%d", i)))
	}
	before := s.uids(oldVersion)

	s.applies(storing(newVersion, oldVersion, newVersion))
	s.refuses(storing(newVersion, newVersion), oldVersion)
	s.whileStatusesChange(func() { s.migrates(newVersion) })
	s.works("migrated", before)

	s.applies(storing(oldVersion, oldVersion, newVersion)) // as in the previous minor version
	s.works("back", before)
	s.refuses(storing(oldVersion, oldVersion), newVersion) // as in a still earlier one
	s.whileStatusesChange(func() { s.migrates(oldVersion) })
	s.applies(storing(oldVersion, oldVersion))
	s.works("first", before)

	s.applies(storing(newVersion, oldVersion, newVersion))
	s.whileStatusesChange(func() { s.migrates(newVersion) })
	s.works("again", before)
	s.manager.stop() // It reads the old version.
	before = s.uids(oldVersion)
	s.applies(storing(newVersion, newVersion))
	s.isSame("WebhookRollouts without the old version", before, s.uids(newVersion))
}

// rolloutStorage is the definition of WebhookRollouts, and the manager that writes them.
type rolloutStorage struct {
	*env
	manager     *manager
	definitions dynamic.ResourceInterface
}

// storing returns a change of the definition in manifests to these versions. Each has the schema of the one there.
func storing(stored string, names ...string) func(*apiextensionsv1.CustomResourceDefinition) {
	return func(crd *apiextensionsv1.CustomResourceDefinition) {
		only := crd.Spec.Versions[0]
		crd.Spec.Versions = lists.Map(names, func(name string) apiextensionsv1.CustomResourceDefinitionVersion {
			version := *only.DeepCopy()
			version.Name, version.Storage = name, name == stored
			return version
		})
	}
}

// apply applies a manifest as docs/admin/upgrade.md describes.
func (s *rolloutStorage) apply(change func(*apiextensionsv1.CustomResourceDefinition), flags ...string) error {
	s.Helper()
	var crd apiextensionsv1.CustomResourceDefinition
	text, err := os.ReadFile(rolloutsFile)
	s.must(err)
	s.must(yaml.UnmarshalStrict(text, &crd))
	change(&crd)
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&crd)
	s.must(err)
	delete(content, "status")
	text, err = yaml.Marshal(content)
	s.must(err)
	file := filepath.Join(s.TempDir(), "crd.yaml")
	s.must(os.WriteFile(file, text, 0o600))
	return s.run("kubectl", append([]string{"apply", "--server-side", "-f", file}, flags...)...)
}

func (s *rolloutStorage) definition() *unstructured.Unstructured {
	s.Helper()
	crd, err := s.definitions.Get(s.ctx, rolloutsCRD, metav1.GetOptions{})
	s.must(err)
	return crd
}

func (s *rolloutStorage) applies(change func(*apiextensionsv1.CustomResourceDefinition), flags ...string) {
	s.Helper()
	s.must(s.apply(change, flags...))
}

// refuses fails unless the API server refuses a manifest because objects may be stored in a version that it lacks.
func (s *rolloutStorage) refuses(change func(*apiextensionsv1.CustomResourceDefinition), stored string) {
	s.Helper()
	before := s.definition()
	err := s.apply(change, "--force-conflicts")
	if err == nil {
		s.Fatalf("a manifest without %s, in which WebhookRollouts may be stored, was applied", stored)
	}
	installtest.Contains(s, err.Error(), "status.storedVersions", fmt.Sprintf("%q", stored))
	same(s.T, "resourceVersion of the definition", s.definition().GetResourceVersion(), before.GetResourceVersion())
}

// migrates has all WebhookRollouts stored in a version, and no other left in status.storedVersions.
func (s *rolloutStorage) migrates(version string) {
	s.Helper()
	path, err := programs.Path("kubectl-webhooks")
	s.must(err)
	address, err := url.Parse(cluster.Config().Host)
	s.must(err)
	s.must(s.run(path, "storage", "migrate", rolloutsCRD, "--to", version, "--api-servers="+address.Host, "--api-server-request-timeout=1s"))
	versions, _, err := unstructured.NestedStringSlice(s.definition().Object, "status", "storedVersions")
	s.must(err)
	expect(s.T, versions, version)
}

func (s *rolloutStorage) run(program string, arguments ...string) error {
	cmd := exec.CommandContext(s.ctx, "env", append([]string{"KUBECONFIG=" + cluster.Kubeconfig, "PATH=" + cluster.PATH(), program}, arguments...)...)
	output, err := cmd.CombinedOutput()
	s.Logf("%s\n%s", strings.Join(cmd.Args, " "), output)
	if err != nil {
		return fmt.Errorf("%w: %s", err, output)
	}
	return nil
}

// whileStatusesChange has a client edit the ClusterServiceVersions, so that the manager writes the statuses of their
// WebhookRollouts, until do returns.
func (s *rolloutStorage) whileStatusesChange(do func()) {
	s.Helper()
	ctx, stop := context.WithCancel(s.ctx)
	since := auditEnd(s.env)
	var client sync.WaitGroup
	client.Go(func() {
		edits := 0
		_ = wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) { // It ends with stop.
			edits++
			patch := fmt.Appendf(nil, `{"spec":{"displayName":"%d"}}`, edits)
			name := fmt.Sprintf("operator-%d.v1", edits%operatorCount)
			_, err := s.olm.ClusterServiceVersions(s.namespace).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
			if err != nil && ctx.Err() == nil {
				s.Error(err)
			}
			return false, nil
		})
	})
	do()
	stop()
	client.Wait()
	writes := s.manager.changes(since)
	statuses := installtest.Count(writes, func(write string) bool { return strings.HasPrefix(write, "update webhookrollouts/status ") })
	if statuses < 10 {
		s.Errorf("the manager wrote %d statuses of WebhookRollouts meanwhile", statuses)
	}
}

// works installs another operator, and waits until the manager has reported about all of them, in the WebhookRollouts
// that they had before.
func (s *rolloutStorage) works(name string, before map[string]types.UID) {
	s.Helper()
	s.install(csv(name+".v1", name))
	for _, c := range kube.List(s, s.olm.ClusterServiceVersions(s.namespace), metav1.ListOptions{}).Items {
		s.eventually("the WebhookRollout of "+c.Name+" is current", func() (bool, any) {
			observed, generation := s.rollout(c.Name).ObservedGeneration, s.get(c.Name).Generation
			return observed == generation, []int64{observed, generation}
		})
	}
	now := s.uids(oldVersion)
	maps.DeleteFunc(now, func(name string, _ types.UID) bool { return before[name] == "" })
	s.isSame("WebhookRollouts", before, now)
}

func (s *rolloutStorage) isSame(what string, before, now map[string]types.UID) {
	s.Helper()
	if diff := cmp.Diff(before, now); diff != "" {
		s.Errorf("%s (-before +now):\n%s", what, diff)
	}
}

// uids are those of all WebhookRollouts, read in a version.
func (s *rolloutStorage) uids(version string) map[string]types.UID {
	s.Helper()
	resource := schema.GroupVersionResource{Group: managerv1alpha1.SchemeGroupVersion.Group, Version: version, Resource: "webhookrollouts"}
	all := map[string]types.UID{}
	for _, rollout := range kube.List(s, s.any.Resource(resource), metav1.ListOptions{}).Items {
		all[rollout.GetNamespace()+"/"+rollout.GetName()] = rollout.GetUID()
	}
	return all
}

// restore deletes the definition and all its objects, and creates that of manifests.
func (s *rolloutStorage) restore() {
	s.Helper()
	ctx := context.WithoutCancel(s.ctx)
	s.must(s.definitions.Delete(ctx, rolloutsCRD, metav1.DeleteOptions{}))
	s.must(kube.AwaitRemoval(ctx, s.definitions, rolloutsCRD))
	s.must(cluster.InstallCRDs(ctx, rolloutsFile))
}
