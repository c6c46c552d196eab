package convert

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/webhookconfig"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/permissions"
)

// deployment is a Deployment of the operator.
type deployment struct {
	object *bundle.Object
	typed  *appsv1.Deployment
	// spec is a copy of the input's spec, which the conversion changes.
	spec map[string]any
	// called is set if a webhook calls the Deployment.
	called bool
}

func (d *deployment) pod() corev1.PodSpec { return d.typed.Spec.Template.Spec }

func (d *deployment) namespace() string { return d.typed.Namespace }

func (d *deployment) account() string { return csvspec.ServiceAccountOf(d.pod()) }

// index finds the Deployments, their namespaces and the Services.
func (c *converter) index() {
	for _, o := range c.objects {
		switch typed := o.Typed.(type) {
		case *appsv1.Deployment:
			spec, _ := o.Object["spec"].(map[string]any)
			c.deployments = append(c.deployments, &deployment{object: o, typed: typed, spec: runtime.DeepCopyJSON(spec)})
			c.handled[o] = true
		case *corev1.Service:
			c.services = append(c.services, &calledService{object: o, typed: typed, called: sets.New[int32]()})
		}
	}
	c.homes = c.findHomes()
	c.checkDeployments()
}

// findHomes returns the namespaces of the Deployments. Manifests without namespaces can have them in references to Services and accounts.
func (c *converter) findHomes() sets.Set[string] {
	homes, referenced := sets.New[string](), sets.New[string]()
	accounts := sets.New[string]()
	for _, d := range c.deployments {
		homes.Insert(d.object.GetNamespace())
		accounts.Insert(d.account())
	}
	homes.Delete("")
	for _, o := range c.objects {
		for _, w := range webhookconfig.Webhooks(o.Typed) {
			if w.ClientConfig.Service != nil {
				referenced.Insert(w.ClientConfig.Service.Namespace)
			}
		}
		if object, is := o.Typed.(metav1.Object); is {
			_, subjects := permissions.Bound(object)
			for _, s := range subjects {
				if s.Kind == rbacv1.ServiceAccountKind && accounts.Has(s.Name) {
					referenced.Insert(s.Namespace)
				}
			}
		}
	}
	if len(homes) == 0 {
		homes = referenced.Delete("")
	}
	return homes
}
