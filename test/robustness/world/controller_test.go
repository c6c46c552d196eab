package world

import (
	"context"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/sirupsen/logrus"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/clients"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/metrics"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmclient"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/robustness/apiserver"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/robustness/etcd"
)

func TestMain(m *testing.M) {
	if os.Getenv("KLOG") != "" {
		os.Exit(m.Run())
	}
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	os.Exit(m.Run())
}

// The manager installs an operator with a webhook in virtual time, and rotates its certificate once.
func TestManagerInBubble(t *testing.T) {
	began := time.Now()
	start := Defined(t, "../../..")
	t.Log("definitions:", time.Since(began))
	for range 3 {
		began := time.Now()
		synctest.Test(t, func(t *testing.T) { installAndRotate(t, start) })
		t.Log("one run:", time.Since(began))
	}
}

var usual = Delays{Start: 2 * time.Second, Kubelet: time.Minute, Reload: time.Second, Controllers: 100 * time.Millisecond}

func installAndRotate(t *testing.T, start etcd.Snapshot) {
	ctx, cancel := context.WithCancel(t.Context())
	w := installtest.OrPanic(New(ctx, 1, etcd.NewStoreFrom(start), 1, usual))
	counts := &counter{reads: map[string]int{}, writes: map[string]int{}}
	w.Recorder = counts
	w.Log = func(err error) { t.Log(time.Now().Format(time.TimeOnly), err) }
	defer w.Wait()
	defer cancel()
	dumped = func() { dumpAll(t, ctx, w) }
	m := manage(t, ctx, w)
	defer m.Wait()
	defer cancel()
	olm := installtest.OrPanic(olmclient.New(w.Server(0).Config(apiserver.Admin)))
	install(t, ctx, w, olm)
	waitFor(t, "the ClusterServiceVersion succeeds", 5*time.Minute, func() bool {
		csv, err := olm.ClusterServiceVersions("shop").Get(ctx, "shop.v1", metav1.GetOptions{})
		return err == nil && csv.Status.Phase == operatorsv1alpha1.CSVPhaseSucceeded
	})
	before := bundleOf(t, ctx, w)
	order := []byte(`{"metadata":{"annotations":{"` + wellknown.AnnotationRotate + `":"now"}}}`)
	installtest.OrPanic(olm.ClusterServiceVersions("shop").Patch(ctx, "shop.v1", types.MergePatchType, order, metav1.PatchOptions{}))
	waitFor(t, "the certificate is replaced", 10*time.Minute, func() bool {
		after := bundleOf(t, ctx, w)
		return after != before && strings.Count(after, "BEGIN CERTIFICATE") == 1
	})
	t.Log(time.Since(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)), "virtual", counts.reads, counts.writes)
}

func manage(t *testing.T, ctx context.Context, w *World) *sync.WaitGroup {
	config := w.Server(0).Config(installtest.ManagerUser)
	config.UserAgent = "manager"
	set := installtest.OrPanic(clients.New(config))
	options := controller.Options{Rollout: rollout.DefaultPolicy(), Certificates: certs.DefaultPolicy(), Workers: 4, Dial: w.Dial}
	c, err := controller.New(set, record.NewFakeRecorder(1000), metrics.New(prometheus.NewRegistry()), logger(), options)
	installtest.Must(t, err)
	var running sync.WaitGroup
	installtest.Must(t, c.Fill(ctx))
	running.Go(func() { c.Run(ctx) })
	return &running
}

func logger() *logrus.Entry {
	log := logrus.New()
	log.SetOutput(io.Discard)
	if os.Getenv("MANAGER_LOG") != "" {
		log.SetOutput(os.Stderr)
	}
	return logrus.NewEntry(log)
}

