package scale

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmclient"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// env is one measurement's part of the cluster: ten Namespaces, each with an OperatorGroup for itself.
type env struct {
	*testing.B
	ctx        context.Context
	kube       kubernetes.Interface
	olm        *olmclient.Client
	any        dynamic.Interface
	namespaces []string
}

var installCRDs = sync.OnceValue(func() error {
	return cluster.InstallCRDs(context.Background(), append(manifests("olm/operators*.yaml"), manifests("olm-webhook-manager.io_*.yaml")...)...)
})

func newEnv(b *testing.B) *env {
	e := newClients(b)
	for range 10 {
		namespace := e.newNamespace()
		e.group(operatorsv1.OperatorGroupSpec{TargetNamespaces: []string{namespace}})
	}
	return e
}

// newClients returns an env without Namespaces.
func newClients(b *testing.B) *env {
	e := &env{B: b, ctx: b.Context()}
	e.must(installCRDs())
	config := cluster.Config()
	config.UserAgent = "plain"
	var err error
	e.kube, err = kubernetes.NewForConfig(config)
	e.must(err)
	e.olm, err = olmclient.New(config)
	e.must(err)
	e.any, err = dynamic.NewForConfig(config)
	e.must(err)
	return e
}

func (e *env) newNamespace() string {
	ns := kube.Create(e, e.kube.CoreV1().Namespaces(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "scale-"}})
	e.namespaces = append(e.namespaces, ns.Name)
	return ns.Name
}

// group creates the OperatorGroup of the newest Namespace.
func (e *env) group(spec operatorsv1.OperatorGroupSpec) {
	kube.Create(e, e.olm.OperatorGroups(e.namespaces[len(e.namespaces)-1]), &operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Name: "own"}, Spec: spec})
}

// derived are the kinds of what the manager makes in the Namespace of a ClusterServiceVersion, except its own.
var derived = []schema.GroupVersionResource{
	appsv1.SchemeGroupVersion.WithResource("deployments"), corev1.SchemeGroupVersion.WithResource("services"), corev1.SchemeGroupVersion.WithResource("secrets"),
	rbacv1.SchemeGroupVersion.WithResource("roles"), rbacv1.SchemeGroupVersion.WithResource("rolebindings"), operatorConditions,
}

