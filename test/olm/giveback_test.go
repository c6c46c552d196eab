package olm

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/calls"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/olm/catalog"
)

// An operator that olm-operator installed is held by the manager, its certificate is rotated, and it is given back. No call
// fails, no pod is restarted, and olm-operator changes no phase.
func TestGiveBack(t *testing.T) {
	e, o := newExample(t, "poddefaults")
	e.Cleanup(func() { e.works("manager") })
	e.works("olm")
	v1 := e.example(o.bundle)
	e.serve(packageOf(catalog.Chain(stable, v1), v1))
	e.subscribe(operatorsv1alpha1.SubscriptionSpec{Package: v1.Package, Channel: stable})
	e.installs(v1.Package, v1.Name())
	e.staysSucceeded(v1.Name())
	load := o.load(e)
	load.GoesOn(o.answer)

	before := e.identities()
	e.ordersTakeover(v1.Name(), wellknown.TakeoverHeld)
	e.works("manager")
	e.takeoverIs(v1.Name(), managerv1alpha1.TakeoverAdopted)
	load.GoesOn(o.answer)
	e.rotates(e.namespace, v1.Name())
	load.GoesOn(o.answer)
	installtest.Same(t, "pods and registrations while the version is held", before, e.identities())

	e.ordersTakeover(v1.Name(), wellknown.TakeoverGiveBack)
	e.takeoverIs(v1.Name(), managerv1alpha1.TakeoverGivenBack)
	e.ordersTakeover(v1.Name(), wellknown.TakeoverGivenBack)
	transition := kube.Get(e, olmClient.ClusterServiceVersions(e.namespace), v1.Name()).Status.LastTransitionTime
	certificate := e.servingCertificates()
	e.works("olm")
	e.copiedByOLM(v1.Name())
	e.staysSucceeded(v1.Name())
	load.GoesOn(o.answer)
	load.End(calls.Never)
	installtest.Same(t, "pods and registrations after the return", before, e.identities())
	installtest.Same(t, "the last transition of the phase", transition, kube.Get(e, olmClient.ClusterServiceVersions(e.namespace), v1.Name()).Status.LastTransitionTime)
	installtest.Same(t, "certificates after the return", certificate, e.servingCertificates())
}

// ordersTakeover writes the administrator's order about a takeover.
func (e *env) ordersTakeover(csv, order string) {
	e.Helper()
	patch := fmt.Sprintf(`{"metadata":{"labels":{%q:%q}}}`, wellknown.LabelTakeover, order)
	kube.Patch(e, olmClient.ClusterServiceVersions(e.namespace), csv, types.MergePatchType, []byte(patch))
}

func (e *env) takeoverIs(csv string, form managerv1alpha1.TakeoverForm) {
	e.Helper()
	e.eventually("the takeover is "+string(form), func() (bool, any) {
		status, err := olmClient.WebhookRollouts(e.namespace).Get(e.ctx, csv, metav1.GetOptions{})
		return err == nil && status.Status.Takeover != nil && status.Status.Takeover.Form == form, status.Status.Takeover
	})
}

// identities are the uids and restarts of the pods, and the uids of Deployments, registrations and owned CRDs.
func (e *env) identities() map[string]string {
	e.Helper()
	all, everything := map[string]string{}, metav1.ListOptions{}
	for _, pod := range kube.List(e, kubeClient.CoreV1().Pods(e.namespace), everything).Items {
		restarts := int32(0)
		for _, c := range pod.Status.ContainerStatuses {
			restarts += c.RestartCount
		}
		all["Pod "+pod.Name] = fmt.Sprintf("%s, %d restarts", pod.UID, restarts)
	}
	for _, d := range kube.List(e, kubeClient.AppsV1().Deployments(e.namespace), everything).Items {
		all["Deployment "+d.Name] = string(d.UID)
	}
	owned := metav1.ListOptions{LabelSelector: wellknown.LabelOwnerNamespace + "=" + e.namespace + ",!" + wellknown.LabelCanary}
	for _, c := range kube.List(e, kubeClient.AdmissionregistrationV1().MutatingWebhookConfigurations(), owned).Items {
		all["MutatingWebhookConfiguration "+c.Name] = string(c.UID)
	}
	for _, c := range kube.List(e, kubeClient.AdmissionregistrationV1().ValidatingWebhookConfigurations(), owned).Items {
		all["ValidatingWebhookConfiguration "+c.Name] = string(c.UID)
	}
	for _, csv := range kube.List(e, olmClient.ClusterServiceVersions(e.namespace), everything).Items {
		if csv.IsCopied() {
			continue
		}
		for _, name := range csvspec.OwnedCRDs(&csv) {
			crd, err := dynamicClient.Resource(definitions).Get(e.ctx, name, metav1.GetOptions{})
			e.must(err)
			all["CustomResourceDefinition "+name] = string(crd.GetUID())
		}
	}
	return all
}

// copiedByOLM waits until olm-operator has reconciled a version: it copies all of its labels afterwards, and the manager does
// not copy this one.
func (e *env) copiedByOLM(csv string) {
	e.Helper()
	e.eventually("olm-operator has copied "+csv, func() (bool, any) {
		copied, err := olmClient.ClusterServiceVersions(notebooks).Get(e.ctx, csv, metav1.GetOptions{})
		return err == nil && copied.Labels[wellknown.LabelTakeover] == wellknown.TakeoverGivenBack, copied.Labels
	})
}
