package scale

import (
	"context"
	"errors"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

type result struct {
	csv           *operatorsv1alpha1.ClusterServiceVersion
	rollout       *managerv1alpha1.WebhookRollout
	secret        *corev1.Secret
	service       *corev1.Service
	role          *rbacv1.Role
	binding       *rbacv1.RoleBinding
	deployment    *appsv1.Deployment
	configuration *admissionregistrationv1.ValidatingWebhookConfiguration

	condition *unstructured.Unstructured // in which the operator may write its condition, and what permits it
	mayRead   *rbacv1.Role
	reader    *rbacv1.RoleBinding
}

// floor is how long plain clients take to write the final objects of an installation again. The registration and the
// two statuses are written when the Deployment is available.
func (e *env) floor(csvs []*operatorsv1alpha1.ClusterServiceVersion) time.Duration {
	e.Helper()
	results := map[string]*result{} // by Deployment
	for _, csv := range csvs {
		r := e.read(csv)
		results[r.deployment.Namespace+"/"+r.deployment.Name] = r
	}
	e.clear()
	e.eachNamespace(e.noPods)
	ctx, cancel := context.WithTimeout(e.ctx, 10*time.Minute)
	defer cancel()
	w, err := e.kube.AppsV1().Deployments(metav1.NamespaceAll).Watch(ctx, metav1.ListOptions{LabelSelector: wellknown.LabelManaged + "=true"})
	e.must(err)
	defer w.Stop()
	took := e.timed(func() {
		todo := make(chan func() error, 2*len(csvs))
		for name, r := range results {
			if *r.deployment.Spec.Replicas == 0 { // it has all that it asks for
				delete(results, name)
				todo <- func() error { return errors.Join(e.write(r), e.finish(r)) }
				continue
			}
			todo <- func() error { return e.write(r) }
		}
		go func() {
			defer close(todo)
			for len(results) > 0 {
				event, open := <-w.ResultChan()
				if !open {
					return
				}
				d, ok := event.Object.(*appsv1.Deployment)
				if !ok || d.Status.ObservedGeneration == 0 || d.Status.AvailableReplicas < *d.Spec.Replicas || results[d.Namespace+"/"+d.Name] == nil {
					continue
				}
				r := results[d.Namespace+"/"+d.Name]
				delete(results, d.Namespace+"/"+d.Name)
				todo <- func() error { return e.finish(r) }
			}
		}()
		e.do(todo)
	})
	if len(results) > 0 {
		e.Fatalf("%d Deployments did not become available", len(results))
	}
	return took
}

func (e *env) read(csv *operatorsv1alpha1.ClusterServiceVersion) *result {
	e.Helper()
	deployment := csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Name
	service := names.Service(deployment)
	secret := names.Secret(service)
	var r result
	var errs [11]error
	r.csv, errs[0] = e.olm.ClusterServiceVersions(csv.Namespace).Get(e.ctx, csv.Name, metav1.GetOptions{})
	r.rollout, errs[1] = e.olm.WebhookRollouts(csv.Namespace).Get(e.ctx, csv.Name, metav1.GetOptions{})
	r.secret, errs[2] = e.kube.CoreV1().Secrets(csv.Namespace).Get(e.ctx, secret, metav1.GetOptions{})
	r.service, errs[3] = e.kube.CoreV1().Services(csv.Namespace).Get(e.ctx, service, metav1.GetOptions{})
	r.role, errs[4] = e.kube.RbacV1().Roles(csv.Namespace).Get(e.ctx, secret, metav1.GetOptions{})
	r.binding, errs[5] = e.kube.RbacV1().RoleBindings(csv.Namespace).Get(e.ctx, secret, metav1.GetOptions{})
	r.deployment, errs[6] = e.kube.AppsV1().Deployments(csv.Namespace).Get(e.ctx, deployment, metav1.GetOptions{})
	configuration := names.WebhookConfiguration("v.example.com", csv.Namespace, csv.Name, string(operatorsv1alpha1.ValidatingAdmissionWebhook))
	r.configuration, errs[7] = e.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(e.ctx, configuration, metav1.GetOptions{})
	r.condition, errs[8] = e.any.Resource(operatorConditions).Namespace(csv.Namespace).Get(e.ctx, csv.Name, metav1.GetOptions{})
	r.mayRead, errs[9] = e.kube.RbacV1().Roles(csv.Namespace).Get(e.ctx, csv.Name, metav1.GetOptions{})
	r.reader, errs[10] = e.kube.RbacV1().RoleBindings(csv.Namespace).Get(e.ctx, csv.Name, metav1.GetOptions{})
	for _, err := range errs {
		e.must(err)
	}
	return &r
}

var operatorConditions = operatorsv2.GroupVersion.WithResource("operatorconditions")

// write creates the objects as they were, except for what waits until the Deployment is available. Kinds whose old
// objects may still exist get another name.
func (e *env) write(r *result) error {
	for _, o := range []metav1.Object{r.csv, r.rollout, r.secret, r.service, r.role, r.binding, r.deployment, r.configuration, r.condition, r.mayRead, r.reader} {
		o.SetResourceVersion("")
		o.SetUID("")
		o.SetOwnerReferences(nil) // the owner no longer exists, and a garbage collector would take them after it
		o.SetManagedFields(nil)
		o.SetCreationTimestamp(metav1.Time{})
	}
	r.service.Spec.ClusterIP, r.service.Spec.ClusterIPs = "", nil
	r.service.Name, r.role.Name, r.binding.Name = r.service.Name+"-f", r.role.Name+"-f", r.binding.Name+"-f"
	r.mayRead.Name, r.reader.Name = r.mayRead.Name+"-f", r.reader.Name+"-f"
	r.deployment.Status = appsv1.DeploymentStatus{}
	var create metav1.CreateOptions
	ns := r.csv.Namespace
	csv, err := e.olm.ClusterServiceVersions(ns).Create(e.ctx, r.csv, create)
	if err != nil {
		return err
	}
	r.csv.ResourceVersion = csv.ResourceVersion
	rollout, err := e.olm.WebhookRollouts(ns).Create(e.ctx, r.rollout, create)
	if err != nil {
		return err
	}
	r.rollout.ResourceVersion = rollout.ResourceVersion
	if _, err := e.kube.CoreV1().Secrets(ns).Create(e.ctx, r.secret, create); err != nil {
		return err
	}
	if _, err := e.kube.CoreV1().Services(ns).Create(e.ctx, r.service, create); err != nil {
		return err
	}
	if _, err := e.kube.RbacV1().Roles(ns).Create(e.ctx, r.role, create); err != nil {
		return err
	}
	if _, err := e.kube.RbacV1().RoleBindings(ns).Create(e.ctx, r.binding, create); err != nil {
		return err
	}
	if _, err := e.any.Resource(operatorConditions).Namespace(ns).Create(e.ctx, r.condition, create); err != nil {
		return err
	}
	if _, err := e.kube.RbacV1().Roles(ns).Create(e.ctx, r.mayRead, create); err != nil {
		return err
	}
	if _, err := e.kube.RbacV1().RoleBindings(ns).Create(e.ctx, r.reader, create); err != nil {
		return err
	}
	_, err = e.kube.AppsV1().Deployments(ns).Create(e.ctx, r.deployment, create)
	return err
}

func (e *env) finish(r *result) error {
	if _, err := e.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(e.ctx, r.configuration, metav1.CreateOptions{}); err != nil {
		return err
	}
	if _, err := e.olm.WebhookRollouts(r.rollout.Namespace).UpdateStatus(e.ctx, r.rollout, metav1.UpdateOptions{}); err != nil {
		return err
	}
	_, err := e.olm.ClusterServiceVersions(r.csv.Namespace).UpdateStatus(e.ctx, r.csv, metav1.UpdateOptions{})
	return err
}
