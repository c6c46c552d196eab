package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clientv3 "go.etcd.io/etcd/client/v3"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/crdconversion/convert"
	"github.com/olm-webhook-manager/olm-webhook-manager/examples/crdconversion/test/caches"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/storedversions"
)

const many = 1000

// TestDowngrade stores a thousand Caches of both versions in v1 by the manager's command, and installs the definition
// of v1. No field changes, neither then nor after the next upgrade.
func TestDowngrade(t *testing.T) {
	e := newEnvWithEtcd(t)
	e.installCRD("bundle-v2")
	stop := e.startWebhook()
	e.served(convert.V1, convert.V2)
	e.Fill(e.T, many)
	e.Report(e.T, many)
	inV1, inV2 := e.all(convert.V1), e.all(convert.V2)
	if stored := e.stored(); stored["v2"] != many || len(stored) != 1 {
		t.Fatalf("stored are %v before the migration, want all in v2", stored)
	}

	user := e.asAdministrator()
	allow := e.refuse()
	if output := e.migrate(false, user); !strings.Contains(output, "1 objects of "+crdName+" cannot be rewritten") || !strings.Contains(output, "default/"+protected+": ") {
		t.Errorf("the output does not name the refused object:\n%s", output)
	}
	if versions := e.storedVersions(); !slices.Contains(versions, "v2") {
		t.Errorf("status.storedVersions is %v while an object is stored in v2", versions)
	}
	if stored := e.stored(); stored["v2"] != 1 || stored["v1"] != many-1 {
		t.Errorf("stored are %v while one is refused", stored)
	}
	allow()
	if output := e.migrate(true, user); !strings.Contains(output, "rewritten 1000 of 1000 objects\n") || !strings.Contains(output, "all objects are stored in v1") || strings.Contains(output, "\r") {
		t.Errorf("the output is:\n%s", output)
	}
	e.isMigrated(many)
	e.are("after the migration", convert.V2, inV2)

	e.installCRD("bundle-v1")
	stop()
	e.served(convert.V1)
	e.are("after the downgrade", convert.V1, inV1)

	e.installCRD("bundle-v2")
	e.startWebhook()
	e.removeCRD()
	e.served(convert.V1, convert.V2)
	e.are("after the second upgrade", convert.V2, inV2)
}

func (e *env) all(version schema.GroupVersion) map[string]map[string]any {
	e.Helper()
	found := e.All(e.T, version, caches.Content)
	if len(found) != many {
		e.Fatalf("there are %d Caches in %s, want %d", len(found), version.Version, many)
	}
	return found
}

// are compares all Caches with their previous state.
func (e *env) are(when string, version schema.GroupVersion, before map[string]map[string]any) {
	e.Helper()
	if diff := cmp.Diff(before, e.all(version)); diff != "" {
		e.Errorf("%s, Caches in %s differ (-before +now):\n%.2000s", when, version.Version, diff)
	}
}

// stored counts the Caches in etcd by storage version.
func (e *env) stored() map[string]int {
	e.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{cluster.Etcd()}})
	e.must(err)
	defer client.Close()
	answer, err := client.Get(e.Context(), "/registry/crdconversion.example.com/caches/", clientv3.WithPrefix())
	e.must(err)
	count := map[string]int{}
	for _, kv := range answer.Kvs {
		var raw unstructured.Unstructured
		e.must(json.Unmarshal(kv.Value, &raw.Object))
		count[raw.GroupVersionKind().Version]++
	}
	return count
}

func (e *env) isMigrated(count int) {
	e.Helper()
	if stored, versions := e.stored(), e.storedVersions(); stored["v1"] != count || len(stored) != 1 || !slices.Equal(versions, []string{"v1"}) {
		e.Errorf("stored are %v and status.storedVersions is %v after the migration", stored, versions)
	}
}

func (e *env) storedVersions() []string {
	e.Helper()
	return e.definition().Status.StoredVersions
}

// TestMigrationOfAnotherClient has kube-controller-manager run a StorageVersionMigration that another client
// created, while a webhook refuses one object. kube-controller-manager then removes v2 from
// status.storedVersions. The command restores v2, so that the API server refuses to remove it from
// the definition, and reports success only after it has rewritten every object.
func TestMigrationOfAnotherClient(t *testing.T) {
	e := newEnvWithRefusals(t)
	defer e.startMigrator()()
	e.migrateExceptOne()

	crd := e.definition()
	if !storedversions.Migrated(crd) || !slices.Equal(crd.Status.StoredVersions, []string{"v1"}) || e.stored()["v2"] == 0 {
		t.Fatalf("kube-controller-manager has not removed v2 while an object is stored in it: %+v", crd.Status)
	}
	if !slices.Contains(storedversions.Possible(crd), "v2") || storedversions.Only(crd, "v1") {
		t.Errorf("objects may be stored in %v", storedversions.Possible(crd))
	}
	e.migrateFails("after a migration of another client")
	crd = e.definition()
	crd.Spec.Versions = slices.DeleteFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == "v2" })
	if _, err := e.crds.ApiextensionsV1().CustomResourceDefinitions().Update(t.Context(), crd, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}}); !apierrors.IsInvalid(err) {
		t.Errorf("v2 can be removed from the definition: %v", err)
	}
	e.allow()
	e.migrateSucceeds()
}

// migrateExceptOne has kube-controller-manager migrate the objects to v1, except the one whose updates are refused.
func (e *env) migrateExceptOne() {
	e.Helper()
	defer e.startOtherClient()()
	e.setStorage("v1")
	e.migrateAsOther()
}

// startOtherClient has another client change an object all the time. Otherwise the migrator would wait for a minute
// or two, until its cache is as new as its StorageVersionMigration.
func (e *env) startOtherClient() (stop func()) {
	e.Helper()
	ctx, cancel := context.WithCancel(e.Context())
	var client sync.WaitGroup
	client.Go(func() {
		n := 0
		_ = wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) { // It ends with the test.
			n++
			_, err := e.In(convert.V2).Patch(ctx, "cache-0001", types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"labels":{"changed":"%d"}}}`, n), metav1.PatchOptions{})
			if err != nil && ctx.Err() == nil {
				e.Error(err)
			}
			return false, nil
		})
	})
	return func() { cancel(); client.Wait() }
}
