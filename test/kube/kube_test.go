package kube

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

var cluster *Cluster

func TestMain(m *testing.M) { Main(m, &cluster) }

func TestAddressOf(t *testing.T) {
	for pid, want := range map[int]string{
		1:         "127.64.0.1",
		0x1234:    "127.64.18.52",
		1<<22 - 1: "127.127.255.255",
	} {
		if got := addressOf(pid); got != netip.MustParseAddr(want) {
			t.Errorf("addressOf(%d) = %s, want %s", pid, got, want)
		}
	}
}

func newClient(t *testing.T, config *rest.Config) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	must(t, err)
	return client
}

func configMap(t *testing.T) *corev1.ConfigMap {
	t.Helper()
	name := strings.ToLower(strings.NewReplacer("/", "-", "_", "-").Replace(t.Name())) + "-" + time.Now().Format("150405.000000")
	t.Cleanup(func() {
		err := newClient(t, cluster.Config()).CoreV1().ConfigMaps("default").Delete(context.Background(), name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Error(err)
		}
	})
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func createConfigMap(t *testing.T, client kubernetes.Interface) string {
	t.Helper()
	object := configMap(t)
	return Create(t, client.CoreV1().ConfigMaps("default"), object).Name
}

func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, 10*time.Second, true, func(context.Context) (bool, error) { return so(), nil })
	if err != nil {
		t.Fatalf("never: %s", what)
	}
}

func TestReserve(t *testing.T) {
	address := Reserve(t, "127.0.0.1").String()
	if _, err := net.Dial("tcp", address); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("a connection to it ends with %v", err)
	}
	// A process that asks for any port gets a free one, unlike one that asks for a certain port.
	alone := net.ListenConfig{Control: func(_, _ string, conn syscall.RawConn) (err error) {
		return errors.Join(conn.Control(func(fd uintptr) {
			err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 0)
		}), err)
	}}
	if _, err := alone.Listen(context.Background(), "tcp", address); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("it is free for anybody: %v", err)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatalf("who asks for it cannot listen there: %v", err)
	}
	defer listener.Close()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatalf("who listens there is not reached: %v", err)
	}
	conn.Close()
}

// A client that finalizes an object and reads it again only when it changes is made to read it.
func TestAwaitRemoval(t *testing.T) {
	t.Parallel()
	client := newClient(t, cluster.Config()).CoreV1().ConfigMaps("default")
	object := configMap(t)
	object.Finalizers = []string{"example.com/forgetful"}
	created := Create(t, client, object)
	must(t, client.Delete(t.Context(), object.Name, metav1.DeleteOptions{}))
	changes := Watch(t, client, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", object.Name).String(), ResourceVersion: created.ResourceVersion})
	go func() {
		<-changes.ResultChan() // the deletion, which it forgets
		<-changes.ResultChan()
		if _, err := client.Patch(t.Context(), object.Name, types.MergePatchType, []byte(`{"metadata": {"finalizers": null}}`), metav1.PatchOptions{}); err != nil {
			t.Error(err)
		}
	}()
	resources, err := dynamic.NewForConfig(cluster.Config())
	must(t, err)
	if err := AwaitRemoval(t.Context(), resources.Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).Namespace("default"), object.Name); err != nil {
		t.Error(err)
	}
}
