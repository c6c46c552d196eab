package apiserver

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/robustness/etcd"
)

// inCluster runs a test in a bubble with the namespace shop.
func inCluster(t *testing.T, servers int, test func(ctx context.Context, t *testing.T, c *Cluster)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cluster, err := New(ctx, servers, etcd.NewStore())
		must(t, err)
		defer time.Sleep(5 * time.Minute) // the last goroutines end
		defer cluster.Wait()
		defer cancel()
		_, err = clientOf(t, cluster, 0, Admin).CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}, metav1.CreateOptions{})
		must(t, err)
		test(ctx, t, cluster)
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func clientOf(t *testing.T, c *Cluster, server int, user string) kubernetes.Interface {
	t.Helper()
	config := c.Server(server).Config(user)
	config.UserAgent = "test"
	kube, err := kubernetes.NewForConfig(config)
	must(t, err)
	return kube
}

func create(ctx context.Context, secrets typedcorev1.SecretInterface, name string) error {
	_, err := secrets.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	return err
}

func exists(ctx context.Context, secrets typedcorev1.SecretInterface, name string) bool {
	_, err := secrets.Get(ctx, name, metav1.GetOptions{})
	return err == nil
}

// Each fault has its effect on the client and on the store.
func TestFaults(t *testing.T) {
	tests := map[string]struct {
		fault  Fault
		failed func(error) bool
		exists bool
		takes  time.Duration
	}{
		"none":         {failed: isNil, exists: true},
		"conflict":     {fault: Fault{Status: statusOf(apierrors.NewConflict(corev1.Resource("secrets"), "a", nil))}, failed: apierrors.IsConflict},
		"500":          {fault: Fault{Status: statusOf(apierrors.NewInternalError(context.Canceled))}, failed: apierrors.IsInternalError},
		"lost request": {fault: Fault{LostRequest: true}, failed: isLost},
		"lost answer":  {fault: Fault{LostAnswer: true}, failed: isLost, exists: true},
		"delay":        {fault: Fault{Delay: time.Minute}, failed: isNil, exists: true, takes: time.Minute},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			inCluster(t, 1, func(ctx context.Context, t *testing.T, c *Cluster) {
				secrets := clientOf(t, c, 0, Admin).CoreV1().Secrets("shop")
				must(t, create(ctx, secrets, "warm"))
				c.Fault = func(r Request) Fault {
					if r.Writes() {
						return test.fault
					}
					return Fault{}
				}
				start := time.Now()
				err := create(ctx, secrets, "a")
				if !test.failed(err) || time.Since(start) != test.takes {
					t.Errorf("%v after %v", err, time.Since(start))
				}
				if exists(ctx, secrets, "a") != test.exists {
					t.Errorf("exists: %v", !test.exists)
				}
			})
		})
	}
}

func isNil(err error) bool { return err == nil }

func isLost(err error) bool {
	return err != nil && !apierrors.IsConflict(err) && !apierrors.IsInternalError(err)
}

func statusOf(err *apierrors.StatusError) *metav1.Status {
	status := err.Status()
	return &status
}

// A 429 is retried by the client after the time that the answer names.
func TestTooManyRequests(t *testing.T) {
	inCluster(t, 1, func(ctx context.Context, t *testing.T, c *Cluster) {
		secrets := clientOf(t, c, 0, Admin).CoreV1().Secrets("shop")
		must(t, create(ctx, secrets, "warm"))
		asked := 0
		c.Fault = func(Request) Fault {
			if asked++; asked == 1 {
				return Fault{Status: statusOf(apierrors.NewTooManyRequests("busy", 7))}
			}
			return Fault{}
		}
		start := time.Now()
		must(t, create(ctx, secrets, "a"))
		if asked != 2 || time.Since(start) != 7*time.Second {
			t.Errorf("%d requests in %v", asked, time.Since(start))
		}
	})
}

// recorder keeps everything.
type recorder struct {
	mutex  sync.Mutex
	reads  []Request
	writes []Write
}

func (r *recorder) Read(request Request) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.reads = append(r.reads, request)
}

func (r *recorder) Call(Call) {}

func (r *recorder) Write(w Write) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.writes = append(r.writes, w)
}

// The recorder observes who wrote what, and which reads were live.
func TestRecorder(t *testing.T) {
	inCluster(t, 1, func(ctx context.Context, t *testing.T, c *Cluster) {
		const user = "system:serviceaccount:shop:writer"
		secrets := clientOf(t, c, 0, user).CoreV1().Secrets("shop")
		r := &recorder{}
		must(t, create(ctx, secrets, "warm"))
		c.Recorder = r
		must(t, create(ctx, secrets, "a"))
		must(t, secrets.Delete(ctx, "a", metav1.DeleteOptions{}))
		for _, version := range []string{"", "0"} {
			_, err := secrets.List(ctx, metav1.ListOptions{ResourceVersion: version})
			must(t, err)
		}
		if len(r.writes) != 2 || len(r.reads) != 2 {
			t.Fatalf("%d writes, %d reads", len(r.writes), len(r.reads))
		}
		w := r.writes[1]
		before, err := Decode(w.Before)
		must(t, err)
		if w.User != user || w.UserAgent != "test" || w.Info.Verb != "delete" || w.After != nil || before.GetName() != "a" || w.Revision <= r.writes[0].Revision {
			t.Errorf("%+v", w)
		}
		if !r.reads[0].Live() || r.reads[1].Live() {
			t.Error("a live read counts as one from a cache, or the other way round")
		}
	})
}
