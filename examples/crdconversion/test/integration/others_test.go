package integration

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/crdconversion/convert"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/storedversions"
)

// TestMigrationOfAnotherClient has kube-controller-manager run a StorageVersionMigration that another client
// created, while a webhook refuses one object. kube-controller-manager then removes v2 from
// status.storedVersions. The command restores v2, so that the API server refuses to remove it from
// the definition, and reports success only after it has rewritten every object.
func TestMigrationOfAnotherClient(t *testing.T) {
	e := newConvertedEnv(t)
	e.Fill(t, upTo)
	allow := e.refuse()
	defer e.startMigrator()()
	stop := e.startOtherClient()
	defer stop()
	e.setStorage("v1")
	e.migrateAsOther()
	stop()

	crd := e.definition()
	if !storedversions.Migrated(crd) || !slices.Equal(crd.Status.StoredVersions, []string{"v1"}) || e.stored()["v2"] == 0 {
		t.Fatalf("kube-controller-manager has not removed v2 while an object is stored in it: %+v", crd.Status)
	}
	if !slices.Contains(storedversions.Possible(crd), "v2") || storedversions.Only(crd, "v1") {
		t.Errorf("objects may be stored in %v", storedversions.Possible(crd))
	}
	if output := e.migrate(false); !strings.Contains(output, "1 objects of "+crdName+" cannot be rewritten") {
		t.Errorf("the output is:\n%s", output)
	}
	e.keepsVersion2("after a migration of another client")
	crd = e.definition()
	crd.Spec.Versions = slices.DeleteFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == "v2" })
	if _, err := e.crds.ApiextensionsV1().CustomResourceDefinitions().Update(t.Context(), crd, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}}); !apierrors.IsInvalid(err) {
		t.Errorf("v2 can be removed from the definition: %v", err)
	}
	allow()
	if output := e.migrate(true); !strings.Contains(output, "all objects are stored in v1") {
		t.Errorf("the output is:\n%s", output)
	}
	if stored := e.stored(); stored["v1"] != upTo || len(stored) != 1 || !storedversions.Only(e.definition(), "v1") {
		t.Errorf("stored are %v after the migration, the status is %+v", stored, e.definition().Status)
	}
}

// startOtherClient has another client change an object all the time. The migrator waits until its
// cache is as new as its StorageVersionMigration, which it learns from changes, or after a minute
// or two.
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
