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
	"k8s.io/client-go/kubernetes"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/crdconversion/convert"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/storedversions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

const upTo = 4

// TestKilledAfterEachWrite kills the command after each of its writes, while a webhook refuses one object. No run
// reports success while the object is stored in v2.
func TestKilledAfterEachWrite(t *testing.T) {
	if cluster.Etcd() == "" {
		t.Skip("the proof is what etcd holds, and this cluster's is out of reach: unset KUBECONFIG")
	}
	e := newEnv(t)
	e.installCRD("bundle-v2")
	e.startWebhook()
	e.removeCRD()
	e.served(convert.V1, convert.V2)
	e.Fill(t, upTo)
	allow := e.refuse()
	defer e.startMigrator()()
	defer e.startOtherClient()()
	k := e.startKiller()

	var writes []string
	for n := 1; ; n++ {
		e.storeInVersion2()
		output, killed := k.migrate(n)
		writes = k.writes
		if !killed {
			break
		}
		when := "killed after " + strings.Join(writes, ", ")
		if strings.Contains(output, "all objects are stored in") {
			t.Errorf("%s, the output is:\n%s", when, output)
		}
		if crd := e.definition(); !slices.Contains(storedversions.Possible(crd), "v2") {
			t.Errorf("%s, objects may be stored in %v alone, and one is stored in v2", when, storedversions.Possible(crd))
		}
		if output := e.migrate(false); !strings.Contains(output, "1 objects of "+crdName+" cannot be rewritten") {
			t.Errorf("%s and run again, the output is:\n%s", when, output)
		}
		e.keepsVersion2(when + " and run again")
	}
	if len(writes) < upTo {
		t.Errorf("the command has made %d writes before it ended: %v", len(writes), writes)
	}
	allow()
	if output := e.migrate(true); !strings.Contains(output, "all objects are stored in v1") {
		t.Errorf("the output is:\n%s", output)
	}
	if stored := e.stored(); stored["v1"] != upTo || len(stored) != 1 {
		t.Errorf("stored are %v after the migration", stored)
	}
	crd := e.definition()
	if _, recorded := crd.Annotations[wellknown.AnnotationStoredVersions]; recorded || !storedversions.Only(crd, "v1") {
		t.Errorf("after the migration, possible are %v, the annotations are %v", storedversions.Possible(crd), crd.Annotations)
	}
	e.noOrders()
}

func (e *env) keepsVersion2(run string) {
	e.Helper()
	crd := e.definition()
	if !storedversions.Migrated(crd) {
		e.Errorf("%s: kube-controller-manager has run no migration: %+v", run, crd.Status)
	}
	if versions := e.storedVersions(); !slices.Contains(versions, "v2") || !strings.Contains(crd.Annotations[wellknown.AnnotationStoredVersions], "v2") {
		e.Errorf("%s: status.storedVersions is %v, the annotation is %q, and an object is stored in v2", run, versions, crd.Annotations[wellknown.AnnotationStoredVersions])
	}
	if stored := e.stored(); stored["v2"] != 1 || stored["v1"] != upTo-1 {
		e.Errorf("%s: stored are %v while one is refused", run, stored)
	}
	e.noOrders()
}

func (e *env) definition() *apiextensionsv1.CustomResourceDefinition {
	e.Helper()
	crd, err := e.crds.ApiextensionsV1().CustomResourceDefinitions().Get(e.Context(), crdName, metav1.GetOptions{})
	e.must(err)
	return crd
}

func (e *env) noOrders() {
	e.Helper()
	client, err := kubernetes.NewForConfig(cluster.Config())
	e.must(err)
	orders, err := client.StoragemigrationV1beta1().StorageVersionMigrations().List(e.Context(), metav1.ListOptions{})
	e.must(err)
	if len(orders.Items) > 0 {
		e.Errorf("%d StorageVersionMigrations are left, such as %+v", len(orders.Items), orders.Items[0])
	}
}

// startOtherClient has another client change an object all the time. The migrator waits until its cache is as new as
// its StorageVersionMigration, which it learns from changes.
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

func (e *env) storeInVersion2() {
	e.Helper()
	crds := e.crds.ApiextensionsV1().CustomResourceDefinitions()
	e.eventually(func() (bool, any) {
		crd := e.definition()
		delete(crd.Annotations, wellknown.AnnotationStoredVersions)
		for i := range crd.Spec.Versions {
			crd.Spec.Versions[i].Storage = crd.Spec.Versions[i].Name == "v2"
		}
		_, err := crds.Update(e.Context(), crd, metav1.UpdateOptions{})
		return err == nil, err
	})
	e.eventually(func() (bool, any) {
		stored := e.stored()
		if stored["v2"] == upTo {
			return true, nil
		}
		all, err := e.In(convert.V2).List(e.Context(), metav1.ListOptions{})
		e.must(err)
		for i := range all.Items {
			if all.Items[i].GetName() != protected {
				_, err := e.In(convert.V2).Update(e.Context(), &all.Items[i], metav1.UpdateOptions{})
				if err != nil && !apierrors.IsConflict(err) {
					e.Fatal(err)
				}
			}
		}
		return false, stored
	})
}
