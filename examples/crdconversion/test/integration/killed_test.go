package integration

import (
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/crdconversion/convert"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/storedversions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

const upTo = 4

// TestKilledAfterEachWrite kills the command after each of its writes, while a webhook refuses one object. No run
// reports success while the object is stored in v2, and the API server does not permit to remove v2.
func TestKilledAfterEachWrite(t *testing.T) {
	e := newConvertedEnv(t)
	e.Fill(t, upTo)
	allow := e.refuse()
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
		if strings.Contains(when, "storageversionmigrations") {
			t.Errorf("%s: its migration would go on, and the API server would remove v2 from status.storedVersions", when)
		}
		if strings.Contains(output, "all objects are stored in") {
			t.Errorf("%s, the output is:\n%s", when, output)
		}
		if crd := e.definition(); !slices.Contains(storedversions.Possible(crd), "v2") || !slices.Contains(crd.Status.StoredVersions, "v2") {
			t.Errorf("%s, objects may be stored in %v, status.storedVersions is %v, and one is stored in v2", when, storedversions.Possible(crd), crd.Status.StoredVersions)
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
	crd, err := e.crds.ApiextensionsV1().CustomResourceDefinitions().Get(e.Context(), crdName, metav1.GetOptions{})
	e.must(err)
	return crd
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

// killer is an address of the API server that kills a command after a number of its writes.
type killer struct {
	*apiServer
	kubeconfig string

	mu      sync.Mutex
	command *command
	limit   int
	writes  []string
}

func (e *env) startKiller() *killer {
	e.Helper()
	k := &killer{apiServer: e.startAPIServer()}
	k.guard.Store(new(k.permits))
	config, err := clientcmd.LoadFromFile(e.trusting(k.apiServer))
	e.must(err)
	for _, c := range config.Clusters {
		c.Server, c.TLSServerName = k.URL, "kubernetes.default.svc"
	}
	k.kubeconfig = filepath.Join(e.TempDir(), "kubeconfig")
	e.must(clientcmd.WriteToFile(*config, k.kubeconfig))
	return k
}

// permits reports whether a request may pass. The first write above the limit kills the command.
func (k *killer) permits(r *http.Request) bool {
	if r.Method == http.MethodGet {
		return true
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.writes) >= k.limit {
		_ = k.command.Process.Kill() // An earlier write may have killed it.
		return false
	}
	k.writes = append(k.writes, r.Method+" "+r.URL.Path)
	return true
}

func (k *killer) migrate(limit int) (output string, killed bool) {
	k.Helper()
	k.mu.Lock()
	k.limit, k.writes = limit, nil
	k.command = k.startMigrate("--kubeconfig="+k.kubeconfig, "--api-servers="+k.address().String())
	k.mu.Unlock()
	_ = k.command.Wait() // It fails in each case: it is killed, or an object is refused.
	return k.command.output.String(), !k.command.ProcessState.Exited()
}