// clear removes what a measurement made, as the garbage collector would, which is not here:
// the next names its own objects alone.
func (e *env) clear() {
	e.eachNamespace(func(namespace string) {
		owned := metav1.ListOptions{LabelSelector: wellknown.LabelOwnerNamespace + "=" + namespace}
		e.must(e.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().DeleteCollection(e.ctx, metav1.DeleteOptions{}, owned))
		for _, kind := range derived {
			e.must(e.any.Resource(kind).Namespace(namespace).DeleteCollection(e.ctx, metav1.DeleteOptions{}, metav1.ListOptions{}))
		}
		for _, r := range kube.List(e, e.olm.WebhookRollouts(namespace), metav1.ListOptions{}).Items {
			e.must(e.olm.WebhookRollouts(namespace).Delete(e.ctx, r.Name, metav1.DeleteOptions{}))
		}
		for _, csv := range kube.List(e, e.olm.ClusterServiceVersions(namespace), metav1.ListOptions{}).Items {
			kube.Patch(e, e.olm.ClusterServiceVersions(namespace), csv.Name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
			e.must(e.olm.ClusterServiceVersions(namespace).Delete(e.ctx, csv.Name, metav1.DeleteOptions{}))
		}
	})
}

func (e *env) Context() context.Context { return e.ctx }

func (e *env) must(err error) {
	e.Helper()
	if err != nil {
		e.Fatal(err)
	}
}

func (e *env) each(csvs []*operatorsv1alpha1.ClusterServiceVersion, do func(*operatorsv1alpha1.ClusterServiceVersion) error) {
	e.Helper()
	todo := make(chan func() error, len(csvs))
	for _, csv := range csvs {
		todo <- func() error { return do(csv) }
	}
	close(todo)
	e.do(todo)
}

func (e *env) do(todo <-chan func() error) {
	e.Helper()
	failed := make(chan error, writers)
	var group wait.Group
	for range writers {
		group.Start(func() {
			for work := range todo {
				if err := work(); err != nil {
					select {
					case failed <- err:
					default:
					}
				}
			}
		})
	}
	group.Wait()
	select {
	case err := <-failed:
		e.Fatal(err)
	default:
	}
}

func (e *env) eachNamespace(do func(string)) {
	for _, namespace := range e.namespaces {
		do(namespace)
	}
}

func (e *env) createCSV(csv *operatorsv1alpha1.ClusterServiceVersion) error {
	_, err := e.olm.ClusterServiceVersions(csv.Namespace).Create(e.ctx, csv, metav1.CreateOptions{})
	return err
}

func (e *env) allSucceed(csvs []*operatorsv1alpha1.ClusterServiceVersion) {
	e.Helper()
	waiting := map[string]int{}
	for _, csv := range csvs {
		waiting[csv.Namespace]++
	}
	ctx, cancel := context.WithTimeout(e.ctx, 10*time.Minute)
	defer cancel()
	var group wait.Group
	for namespace, n := range waiting {
		group.Start(func() {
			w, err := e.olm.ClusterServiceVersions(namespace).Watch(ctx, metav1.ListOptions{})
			if err != nil {
				e.Error(err)
				return
			}
			defer w.Stop()
			done := map[string]bool{}
			for event := range w.ResultChan() {
				csv, ok := event.Object.(*operatorsv1alpha1.ClusterServiceVersion)
				if ok && csv.Status.Phase == operatorsv1alpha1.CSVPhaseSucceeded {
					done[csv.Name] = true
				}
				if len(done) == n {
					return
				}
			}
			e.Errorf("%d of %d ClusterServiceVersions in %s succeed", len(done), n, namespace)
		})
	}
	group.Wait()
	if e.Failed() {
		e.FailNow()
	}
}

// touchGroup makes the manager reconcile everything in a Namespace.
func (e *env) touchGroup(namespace string) {
	kube.Patch(e, e.olm.OperatorGroups(namespace), "own", types.MergePatchType,
		fmt.Appendf(nil, `{"metadata":{"annotations":{"example.com/touched":"%d"}}}`, time.Now().UnixNano()))
}

// playDeployments makes Deployments available, each after a random part of the delay.
func (e *env) playDeployments(delay time.Duration) {
	w := kube.Watch(e, e.kube.AppsV1().Deployments(metav1.NamespaceAll), metav1.ListOptions{LabelSelector: wellknown.LabelManaged + "=true"})
	created := make(chan *appsv1.Deployment, 10000)
	for range writers {
		go func() {
			for d := range created {
				e.makeAvailable(d)
			}
		}()
	}
	go func() {
		defer close(created)
		var late sync.WaitGroup
		for event := range w.ResultChan() {
			d, ok := event.Object.(*appsv1.Deployment)
			if !ok || event.Type == watch.Deleted || d.Status.ObservedGeneration == d.Generation {
				continue
			}
			if delay == 0 {
				created <- d
				continue
			}
			late.Add(1)
			time.AfterFunc(rand.N(delay), func() { defer late.Done(); created <- d })
		}
		late.Wait()
	}()
}

// makeAvailable writes what the Deployment controller would. A conflict is left to the event that caused it.
func (e *env) makeAvailable(d *appsv1.Deployment) {
	n := *d.Spec.Replicas
	d.Status = appsv1.DeploymentStatus{
		ObservedGeneration: d.Generation, Replicas: n, UpdatedReplicas: n, ReadyReplicas: n, AvailableReplicas: n,
		Conditions: []appsv1.DeploymentCondition{{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue, Reason: "MinimumReplicasAvailable", LastTransitionTime: metav1.Now()}},
	}
	if _, err := e.kube.AppsV1().Deployments(d.Namespace).UpdateStatus(e.ctx, d, metav1.UpdateOptions{}); err != nil {
		e.Logf("status of Deployment %s: %v", d.Name, err)
	}
}

// csvs are operators with one Deployment and one webhook on nothing, spread over the Namespaces.
func (e *env) csvs(size int, replicas int32) []*operatorsv1alpha1.ClusterServiceVersion {
	none := admissionregistrationv1.SideEffectClassNone
	var all []*operatorsv1alpha1.ClusterServiceVersion
	for i := range size {
		name := fmt.Sprintf("server-%d", i)
		labels := map[string]string{"app": name}
		csv := &operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: e.namespaces[i%len(e.namespaces)], Name: fmt.Sprintf("operator-%d.v1", i)}}
		csv.Spec.InstallModes = []operatorsv1alpha1.InstallMode{{Type: operatorsv1alpha1.InstallModeTypeOwnNamespace, Supported: true}}
		csv.Spec.InstallStrategy = operatorsv1alpha1.NamedInstallStrategy{StrategyName: operatorsv1alpha1.InstallStrategyNameDeployment}
		csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs = []operatorsv1alpha1.StrategyDeploymentSpec{{Name: name, Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "server", Image: "example.com/server:1"}}},
			},
		}}}
		csv.Spec.WebhookDefinitions = []operatorsv1alpha1.WebhookDescription{{
			GenerateName: "v.example.com", Type: operatorsv1alpha1.ValidatingAdmissionWebhook, DeploymentName: name, ContainerPort: 443,
			WebhookPath: new("/validate"), SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
			Rules: []admissionregistrationv1.RuleWithOperations{installtest.RuleOf([]string{"other.example.com"}, []string{"things"})},
		}}
		all = append(all, csv)
	}
	return all
}

func (e *env) auditEnd() int64 {
	place := installtest.OrPanic(cluster.Audit.End())
	return place
}

func (e *env) audited(since int64) []auditv1.Event {
	events, err := cluster.Audit.Since(since)
	e.must(err)
	return events
}

func conditionOf(condition func() (bool, error)) wait.ConditionWithContextFunc {
	return func(context.Context) (bool, error) { return condition() }
}
