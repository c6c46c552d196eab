package campaign

import (
	"errors"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// operator is an operator of a run.
type operator struct {
	Operator
	*run
	number  int
	version int    // of the latest ClusterServiceVersion; 0 if it is not installed
	bundles string // the caBundles when a rotation was ordered; empty if none was
}

// live performs the steps one after the other.
func (o *operator) live() {
	if err := o.prepare(); err != nil {
		o.problem("the namespace of operator %d: %v", o.number, err)
		return
	}
	for _, step := range o.Steps {
		time.Sleep(step.After)
		if err := o.do(step.Action); err != nil {
			o.problem("%s of operator %d: %v", step.Action, o.number, err)
			return
		}
		if step.Await {
			o.await(string(step.Action))
		}
	}
}

// prepare creates the namespace of the operator with an OperatorGroup.
func (o *operator) prepare() error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: o.namespace()}}
	_, errNamespace := o.author.kube.CoreV1().Namespaces().Create(o.ctx, namespace, metav1.CreateOptions{})
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	_, errAccount := o.author.kube.CoreV1().ServiceAccounts(o.namespace()).Create(o.ctx, account, metav1.CreateOptions{})
	_, errGroup := o.author.OperatorGroups(o.namespace()).Create(o.ctx, o.group(), metav1.CreateOptions{})
	if err := errors.Join(errNamespace, errAccount, errGroup); err != nil {
		return err
	}
	return errors.Join(o.label(), o.occupy())
}

// longest is how long the manager may take for a step. A request that fails is retried after at most some minutes.
const longest = 20 * time.Minute

// await waits until the manager has completed everything that was asked for.
func (o *operator) await(what string) {
	began := time.Now()
	for !o.failed() {
		missing := o.missing()
		if missing == "" {
			return
		}
		if time.Since(began) > longest {
			o.problem("%s of operator %d is not complete within %v: %s", what, o.number, longest, missing)
			return
		}
		time.Sleep(time.Second)
	}
}

// missing returns what the manager has not completed yet; empty if it has completed everything.
func (o *operator) missing() string {
	csvs, err := o.admin.ClusterServiceVersions(o.namespace()).List(o.ctx, metav1.ListOptions{})
	if err != nil {
		return err.Error()
	}
	bundles, err := o.registered()
	switch {
	case err != nil:
		return err.Error()
	case o.version == 0 && len(csvs.Items) > 0:
		return "a ClusterServiceVersion exists"
	case o.version == 0 && len(bundles) > 0:
		return "a webhook is registered"
	case o.version == 0:
		return ""
	case len(csvs.Items) != 1 || csvs.Items[0].Name != o.name(o.version):
		return "the ClusterServiceVersions are not the last one"
	case csvs.Items[0].Status.Phase != operatorsv1alpha1.CSVPhaseSucceeded:
		return "the ClusterServiceVersion is " + string(csvs.Items[0].Status.Phase) + ": " + csvs.Items[0].Status.Message
	case len(bundles) != o.webhooks():
		return "not all webhooks are registered, or too many"
	}
	return o.notRotated(bundles)
}

// notRotated returns what a rotation lacks. Without an order, each caBundle has one CA, too.
func (o *operator) notRotated(bundles []string) string {
	if o.bundles != "" && strings.Join(bundles, "") == o.bundles {
		return "the certificate is not rotated"
	}
	for _, bundle := range bundles {
		if strings.Count(bundle, "BEGIN CERTIFICATE") != 1 {
			return "a caBundle has several CAs"
		}
	}
	o.bundles = ""
	return ""
}

func (o *operator) webhooks() int {
	if o.Mutating {
		return 2
	}
	return 1
}

// registered returns the caBundles of the webhooks that the operator serves.
func (o *operator) registered() (bundles []string, err error) {
	admission := o.admin.kube.AdmissionregistrationV1()
	validating, errValidating := admission.ValidatingWebhookConfigurations().List(o.ctx, metav1.ListOptions{})
	mutating, errMutating := admission.MutatingWebhookConfigurations().List(o.ctx, metav1.ListOptions{})
	if err := errors.Join(errValidating, errMutating); err != nil {
		return nil, err
	}
	for _, c := range validating.Items {
		for _, w := range c.Webhooks {
			if w.ClientConfig.Service != nil && w.ClientConfig.Service.Namespace == o.namespace() {
				bundles = append(bundles, string(w.ClientConfig.CABundle))
			}
		}
	}
	for _, c := range mutating.Items {
		for _, w := range c.Webhooks {
			if w.ClientConfig.Service != nil && w.ClientConfig.Service.Namespace == o.namespace() {
				bundles = append(bundles, string(w.ClientConfig.CABundle))
			}
		}
	}
	return bundles, nil
}
