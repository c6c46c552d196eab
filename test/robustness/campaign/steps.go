package campaign

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/robustness/history"
)

// do performs an action. What it needs and does not exist makes it have no effect.
func (o *operator) do(action Action) error {
	switch {
	case action == Install && o.version == 0:
		return o.create(1)
	case action == Install, o.version == 0:
		return nil
	case action == Rotate:
		return o.rotate()
	case action == Upgrade:
		return o.create(o.version + 1)
	case action == Uninstall:
		return o.uninstall()
	case action == Scale:
		return o.scale()
	case action == Restart:
		return o.restart()
	case action == Tamper:
		return o.tamper()
	case action == Lose:
		return ignoreAbsent(o.neighbour.kube.CoreV1().Secrets(o.namespace()).Delete(o.ctx, names.Secret(names.Service("manager")), metav1.DeleteOptions{}))
	case action == Cut:
		o.Last().CutWatches()
	}
	return nil
}

// create creates a version. One with the name that is still being deleted is waited for.
func (o *operator) create(version int) error {
	began := time.Now()
	for {
		_, err := o.author.ClusterServiceVersions(o.namespace()).Create(o.ctx, o.csv(version), metav1.CreateOptions{})
		if !apierrors.IsAlreadyExists(err) {
			o.version = version
			return err
		}
		if time.Since(began) > longest {
			return fmt.Errorf("the deleted one still exists: %w", err)
		}
		time.Sleep(time.Second)
	}
}

func (o *operator) rotate() error {
	bundles, err := o.registered()
	if err != nil {
		return err
	}
	o.bundles = strings.Join(bundles, "")
	order := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, wellknown.AnnotationRotate, time.Now().Format(time.RFC3339Nano))
	_, err = o.admin.ClusterServiceVersions(o.namespace()).Patch(o.ctx, o.name(o.version), types.MergePatchType, []byte(order), metav1.PatchOptions{})
	return err
}

func (o *operator) uninstall() error {
	o.version, o.bundles = 0, ""
	all, err := o.author.ClusterServiceVersions(o.namespace()).List(o.ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	var errs []error
	for _, csv := range all.Items {
		errs = append(errs, ignoreAbsent(o.author.ClusterServiceVersions(o.namespace()).Delete(o.ctx, csv.Name, metav1.DeleteOptions{})))
	}
	return errors.Join(errs...)
}

func (o *operator) scale() error {
	o.Replicas = 1 + o.Replicas%3
	change := fmt.Sprintf(`[{"op":"replace","path":"/spec/install/spec/deployments/0/spec/replicas","value":%d}]`, o.Replicas)
	_, err := o.author.ClusterServiceVersions(o.namespace()).Patch(o.ctx, o.name(o.version), types.JSONPatchType, []byte(change), metav1.PatchOptions{})
	return err
}

// restart deletes a pod. If it is the only one, calls fail until another one is ready.
func (o *operator) restart() error {
	pods, err := o.neighbour.kube.CoreV1().Pods(o.namespace()).List(o.ctx, metav1.ListOptions{})
	if err != nil || len(pods.Items) == 0 {
		return err
	}
	outage := history.Condition{ID: fmt.Sprint("outage at ", time.Now()), Kind: history.Outage, Objects: o.services()}
	outage.Begin = true
	o.recorder.Condition(outage)
	err = ignoreAbsent(o.neighbour.kube.CoreV1().Pods(o.namespace()).Delete(o.ctx, pods.Items[0].Name, metav1.DeleteOptions{}))
	for began := time.Now(); !o.replaced(pods.Items[0].UID) && time.Since(began) < longest; {
		time.Sleep(time.Second)
	}
	time.Sleep(time.Second) // EndpointSlices follow
	outage.Begin = false
	o.recorder.Condition(outage)
	return err
}

// replaced reports whether a pod does not exist any more, and the Deployment has all its pods, if it exists.
func (o *operator) replaced(uid types.UID) bool {
	pods, err := o.admin.kube.CoreV1().Pods(o.namespace()).List(o.ctx, metav1.ListOptions{})
	if err != nil || slices.ContainsFunc(pods.Items, func(p corev1.Pod) bool { return p.UID == uid }) {
		return false
	}
	d, err := o.admin.kube.AppsV1().Deployments(o.namespace()).Get(o.ctx, "manager", metav1.GetOptions{})
	return apierrors.IsNotFound(err) || err == nil && d.Status.ReadyReplicas >= *d.Spec.Replicas
}

func (o *operator) services() []history.Ref {
	return []history.Ref{{Kind: "Service", Namespace: o.namespace(), Name: names.Service("manager")}}
}

// tamper deletes the webhook configurations of the operator.
func (o *operator) tamper() error {
	admission := o.neighbour.kube.AdmissionregistrationV1()
	all, err := admission.ValidatingWebhookConfigurations().List(o.ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	var errs []error
	for _, c := range all.Items {
		if len(c.Webhooks) > 0 && c.Webhooks[0].ClientConfig.Service != nil && c.Webhooks[0].ClientConfig.Service.Namespace == o.namespace() {
			errs = append(errs, ignoreAbsent(admission.ValidatingWebhookConfigurations().Delete(o.ctx, c.Name, metav1.DeleteOptions{})))
		}
	}
	return errors.Join(errs...)
}

func ignoreAbsent(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
