package world

import (
	"context"
	"io"
	"maps"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/sirupsen/logrus"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/clients"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/metrics"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmclient"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/robustness/apiserver"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/robustness/etcd"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/robustness/history"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/robustness/judge"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/robustness/recorder"
)

// managed is a world in which the manager runs, at the last API server.
type managed struct {
	*testing.T
	*World
	ctx     context.Context
	olm     *olmclient.Client // of an administrator, at the first API server
	written *counter
	// recorder writes the history, which is judged at the end.
	recorder *recorder.Recorder
	// violates are the invariants that the run is expected to violate.
	violates []string
	running  sync.WaitGroup // managers
}

// run starts a world with the manager. At the end of the test it ends both.
func run(t *testing.T, start etcd.Snapshot, servers int) *managed {
	t.Helper()
	return runWith(t, start, servers, 1, nil)
}

// runWith has faults, too.
func runWith(t *testing.T, start etcd.Snapshot, servers int, seed uint64, fault func(apiserver.Request) apiserver.Fault) *managed {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	w := installtest.OrPanic(New(ctx, servers, etcd.NewStoreFrom(start), seed, usual))
	m := &managed{T: t, World: w, ctx: ctx, written: &counter{writes: map[string]int{}}}
	author := w.Server(0).Config(apiserver.Admin)
	author.UserAgent = authorAgent
	m.olm = installtest.OrPanic(olmclient.New(author))
	m.recorder = recorder.New(roleOf)
	w.Recorder, w.Observer, w.Fault = both{m.written, m.recorder}, m.recorder, fault
	w.Log = func(err error) { t.Log("controllers:", err) }
	m.startManager(managerAgent)
	t.Cleanup(func() {
		cancel()
		m.running.Wait()
		w.Wait()
		m.judge()
	})
	return m
}

// The user agents of the clients.
const managerAgent, successorAgent, authorAgent = "olm-webhook-manager", "successor", "author"

// judge requires that the run violated what it is expected to violate.
func (m *managed) judge() {
	m.Helper()
	violated, h := map[string]bool{}, m.recorder.History()
	for _, violation := range judge.Judge(h) {
		if violated[violation.Invariant] = true; !slices.Contains(m.violates, violation.Invariant) {
			m.Errorf("%s\n%s", violation, h.Text(h.Before(violation.Event, 40)))
		}
	}
	for _, invariant := range m.violates {
		if !violated[invariant] {
			m.Errorf("%s is not violated, as it should be", invariant)
		}
	}
}

// startManager starts a manager with a user agent of its own. One that cannot fill its caches starts again a second later, as its pod does.
func (m *managed) startManager(agent string) {
	m.running.Go(func() {
		for m.ctx.Err() == nil {
			ctx, exit := context.WithCancel(m.ctx)
			c := newManager(m.World, m.Last(), agent)
			if c.Fill(ctx) != nil {
				exit() // Run ends what New began
			}
			c.Run(ctx)
			exit()
			time.Sleep(time.Second)
		}
	})
}

func newManager(w *World, server *apiserver.Server, agent string) *controller.Controller {
	config := server.Config(installtest.ManagerUser)
	config.UserAgent = agent
	set := installtest.OrPanic(clients.New(config))
	options := controller.Options{Rollout: rollout.DefaultPolicy(), Certificates: certs.DefaultPolicy(), Workers: 4, Dial: w.DialAs(agent)}
	return installtest.OrPanic(controller.New(set, record.NewFakeRecorder(1000), metrics.New(prometheus.NewRegistry()), logger(), options))
}

// logger reports nothing unless MANAGER_LOG is set.
func logger() *logrus.Entry {
	log := logrus.New()
	log.SetOutput(io.Discard)
	if os.Getenv("MANAGER_LOG") != "" {
		log.SetOutput(os.Stderr)
	}
	return logrus.NewEntry(log)
}

// createOperator creates the namespace shop with an OperatorGroup for all namespaces and the ClusterServiceVersion shop.v1, which has a validating webhook
// and two replicas.
func createOperator(m *managed) {
	m.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	installtest.OrPanic(m.Kube.CoreV1().Namespaces().Create(m.ctx, namespace, metav1.CreateOptions{}))
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	installtest.OrPanic(m.Kube.CoreV1().ServiceAccounts("shop").Create(m.ctx, account, metav1.CreateOptions{}))
	group := &operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Name: "group"}}
	installtest.OrPanic(m.olm.OperatorGroups("shop").Create(m.ctx, group, metav1.CreateOptions{}))
	installtest.OrPanic(m.olm.ClusterServiceVersions("shop").Create(m.ctx, operator(), metav1.CreateOptions{}))
}

func operator() *operatorsv1alpha1.ClusterServiceVersion {
	replicas := func(spec *appsv1.DeploymentSpec) { spec.Replicas = new(int32(2)) }
	csv := installtest.Operator(installtest.Deployments(installtest.DeploymentOf("manager", replicas)), installtest.ServedBy("manager", complete))
	csv.UID, csv.Spec.DisplayName = "", "Shop"
	csv.Spec.InstallStrategy.StrategyName = operatorsv1alpha1.InstallStrategyNameDeployment
	for _, mode := range []operatorsv1alpha1.InstallModeType{
		operatorsv1alpha1.InstallModeTypeOwnNamespace, operatorsv1alpha1.InstallModeTypeSingleNamespace,
		operatorsv1alpha1.InstallModeTypeMultiNamespace, operatorsv1alpha1.InstallModeTypeAllNamespaces,
	} {
		csv.Spec.InstallModes = append(csv.Spec.InstallModes, operatorsv1alpha1.InstallMode{Type: mode, Supported: true})
	}
	return csv
}

// complete adds what the API server requires of a webhook.
func complete(d *operatorsv1alpha1.WebhookDescription) {
	none, path := admissionregistrationv1.SideEffectClassNone, "/validate"
	d.SideEffects, d.WebhookPath, d.ContainerPort = &none, &path, 443
}

// roleOf returns what the clients of these tests are.
func roleOf(userAgent string) history.Role {
	switch {
	case userAgent == managerAgent, userAgent == successorAgent:
		return history.Manager
	case userAgent == authorAgent:
		return history.Author
	default:
		return history.ControlPlane
	}
}

// both are two recorders.
type both struct{ one, other apiserver.Recorder }

func (b both) Read(r apiserver.Request) { b.one.Read(r); b.other.Read(r) }
func (b both) Write(w apiserver.Write)  { b.one.Write(w); b.other.Write(w) }

// counter counts the requests of the manager.
type counter struct {
	mutex  sync.Mutex
	reads  int
	writes map[string]int // by verb and resource
}

func (c *counter) Read(r apiserver.Request) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if r.UserAgent == managerAgent {
		c.reads++
	}
}

func (c *counter) Write(w apiserver.Write) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if w.UserAgent == managerAgent {
		c.writes[w.Info.Verb+" "+w.Info.Resource]++
	}
}

func (c *counter) copy() map[string]int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return maps.Clone(c.writes)
}
