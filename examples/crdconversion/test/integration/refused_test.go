package integration

import (
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/crdconversion/convert"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/storedversions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/vocabulary"
)

// TestMigratorTrimsTooEarly has an object refused while kube-controller-manager's own migrator rewrites the rest: it
// sets status.storedVersions to v1 although the object is stored in v2. No run of the command is
// done until the object is rewritten, and v2 counts as stored until then.
func TestMigratorTrimsTooEarly(t *testing.T) {
	if cluster.Etcd() == "" {
		t.Skip("the proof is what etcd holds, and this cluster's is out of reach: unset KUBECONFIG")
	}
	e := newEnv(t)
	e.installCRD("bundle-v2")
	e.startWebhook()
	e.removeCRD()
	e.served(convert.V1, convert.V2)
	e.Fill(t, few)
	e.refuse(map[string]any{"metadata": map[string]any{"labels": map[string]any{"protected": "true"}}})
	defer e.startMigrator()()

	for _, run := range []string{"the first run", "the second run"} {
		output := e.migrate(false)
		if !strings.Contains(output, "the cluster's own migrator does not do it") || !strings.Contains(output, "1 objects of "+crdName+" cannot be rewritten") {
			t.Errorf("%s says:\n%s", run, output)
		}
		e.keepsVersion2(run)
	}
	e.allow()
	if output := e.migrate(true); !strings.Contains(output, "all objects are stored in v1") {
		t.Errorf("the command says:\n%s", output)
	}
	if stored := e.stored(); stored["v1"] != few || len(stored) != 1 {
		t.Errorf("stored are %v after the migration", stored)
	}
	crd := e.definition()
	if _, recorded := crd.Annotations[vocabulary.AnnotationStoredVersions]; recorded || !storedversions.Only(crd, "v1") {
		t.Errorf("after the migration, possible are %v, the annotations are %v", storedversions.Possible(crd), crd.Annotations)
	}
	e.noOrders()
	if output := e.migrate(true); !strings.Contains(output, "0 were rewritten") {
		t.Errorf("run again, the command says:\n%s", output)
	}
}

// keepsVersion2 fails unless v2 counts as stored while one object of several is stored in it.
func (e *env) keepsVersion2(run string) {
	e.Helper()
	crd := e.definition()
	if !storedversions.Migrated(crd) {
		e.Errorf("%s: kube-controller-manager has run no migration: %+v", run, crd.Status)
	}
	if versions := e.storedVersions(); !slices.Contains(versions, "v2") || crd.Annotations[vocabulary.AnnotationStoredVersions] != "v2,v1" {
		e.Errorf("%s: status.storedVersions is %v, the annotation is %q, and an object is stored in v2", run, versions, crd.Annotations[vocabulary.AnnotationStoredVersions])
	}
	if stored := e.stored(); stored["v2"] != 1 || stored["v1"] != few-1 {
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

// noOrders reports the orders of the command that are left.
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
