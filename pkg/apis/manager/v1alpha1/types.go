package v1alpha1

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// +kubebuilder:object:root=true
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:resource:shortName=wr;rollout,categories=olm
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Ready",type=integer,JSONPath=`.status.readyRegistrations`,description="Number of webhooks and owned APIServices that are registered and reachable"
// +kubebuilder:printcolumn:name="Declared",type=integer,JSONPath=`.status.registrations`,description="Number of webhooks and owned APIServices that the ClusterServiceVersion declares"
// +kubebuilder:printcolumn:name="Cert-Expires",type=string,JSONPath=`.status.certificateExpirationTime`,description="When the first serving certificate expires"
// +kubebuilder:printcolumn:name="Provider",type=string,JSONPath=`.status.provider`,description="Provider that issues the serving certificates"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`

// WebhookRollout reports the progress of the webhooks of one ClusterServiceVersion, and
// the reason why a webhook is not registered yet. The manager creates one for each
// ClusterServiceVersion that it manages, with the same name and namespace.
type WebhookRollout struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// status is the last observed state and the last decision of the manager.
	// +optional
	Status WebhookRolloutStatus `json:"status,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// WebhookRolloutList is a list of WebhookRollouts.
type WebhookRolloutList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []WebhookRollout `json:"items"`
}

// WebhookRolloutStatus reports which webhooks are live, and why the others are not.
type WebhookRolloutStatus struct {
	// observedGeneration is the metadata.generation of the ClusterServiceVersion
	// that this status refers to.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// subscription is the Subscription whose spec.config applies. Absent if there is none.
	// +optional
	Subscription *SubscriptionReference `json:"subscription,omitempty"`

	// registrations is the number of webhooks and owned APIServices that the ClusterServiceVersion
	// declares. Disabled ones are not counted.
	// +optional
	Registrations int32 `json:"registrations"`

	// readyRegistrations is the number of registrations that are registered and reachable.
	// +optional
	ReadyRegistrations int32 `json:"readyRegistrations"`

	// certificateExpirationTime is when the first serving certificate in use expires.
	// +optional
	CertificateExpirationTime *metav1.Time `json:"certificateExpirationTime,omitempty"`

	// provider is the provider that issues the serving certificates.
	// +optional
	Provider CertificateProvider `json:"provider,omitempty"`

	// upgrade reports the progress of the upgrade from the versions that this version replaces.
	// Absent when there is none.
	// +optional
	Upgrade *UpgradeStatus `json:"upgrade,omitempty"`

	// takeover is the progress of the adoption of objects that olm-operator created, or of their return.
	// Absent if the ClusterServiceVersion has no order about it and no Deployment has olm-operator's form.
	// +optional
	Takeover *TakeoverStatus `json:"takeover,omitempty"`

	// conditions are Ready, OrderRelaxed, CallsFail, Contested, ChangedByAdmission, ConversionInUse, UnregistrationRefused, InstallerForbidden, ConfigRefused, RulesMatchNothing, VersionsHeld, BlocksInstallPlan and CertificateRejected.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// created lists the objects of the ClusterServiceVersion that garbage collection does not
	// delete: registrations, and permissions outside its namespace. When the
	// ClusterServiceVersion is deleted, the manager identifies them by these uids.
	// +optional
	// +listType=atomic
	Created []CreatedObject `json:"created,omitempty"`

	// deployments are the Deployments of the ClusterServiceVersion, in its order, which is the
	// order of their rollout.
	// +optional
	// +listType=map
	// +listMapKey=name
	Deployments []DeploymentStatus `json:"deployments,omitempty"`

	// keptOpenings are records of openings of webhooks that this version does not serve: a newer version has
	// adopted them, or recorded openings and was deleted. When this version serves the webhook again, it continues
	// the record in deployments[].webhooks[].failOpen.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +listMapKey=generateName
	KeptOpenings []KeptOpenings `json:"keptOpenings,omitempty"`
}

// CreatedObject is an object that belongs to a ClusterServiceVersion.
type CreatedObject struct {
	// kind is the kind of the object.
	Kind string `json:"kind"`

	// namespace is the namespace of the object. Absent for cluster-scoped objects.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// name is the name of the object.
	Name string `json:"name"`

	// uid is the metadata.uid of the object.
	UID types.UID `json:"uid"`
}

// SubscriptionReference identifies one generation of a Subscription.
type SubscriptionReference struct {
	// name is the name of the Subscription.
	Name string `json:"name"`

	// generation is the metadata.generation of the Subscription.
	Generation int64 `json:"generation"`
}

// UpgradeStatus is the progress of a version that replaces other versions of the operator.
type UpgradeStatus struct {
	// from lists the replaced versions that still exist, the most recent first.
	// +listType=atomic
	From []string `json:"from"`

	// lastUnregistrationTime is when a webhook was last unregistered because the new
	// version does not declare it, or serves it differently.
	// +optional
	LastUnregistrationTime *metav1.Time `json:"lastUnregistrationTime,omitempty"`
}

// Condition types of a WebhookRollout.
const (
	// ConditionReady is True while every declared webhook is registered and reachable.
	ConditionReady = "Ready"
	// ConditionOrderRelaxed is True once a Deployment was started although an earlier
	// one was not available.
	ConditionOrderRelaxed = "OrderRelaxed"
	// ConditionCallsFail is True while calls of a registered webhook from an API server fail, as the metrics
	// of that API server show. It is Unknown while the manager cannot read these metrics of an API server,
	// or cannot attribute them to one webhook. It is absent while no call is known to fail.
	ConditionCallsFail = "CallsFail"
	// ConditionContested is True while another client keeps reverting a field of an
	// object that the manager owns.
	ConditionContested = "Contested"
	// ConditionChangedByAdmission is True while a mutating webhook or a MutatingAdmissionPolicy
	// changes fields of objects that the manager writes, and the manager accepts the changes.
	ConditionChangedByAdmission = "ChangedByAdmission"
	// ConditionConversionInUse is True while a conversion webhook that should be removed cannot be,
	// because objects would lose fields without it.
	ConditionConversionInUse = "ConversionInUse"
	// ConditionUnregistrationRefused is True while finalizers keep registrations that the manager has
	// to delete, or the API server refuses to remove registrations, other objects or the finalizer of
	// a ClusterServiceVersion that is being deleted.
	ConditionUnregistrationRefused = "UnregistrationRefused"
	// ConditionInstallerForbidden is True while the ServiceAccount of the OperatorGroup does not exist, lacks a permission
	// to write objects of the operator, or is not used because the manager runs without --with-olm.
	ConditionInstallerForbidden = "InstallerForbidden"
	// ConditionConfigRefused is True while parts of the Subscription's config are not
	// applied.
	ConditionConfigRefused = "ConfigRefused"
	// ConditionRulesMatchNothing is True while rules of webhooks name what the API server does
	// not serve.
	ConditionRulesMatchNothing = "RulesMatchNothing"
	// ConditionVersionsHeld is True while a CustomResourceDefinition that the ClusterServiceVersion
	// converts does not serve a version that a client added, because no conversion webhook converts to it.
	ConditionVersionsHeld = "VersionsHeld"
	// ConditionBlocksInstallPlan is True while an InstallPlan cannot continue because API servers cannot
	// call a webhook of the ClusterServiceVersion.
	ConditionBlocksInstallPlan = "BlocksInstallPlan"
	// ConditionCertificateRejected is True while the last issued certificate cannot be served.
	ConditionCertificateRejected = "CertificateRejected"
)

// DeploymentState is the step of the rollout that a Deployment has reached.
// +kubebuilder:validation:Enum=Pending;Progressing;Available
type DeploymentState string

// The states of a Deployment.
const (
	// DeploymentPending waits for an earlier Deployment, or for a mistake to be corrected.
	DeploymentPending DeploymentState = "Pending"
	// DeploymentProgressing exists and is not available.
	DeploymentProgressing DeploymentState = "Progressing"
	// DeploymentAvailable has its replicas updated and available.
	DeploymentAvailable DeploymentState = "Available"
)

// DeploymentStatus is the state of one Deployment of the ClusterServiceVersion, with its
// serving certificate and its webhooks.
type DeploymentStatus struct {
	// name is the name of the Deployment.
	Name string `json:"name"`

	// state is the step of the rollout that the Deployment has reached.
	State DeploymentState `json:"state"`

	// reason is one CamelCase word for the state.
	// +optional
	Reason string `json:"reason,omitempty"`

	// message reports what the Deployment waits for, and what to do about it.
	// +optional
	Message string `json:"message,omitempty"`

	// certificate is the serving certificate of the Deployment's webhooks and APIServices.
	// Absent before the first certificate, or if the Deployment has no webhook and no APIService.
	// +optional
	Certificate *CertificateStatus `json:"certificate,omitempty"`

	// webhooks are the webhooks that name this Deployment, in the order of the
	// ClusterServiceVersion.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +listMapKey=generateName
	Webhooks []WebhookStatus `json:"webhooks,omitempty"`

	// apiServices are the owned APIServices that name this Deployment, in the order of the
	// ClusterServiceVersion.
	// +optional
	// +listType=map
	// +listMapKey=name
	APIServices []APIServiceStatus `json:"apiServices,omitempty"`
}

// CertificatePhase is a phase of the rotation of a serving certificate.
// +kubebuilder:validation:Enum=Bootstrap;Stable;Distributing;Promoting;Retiring
type CertificatePhase string

// The phases of a certificate.
const (
	// CertificateBootstrap: no usable certificate exists, and no registration trusts one.
	CertificateBootstrap CertificatePhase = "Bootstrap"
	// CertificateStable: pods serve one generation, which is not due for renewal.
	CertificateStable CertificatePhase = "Stable"
	// CertificateDistributing: the registrations get the CA of the next generation. Pods get its
	// certificate when every registration trusts it.
	CertificateDistributing CertificatePhase = "Distributing"
	// CertificatePromoting: pods get the certificate of the new generation. The previous CA is
	// trusted until every pod serves the new certificate, or the previous one has expired. A
	// compromised CA is not trusted.
	CertificatePromoting CertificatePhase = "Promoting"
	// CertificateRetiring: the registrations lose the CAs of previous generations.
	CertificateRetiring CertificatePhase = "Retiring"
)

// CertificateStatus is the state of a serving certificate. It never contains the key.
type CertificateStatus struct {
	// provider is the provider that issued the certificate.
	Provider CertificateProvider `json:"provider"`

	// phase is the phase of its rotation.
	Phase CertificatePhase `json:"phase"`

	// secret is the name of the Secret of the certificate, in the namespace of this object.
	// +optional
	Secret string `json:"secret,omitempty"`

	// generation counts the certificates, from 1.
	// +optional
	Generation int64 `json:"generation,omitempty"`

	// caFingerprint is the hexadecimal SHA-256 digest of the DER form of the CA that signed the
	// certificate: the last one of its chain. With provider none it is the first CA in the Secret.
	// +optional
	CAFingerprint string `json:"caFingerprint,omitempty"`

	// trustedCAs is the number of CAs in the caBundle of its registrations. It is one, unless pods
	// may serve another certificate. Absent with provider none, and before a CA exists.
	// +optional
	TrustedCAs int64 `json:"trustedCAs,omitempty"`

	// notBefore is the start of its validity.
	// +optional
	NotBefore *metav1.Time `json:"notBefore,omitempty"`

	// notAfter is the end of its validity.
	// +optional
	NotAfter *metav1.Time `json:"notAfter,omitempty"`

	// renewalTime is when it is due for renewal.
	// +optional
	RenewalTime *metav1.Time `json:"renewalTime,omitempty"`

	// lastUpdateTime is when the manager wrote the certificate into the keys that pods mount.
	// Absent if another client wrote it.
	// +optional
	LastUpdateTime *metav1.Time `json:"lastUpdateTime,omitempty"`

	// endpoints counts the pods and endpoints that serve this certificate while it replaces another.
	// Absent while no certificate is replaced.
	// +optional
	Endpoints *CertificateEndpoints `json:"endpoints,omitempty"`

	// propagation reports how the last rotation found out that API servers trusted the certificate before
	// pods got it. Absent before the first rotation, and if no registration existed then.
	// +optional
	Propagation *CertificatePropagation `json:"propagation,omitempty"`

	// lostRegistrations are the registrations that cannot be written and that do not trust the
	// certificate which pods serve. Their calls fail. The message reports why.
	// +optional
	// +listType=atomic
	LostRegistrations []string `json:"lostRegistrations,omitempty"`

	// rejected is the last issued certificate if it cannot be served. Absent otherwise.
	// +optional
	Rejected *RejectedCertificate `json:"rejected,omitempty"`

	// message reports the problem of the certificate, or what its phase waits for, and the next
	// step. Empty if there is none.
	// +optional
	Message string `json:"message,omitempty"`
}

// CertificateEndpoints counts the pods and endpoints behind a Service by the certificate that they serve.
type CertificateEndpoints struct {
	// total is the number of pods and endpoints that API servers may call.
	Total int32 `json:"total"`

	// updated is the number that serve the new certificate.
	Updated int32 `json:"updated"`

	// outdated is the number that serve another certificate.
	Outdated int32 `json:"outdated"`

	// unknown is the number whose certificate is not known.
	Unknown int32 `json:"unknown"`
}

// PropagationMethod is how the manager finds out that API servers trust the next certificate.
// +kubebuilder:validation:Enum=EachAPIServer;RepeatedRequests;SettleTime
type PropagationMethod string

// The ways to find out that API servers trust the next certificate.
const (
	// PropagationEachAPIServer: each API server was asked at its own address.
	PropagationEachAPIServer PropagationMethod = "EachAPIServer"
	// PropagationRepeatedRequests: API servers were asked through one address, which leads to any of them, on so many
	// connections that each API server answered.
	PropagationRepeatedRequests PropagationMethod = "RepeatedRequests"
	// PropagationSettleTime: API servers could not be asked, and had the time of --certificate-settle.
	PropagationSettleTime PropagationMethod = "SettleTime"
)

// CertificatePropagation reports how it was found out that API servers trusted a certificate.
type CertificatePropagation struct {
	// method is how it was found out.
	Method PropagationMethod `json:"method"`

	// apiServers is the number of API servers that renew their Lease in namespace kube-system. Absent if it is not known.
	// +optional
	APIServers int32 `json:"apiServers,omitempty"`

	// notReached are the addresses of API servers that did not answer the manager, at most 16.
	// +optional
	// +listType=atomic
	NotReached []string `json:"notReached,omitempty"`

	// reason is why the settle time was used. Empty with the other methods.
	// +optional
	Reason string `json:"reason,omitempty"`
}

// String returns the method and the number of API servers; empty for nil.
func (p *CertificatePropagation) String() string {
	switch {
	case p == nil:
		return ""
	case p.APIServers == 0:
		return string(p.Method)
	default:
		return fmt.Sprintf("%s (%d)", p.Method, p.APIServers)
	}
}

// RejectedCertificate is an issued certificate that pods do not get, because API servers could
// not verify it.
type RejectedCertificate struct {
	// issuer is the issuer of the certificate.
	Issuer string `json:"issuer"`

	// object is the object that contains the certificate: kind, namespace and name.
	Object string `json:"object"`

	// reason is one CamelCase word for the problem.
	Reason string `json:"reason"`

	// message reports the problem and the next step.
	Message string `json:"message"`
}

// WebhookState reports whether API requests reach a webhook.
// +kubebuilder:validation:Enum=Waiting;Registered;Unreachable;Blocked;Disabled
type WebhookState string

// The states of a webhook.
const (
	// WebhookWaiting is not registered yet; reason and message report what it waits for.
	WebhookWaiting WebhookState = "Waiting"
	// WebhookRegistered is called by the API server.
	WebhookRegistered WebhookState = "Registered"
	// WebhookUnreachable is registered and has no endpoint that could answer.
	WebhookUnreachable WebhookState = "Unreachable"
	// WebhookBlocked is not registered until the cause in its message is removed.
	WebhookBlocked WebhookState = "Blocked"
	// WebhookDisabled is disabled by the administrator.
	WebhookDisabled WebhookState = "Disabled"
)

// WebhookStatus is one entry of spec.webhookdefinitions.
type WebhookStatus struct {
	// type is the type in the ClusterServiceVersion.
	Type operatorsv1alpha1.WebhookAdmissionType `json:"type"`

	// generateName is the generateName in the ClusterServiceVersion.
	GenerateName string `json:"generateName"`

	// configuration is the name of the ValidatingWebhookConfiguration or
	// MutatingWebhookConfiguration that registers the webhook. Absent before its registration.
	// +optional
	Configuration string `json:"configuration,omitempty"`

	// crds are the CustomResourceDefinitions that a conversion webhook converts.
	// +optional
	// +listType=set
	CRDs []string `json:"crds,omitempty"`

	// calls is the address at which API servers call the webhook, or called it last:
	// "service:port/path". A registration that another client deleted is recreated without a test
	// review if it has the same address.
	// +optional
	Calls string `json:"calls,omitempty"`

	// intercepts reports which requests API servers send to the webhook.
	// +optional
	Intercepts string `json:"intercepts,omitempty"`

	// beyondScope lists cluster-scoped resources that it intercepts although its OperatorGroup
	// covers some namespaces only.
	// +optional
	// +listType=atomic
	BeyondScope []string `json:"beyondScope,omitempty"`

	// exempt lists the requests that match its rules and that matchConditions exclude, because its
	// own pods need them while no endpoint answers. They are requests of the components of the
	// cluster, never of users.
	// +optional
	// +listType=atomic
	Exempt []string `json:"exempt,omitempty"`

	// state reports whether API requests reach the webhook.
	State WebhookState `json:"state"`

	// reason is one CamelCase word for the state.
	// +optional
	Reason string `json:"reason,omitempty"`

	// message reports what the webhook waits for, and what to do about it.
	// +optional
	Message string `json:"message,omitempty"`

	// lastTransitionTime is when the state was first observed.
	// +optional
	LastTransitionTime *metav1.Time `json:"lastTransitionTime,omitempty"`

	// lastGap is the last interval in which CustomResourceDefinitions did not have this
	// conversion webhook although they had it before. Absent if there was none.
	// +optional
	LastGap *ConversionGap `json:"lastGap,omitempty"`

	// failOpen reports when the webhook was open. Absent if it never was, and the administrator does not
	// allow it.
	// +optional
	FailOpen *FailOpen `json:"failOpen,omitempty"`

	// unreachableFrom are the API servers whose calls of the webhook fail, as their metrics show. Absent if
	// no call is known to fail. The condition CallsFail reports whether all API servers are known.
	// +optional
	// +listType=map
	// +listMapKey=apiServer
	UnreachableFrom []UnreachableFrom `json:"unreachableFrom,omitempty"`
}

// UnreachableFrom reports that calls from one API server fail.
type UnreachableFrom struct {
	// apiServer is the address of the API server.
	APIServer string `json:"apiServer"`

	// error is why the first calls failed, as the API server counted them: its error_type and code.
	Error string `json:"error"`

	// startTime is when the manager first observed that calls fail.
	StartTime metav1.Time `json:"startTime"`
}

// ConversionGap is an interval in which API servers returned objects with a changed apiVersion
// only, or could not read them, because a client removed the conversion webhook.
type ConversionGap struct {
	// crds are the CustomResourceDefinitions without the conversion webhook.
	// +listType=set
	CRDs []string `json:"crds"`

	// by is the field manager of the client that wrote the definition last before the
	// manager observed the gap. Absent if managedFields do not show it: they record
	// written fields, not removed ones.
	// +optional
	By string `json:"by,omitempty"`

	// startTime is the time of that write, in whole seconds. Without by it is the time at which
	// the gap was observed, which is later than its start.
	StartTime metav1.MicroTime `json:"startTime"`

	// endTime is when the conversion webhook was observed again. Absent during the gap.
	// +optional
	EndTime *metav1.MicroTime `json:"endTime,omitempty"`
}

// APIServiceStatus is the state of an APIService that the ClusterServiceVersion owns.
type APIServiceStatus struct {
	// name is the name of the APIService: version.group.
	Name string `json:"name"`

	// state reports whether API requests reach the APIService. Registered: the API server reports
	// it as available. Unreachable: it exists and is not available.
	State WebhookState `json:"state"`

	// reason is one CamelCase word for the state.
	// +optional
	Reason string `json:"reason,omitempty"`

	// message reports what the APIService waits for, and what to do about it.
	// +optional
	Message string `json:"message,omitempty"`

	// lost is true after another client deleted the registered APIService. The manager recreates it
	// as soon as its server answers, independently of the rest of the rollout.
	// +optional
	Lost bool `json:"lost,omitempty"`

	// lastTransitionTime is when the state was first observed.
	// +optional
	LastTransitionTime *metav1.Time `json:"lastTransitionTime,omitempty"`
}
