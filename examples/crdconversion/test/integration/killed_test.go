package integration

import (
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/crdconversion/convert"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/storedversions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

const upTo = 4

// TestKilledAfterEachWrite kills the command after each of its writes, while a webhook refuses one object. No run
// reports success while the object is stored in v2, and the API server does not permit to remove v2.
func TestKilledAfterEachWrite(t *testing.T) {
	e := newEnvWithRefusals(t)
	e.killAfterEachWrite(func(when string) {
		if crd := e.definition(); !slices.Contains(crd.Status.StoredVersions, "v2") {
			t.Errorf("%s, status.storedVersions is %v, and one object is stored in v2", when, crd.Status.StoredVersions)
		}
	}, e.storeInVersion2)
}

// TestKilledAfterMigrationsOfAnotherClient is TestKilledAfterEachWrite with kube-controller-manager. Before each run of the
// command it has migrated the objects except one, and removed v2 from status.storedVersions.
func TestKilledAfterMigrationsOfAnotherClient(t *testing.T) {
	e := newEnvWithRefusals(t)
	defer e.startMigrator()()
	e.killAfterEachWrite(func(string) {}, func() {
		e.storeInVersion2()
		e.migrateExceptOne()
	})
}

type envWithRefusals struct {
	*env
	allow func()
}

// newEnvWithRefusals returns an environment in which v2 is served and a webhook refuses the updates of one object.
func newEnvWithRefusals(t *testing.T) envWithRefusals {
	t.Helper()
	e := newConvertedEnv(t)
	e.Fill(t, upTo)
	return envWithRefusals{e, e.refuse()}
}

// killAfterEachWrite prepares, kills the command after one write more than before, and runs it once without a kill.
func (e envWithRefusals) killAfterEachWrite(check func(when string), prepare func()) {
	e.Helper()
	k := e.startKiller()
	var writes []string
	for n := 1; ; n++ {
		prepare()
		output, killed := k.migrate(n)
		writes = k.writes
		if !killed {
			break
		}
		when := "killed after " + strings.Join(writes, ", ")
		if strings.Contains(when, "storageversionmigrations") {
			e.Errorf("%s: its migration would continue, and the API server would remove v2 from status.storedVersions", when)
		}
		if strings.Contains(output, "all objects are stored in") {
			e.Errorf("%s, the output is:\n%s", when, output)
		}
		if possible := storedversions.Possible(e.definition()); !slices.Contains(possible, "v2") {
			e.Errorf("%s, objects may be stored in %v, and one is stored in v2", when, possible)
		}
		check(when)
		e.migrateFails(when + " and run again")
	}
	if len(writes) < upTo {
		e.Errorf("the command has made %d writes before it ended: %v", len(writes), writes)
	}
	e.allow()
	e.migrateSucceeds()
}

// migrateFails runs the command while the webhook refuses one object.
func (e *env) migrateFails(when string) {
	e.Helper()
	if output := e.migrate(false); !strings.Contains(output, "1 objects of "+crdName+" cannot be rewritten") {
		e.Errorf("%s, the output is:\n%s", when, output)
	}
	e.keepsVersion2(when)
}

func (e *env) migrateSucceeds() {
	e.Helper()
	if output := e.migrate(true); !strings.Contains(output, "all objects are stored in v1") {
		e.Errorf("the output is:\n%s", output)
	}
	e.isMigrated(upTo)
	crd := e.definition()
	if !storedversions.Only(crd, "v1") {
		e.Errorf("after the migration, the status is %+v", crd.Status)
	}
	if _, recorded := crd.Annotations[wellknown.AnnotationStoredVersions]; recorded {
		e.Errorf("after the migration, the annotations are %v", crd.Annotations)
	}
}

func (e *env) keepsVersion2(run string) {
	e.Helper()
	crd := e.definition()
	if versions := e.storedVersions(); !slices.Contains(versions, "v2") || !strings.Contains(crd.Annotations[wellknown.AnnotationStoredVersions], "v2") {
		e.Errorf("%s: status.storedVersions is %v, the annotation is %q, and an object is stored in v2", run, versions, crd.Annotations[wellknown.AnnotationStoredVersions])
	}
	if stored := e.stored(); stored["v2"] != 1 || stored["v1"] != upTo-1 {
		e.Errorf("%s: stored are %v while one is refused", run, stored)
	}
}

func (e *env) definition() *apiextensionsv1.CustomResourceDefinition {
	e.Helper()
	return kube.Get(e, e.crds.ApiextensionsV1().CustomResourceDefinitions(), crdName)
}

func (e *env) storeInVersion2() {
	e.Helper()
	e.setStorage("v2")
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

// setStorage changes the storage version as another client, and deletes the record of the command.
func (e *env) setStorage(version string) {
	e.Helper()
	e.eventually(func() (bool, any) {
		crd := e.definition()
		delete(crd.Annotations, wellknown.AnnotationStoredVersions)
		for i := range crd.Spec.Versions {
			crd.Spec.Versions[i].Storage = crd.Spec.Versions[i].Name == version
		}
		_, err := e.crds.ApiextensionsV1().CustomResourceDefinitions().Update(e.Context(), crd, metav1.UpdateOptions{})
		return err == nil, err
	})
}
