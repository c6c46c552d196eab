package apiserver

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/robustness/etcd"
)

// An API server answers and stops in a bubble, in virtual time.
func TestServerInBubble(t *testing.T) {
	for range 3 {
		synctest.Test(t, testServer)
	}
}

func testServer(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	start := time.Now()
	cluster, err := New(ctx, 2, etcd.NewStore())
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Wait()
	defer cancel()
	kube := kubernetes.NewForConfigOrDie(cluster.Server(0).Config(Admin))
	if _, err := kube.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	secrets := kube.CoreV1().Secrets("shop")
	if _, err := secrets.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{GenerateName: "a-"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	other := kubernetes.NewForConfigOrDie(cluster.Server(1).Config(Admin))
	factory := informers.NewSharedInformerFactory(other, 0)
	lister := factory.Core().V1().Secrets().Lister()
	factory.Core().V1().Secrets().Informer()
	factory.StartWithContext(ctx)
	factory.WaitForCacheSync(ctx.Done())
	defer factory.Shutdown()
	defer cancel()
	cluster.Server(1).View().Hold()
	if _, err := secrets.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "later"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	if _, err := lister.Secrets("shop").Get("later"); err == nil {
		t.Error("the held API server shows a later write")
	}
	if _, err := other.CoreV1().Secrets("shop").Get(ctx, "later", metav1.GetOptions{}); err != nil {
		t.Error("a live read at the held API server:", err)
	}
	cluster.Server(1).View().Release()
	time.Sleep(100 * time.Millisecond)
	synctest.Wait()
	if _, err := lister.Secrets("shop").Get("later"); err != nil {
		t.Error(err)
	}
	time.Sleep(time.Hour)
	t.Log(time.Since(start))
}
