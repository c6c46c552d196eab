package actors

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/robustness/apiserver"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/robustness/etcd"
)

type fixture struct {
	*testing.T
	ctx  context.Context
	kube kubernetes.Interface
	*Actors
}

// inCluster runs a test in a bubble, in the namespace shop.
func inCluster(t *testing.T, test func(fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cluster, err := apiserver.New(ctx, 1, etcd.NewStore())
		must(t, err)
		defer time.Sleep(time.Minute) // the last goroutines end
		defer cluster.Wait()
		defer cancel()
		config := cluster.Server(0).Config(apiserver.Admin)
		kube, err := kubernetes.NewForConfig(config)
		must(t, err)
		actors, err := New(config)
		must(t, err)
		_, err = kube.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}, metav1.CreateOptions{})
		must(t, err)
		test(fixture{t, ctx, kube, actors})
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (f fixture) create(name string, owner *corev1.ConfigMap) *corev1.ConfigMap {
	f.Helper()
	c := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if owner != nil {
		c.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, corev1.SchemeGroupVersion.WithKind("ConfigMap"))}
	}
	created, err := f.kube.CoreV1().ConfigMaps("shop").Create(f.ctx, c, metav1.CreateOptions{})
	must(f.T, err)
	return created
}

func (f fixture) delete(name string, propagation metav1.DeletionPropagation) {
	f.Helper()
	must(f.T, f.kube.CoreV1().ConfigMaps("shop").Delete(f.ctx, name, metav1.DeleteOptions{PropagationPolicy: &propagation}))
}

func (f fixture) exists(name string) bool {
	_, err := f.kube.CoreV1().ConfigMaps("shop").Get(f.ctx, name, metav1.GetOptions{})
	return !apierrors.IsNotFound(err)
}

func (f fixture) collect(rounds int) {
	f.Helper()
	for range rounds {
		_, err := f.CollectGarbage(f.ctx)
		must(f.T, err)
	}
}

// An object is deleted after its owner, and not because of its owner's name.
func TestGarbage(t *testing.T) {
	for propagation, want := range map[metav1.DeletionPropagation]bool{
		metav1.DeletePropagationBackground: false, metav1.DeletePropagationForeground: false, metav1.DeletePropagationOrphan: true,
	} {
		inCluster(t, func(f fixture) {
			f.create("owned", f.create("owner", nil))
			f.collect(1)
			if !f.exists("owned") {
				t.Error("deleted although its owner exists")
			}
			f.delete("owner", propagation)
			f.collect(3)
			if f.exists("owner") || f.exists("owned") != want {
				t.Errorf("%s: owner exists: %v, owned exists: %v", propagation, f.exists("owner"), f.exists("owned"))
			}
		})
	}
}

// A new object with the name of the owner does not own.
func TestGarbageByUID(t *testing.T) {
	inCluster(t, func(f fixture) {
		f.create("owned", f.create("owner", nil))
		f.delete("owner", metav1.DeletePropagationBackground)
		f.create("owner", nil)
		f.collect(1)
		if f.exists("owned") {
			t.Error("the uid of the owner does not count")
		}
	})
}

// A namespace is emptied, accepts nothing meanwhile, and is deleted.
func TestNamespaces(t *testing.T) {
	inCluster(t, func(f fixture) {
		f.create("any", nil)
		must(t, f.kube.CoreV1().Namespaces().Delete(f.ctx, "shop", metav1.DeleteOptions{}))
		_, err := f.kube.CoreV1().ConfigMaps("shop").Create(f.ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "late"}}, metav1.CreateOptions{})
		if !apierrors.IsForbidden(err) || !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
			t.Error("created in a namespace that is deleted:", err)
		}
		for _, want := range []int{1, 0} {
			remain, err := f.EmptyNamespaces(f.ctx)
			must(t, err)
			if remain != want {
				t.Errorf("%d namespaces remain, not %d", remain, want)
			}
		}
		if _, err := f.kube.CoreV1().Namespaces().Get(f.ctx, "shop", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Error("the namespace exists:", err)
		}
	})
}
