// Package render renders the objects for the webhooks of a CSV, in the order of their rollout.
package render

import (
	"encoding/json"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/exemptions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/permissions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/subscriptions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

// Input is everything that the objects of a CSV depend on.
type Input struct {
	CSV    *operatorsv1alpha1.ClusterServiceVersion
	Scope  scope.Scope
	Config subscriptions.Config
	// Manager is the user name of the manager. Its requests are exempted from the webhooks.
	Manager string
	// Installer is the user name of the account that writes objects of the operator; empty if the manager does.
	Installer string

	// Definitions are the existing CRDs of intercepted resources.
	Definitions []*apiextensionsv1.CustomResourceDefinition

	// Services are the names of the Services, by Deployment (see csvspec.ServiceName).
	Services map[string]string
	// Delegations are the names by Deployment (see permissions.UsualDelegation).
	Delegations map[string]permissions.Delegation
	// Configurations are the names of the existing registrations. A registration is never renamed.
	Configurations map[csvspec.Identity]string
	// Trust is the certificate of each Deployment. Without one, webhooks have no caBundle.
	Trust map[string]Trust

	// OperatorConditions is set if the cluster has the kind OperatorCondition.
	OperatorConditions bool

	// exempted returns the exemptions of a webhook. It is computed once for all webhooks.
	exempted func(operatorsv1alpha1.WebhookDescription) []exemptions.Exemption
}

// Trust is what clients and pods of a Deployment need to know about its serving certificate.
type Trust struct {
	// CABundle has every CA under which a pod may serve, as PEM.
	CABundle []byte
	// CAHash is the hex SHA-256 of the PEM of the CA for which the pods were started.
	CAHash string
	// Generation is the number of the newest certificate generation in CABundle, starting at 1.
	Generation int64
	// RestartedFor is the certificate generation for which pods were restarted, or empty.
	RestartedFor string
	// Delegated is set if the administrator provides certificates and caBundles. An injected caBundle is
	// kept; CABundle is the CA in the Secret, for the case that there is none.
	Delegated bool
	// ServiceAnnotations are the annotations by which the Service requests its certificate.
	ServiceAnnotations map[string]string
}

// Desired has all desired objects of a CSV.
type Desired struct {
	// Deployments are in the order of the CSV.
	Deployments []Deployment
	// Condition is nil if the cluster does not have the kind OperatorCondition.
	Condition *Condition
}

// Deployment has nil for objects that it does not need. Only an APIService needs AuthDelegator and AuthReader.
type Deployment struct {
	Object      *appsv1.Deployment
	Service     *corev1.Service
	SecretName  string
	Role        *rbacv1.Role
	RoleBinding *rbacv1.RoleBinding
	Webhooks    []Webhook

	AuthDelegator *rbacv1.ClusterRoleBinding
	AuthReader    *rbacv1.RoleBinding

	// Adopted is set while the Deployment and its registrations stay as olm-operator made them, except for trust.
	Adopted bool
}

// Object is any API object.
type Object interface {
	metav1.Object
	runtime.Object
}

// Webhook is a description and its registration.
type Webhook struct {
	Description operatorsv1alpha1.WebhookDescription
	// Registration is the webhook configuration or the APIService; nil for a conversion webhook.
	Registration Object
	// Delegated is set if the administrator provides the caBundle.
	Delegated    bool
	Port         int32
	Interception Interception
	// Conversions are set for a conversion webhook.
	Conversions []Conversion
}

// Objects returns the desired objects.
func Objects(in Input) Desired {
	var desired Desired
	in.CSV = csvspec.LimitRules(in.CSV)
	in.exempted = exemptions.For(in.exemptionInput())
	desired.Deployments = lists.Map(csvspec.Deployments(in.CSV), func(spec operatorsv1alpha1.StrategyDeploymentSpec) Deployment {
		return renderDeployment(in, spec)
	})
	if in.OperatorConditions {
		desired.Condition = condition(in.CSV)
	}
	return desired
}

func renderDeployment(in Input, spec operatorsv1alpha1.StrategyDeploymentSpec) Deployment {
	descriptions := csvspec.Descriptions(in.CSV, spec.Name)
	if len(descriptions) == 0 {
		return Deployment{Object: deployment(in, spec, "")}
	}
	d := Deployment{SecretName: names.Secret(in.Services[spec.Name])}
	ports := allocatePorts(descriptions)
	d.Object = deployment(in, spec, d.SecretName)
	d.Service = service(in, spec, ports)
	d.Role, d.RoleBinding = secretAccess(in, d.SecretName, d.Object.Spec.Template.Spec)
	if len(csvspec.ServedAPIServices(in.CSV, spec.Name)) > 0 {
		d.AuthDelegator, d.AuthReader = delegation(in, spec)
	}
	for i, description := range descriptions {
		d.Webhooks = append(d.Webhooks, webhook(in, description, ports.of[i]))
	}
	return d
}

func (in Input) exemptionInput() exemptions.Input {
	return exemptions.Input{CSV: in.CSV, Scope: in.Scope, Config: in.Config, Manager: in.Manager, Installer: in.Installer, Services: in.Services}
}

func hashOf(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // API types always marshal
	}
	return names.Hash(string(text))
}