func install(t *testing.T, ctx context.Context, w *World, olm *olmclient.Client) {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	installtest.OrPanic(w.Kube.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}))
	installtest.OrPanic(w.Kube.CoreV1().ServiceAccounts("shop").Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}, metav1.CreateOptions{}))
	group := &operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Name: "group"}}
	installtest.OrPanic(olm.OperatorGroups("shop").Create(ctx, group, metav1.CreateOptions{}))
	replicas := func(spec *appsv1.DeploymentSpec) { spec.Replicas = new(int32(2)) }
	none, path := admissionregistrationv1.SideEffectClassNone, "/validate"
	csv := installtest.Operator(installtest.Deployments(installtest.DeploymentOf("manager", replicas)),
		installtest.ServedBy("manager", func(d *operatorsv1alpha1.WebhookDescription) {
			d.SideEffects, d.WebhookPath, d.ContainerPort = &none, &path, 443
		}))
	csv.UID = ""
	csv.Spec.DisplayName = "Shop"
	csv.Spec.InstallStrategy.StrategyName = operatorsv1alpha1.InstallStrategyNameDeployment
	csv.Spec.InstallModes = []operatorsv1alpha1.InstallMode{{Type: operatorsv1alpha1.InstallModeTypeAllNamespaces, Supported: true}}
	for _, kind := range []operatorsv1alpha1.InstallModeType{operatorsv1alpha1.InstallModeTypeOwnNamespace, operatorsv1alpha1.InstallModeTypeSingleNamespace, operatorsv1alpha1.InstallModeTypeMultiNamespace} {
		csv.Spec.InstallModes = append(csv.Spec.InstallModes, operatorsv1alpha1.InstallMode{Type: kind})
	}
	installtest.OrPanic(olm.ClusterServiceVersions("shop").Create(ctx, csv, metav1.CreateOptions{}))
}

func bundleOf(t *testing.T, ctx context.Context, w *World) string {
	all := installtest.OrPanic(w.Kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().List(ctx, metav1.ListOptions{}))
	if len(all.Items) != 1 {
		t.Fatalf("%d configurations, not 1", len(all.Items))
	}
	return string(all.Items[0].Webhooks[0].ClientConfig.CABundle)
}

var dumped func()

func waitFor(t *testing.T, what string, limit time.Duration, done func() bool) {
	t.Helper()
	for start := time.Now(); !done(); time.Sleep(time.Second) {
		if time.Since(start) > limit {
			if dumped != nil {
				dumped()
			}
			t.Fatalf("not within %v: %s", limit, what)
		}
	}
	t.Log(time.Now().Format(time.TimeOnly), what)
}

// counter counts requests and writes of the manager.
type counter struct {
	mutex         sync.Mutex
	reads, writes map[string]int
}

func (c *counter) Read(r apiserver.Request) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if r.UserAgent == "manager" {
		c.reads[r.Info.Verb+" "+r.Info.Resource]++
	}
}

func (c *counter) Write(w apiserver.Write) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if w.UserAgent == "manager" {
		c.writes[w.Info.Verb+" "+w.Info.Resource]++
	}
}

func dumpAll(t *testing.T, ctx context.Context, w *World) {
	pods := installtest.OrPanic(w.Kube.CoreV1().Pods("").List(ctx, metav1.ListOptions{}))
	for _, p := range pods.Items {
		t.Log(p.Name, p.Status.Phase, p.Status.PodIP, p.Spec.Volumes)
	}
	for _, d := range installtest.OrPanic(w.Kube.AppsV1().Deployments("").List(ctx, metav1.ListOptions{})).Items {
		t.Logf("%+v", d.Status)
	}
	for _, d := range installtest.OrPanic(w.Kube.AppsV1().ReplicaSets("").List(ctx, metav1.ListOptions{})).Items {
		t.Logf("%+v", d.Name)
	}
	for _, d := range installtest.OrPanic(w.Kube.DiscoveryV1().EndpointSlices("").List(ctx, metav1.ListOptions{})).Items {
		t.Logf("%+v", d)
	}
	t.Log(len(list(w.objects.pods)), len(list(w.objects.deployments)), len(list(w.objects.replicaSets)), len(list(w.objects.services)))
}
