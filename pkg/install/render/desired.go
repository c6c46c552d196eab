// Package render turns a ClusterServiceVersion into the objects that its webhooks need, as plain data.
//
// Given the same input it renders the same objects, in the order in which they are to be rolled out.
package render

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/exemptions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/permissions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/subscriptions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

// Input is all that the objects of a ClusterServiceVersion depend on.
type Input struct {
	CSV   *operatorsv1alpha1.ClusterServiceVersion
	Scope scope.Scope
	// Config is what the administrator configures, in the Subscription.
	Config subscriptions.Config
	// Manager is the user name of the manager itself: its writes must get past the
	// webhooks that it registers.
	Manager string

	// Definitions are those of custom resources that webhooks intercept, as far as they exist.
	Definitions []*apiextensionsv1.CustomResourceDefinition

	// Services are the names of the Services, by Deployment (see ServiceName).
	Services map[string]string
	// Delegations are the names of the bindings by which the server of an owned APIService
	// asks who calls it, by Deployment (see UsualDelegation).
	Delegations map[string]permissions.Delegation
	// Configurations are the names of the registrations that exist already. A
	// registration keeps the name that it was first created with.
	Configurations map[csvspec.Identity]string
	// Trust is what to trust and to mount, by Deployment. A Deployment without an
	// entry has no certificate yet: its webhooks are rendered without a caBundle.
	Trust map[string]Trust

	// OperatorConditions tells whether the cluster has the kind.
	OperatorConditions bool

	// exempted are computed once for all its webhooks.
	exempted func(operatorsv1alpha1.WebhookDescription) []exemptions.Exemption
}

// Trust is what the clients and the pods of a Deployment need to know of its
// serving certificate.
type Trust struct {
	// CABundle is the PEM form of every CA that a pod may serve under.
	CABundle []byte
	// CAHash is the hex SHA-256 of the PEM form of the CA of the generation that the pods
	// were started for.
	CAHash string
	// Generation is the number of the newest generation that CABundle trusts, counted from 1.
	Generation int64
	// RestartedFor is the number of the generation for which the pods are restarted,
	// because they do not take it up by themselves; empty when they never were.
	RestartedFor string
	// Delegated is set when certificates and caBundles are the administrator's: derived
	// objects bear the annotations of his config, and what is injected stays. CABundle is
	// then what came with the certificate, for want of anything that was injected.
	Delegated bool
	// ServiceAnnotations are those by which the Service asks for its certificate.
	ServiceAnnotations map[string]string
}

// Desired is what a ClusterServiceVersion wants to have in the cluster.
type Desired struct {
	// Deployments are in the order of the ClusterServiceVersion.
	Deployments []Deployment
	// Condition is nil where the cluster does not have the kind OperatorCondition.
	Condition *Condition
}

// Deployment is one Deployment and all that its webhooks, and its owned APIServices, need.
// Service, Role and RoleBinding are nil when it backs none; AuthDelegator and AuthReader when
// it backs no APIService.
type Deployment struct {
	Object      *appsv1.Deployment
	Service     *corev1.Service
	SecretName  string
	Role        *rbacv1.Role
	RoleBinding *rbacv1.RoleBinding
	Webhooks    []Webhook

	AuthDelegator *rbacv1.ClusterRoleBinding
	AuthReader    *rbacv1.RoleBinding
}

// Webhook is one description and what registers it: Validating, Mutating, Conversions, or
// APIService.
type Webhook struct {
	Description operatorsv1alpha1.WebhookDescription
	// Delegated is set when its caBundle is the administrator's.
	Delegated bool
	// Port is the Service's port that the webhook is called on.
	Port       int32
	Validating *admissionregistrationv1.ValidatingWebhookConfiguration
	Mutating   *admissionregistrationv1.MutatingWebhookConfiguration
	// Interception is what it sees of people's requests.
	Interception Interception
	// Conversions are those of a conversion webhook.
	Conversions []Conversion
	APIService  *apiregistrationv1.APIService
}

// Objects is the whole of what the input asks for.
func Objects(in Input) Desired {
	var desired Desired
	in.CSV = csvspec.LimitRules(in.CSV)
	in.exempted = exemptions.For(in.exemptionInput())
	for _, spec := range csvspec.Deployments(in.CSV) {
		desired.Deployments = append(desired.Deployments, renderDeployment(in, spec))
	}
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
	if csvspec.ServesAPIServices(in.CSV, spec.Name) {
		d.AuthDelegator, d.AuthReader = delegation(in, spec)
	}
	for i, description := range descriptions {
		d.Webhooks = append(d.Webhooks, webhook(in, description, ports.of[i]))
	}
	return d
}

func (in Input) exemptionInput() exemptions.Input {
	return exemptions.Input{CSV: in.CSV, Scope: in.Scope, Config: in.Config, Manager: in.Manager, Services: in.Services}
}
