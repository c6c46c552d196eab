package v1alpha1

import (
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
// +kubebuilder:printcolumn:name="Provider",type=string,JSONPath=`.status.provider`,description="Who issues the serving certificates"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`

// WebhookRollout reports the progress of the webhooks of one ClusterServiceVersion, and
// what each of them waits for. The manager writes it and owns it: there is one
// for each ClusterServiceVersion it manages, of the same name and namespace.
type WebhookRollout struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// status is what the manager last saw and decided.
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

// WebhookRolloutStatus is the whole answer to "are my webhooks live, and if not, why".
type WebhookRolloutStatus struct {
	// observedGeneration is the metadata.generation of the ClusterServiceVersion
	// that this status refers to.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// subscription is the one whose config is followed. Absent when there is none.
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

	// provider is who issues the serving certificates.
	// +optional
	Provider CertificateProvider `json:"provider,omitempty"`

	// upgrade reports the progress of the upgrade from the versions that this version replaces.
	// Absent when there is none.
	// +optional
	Upgrade *UpgradeStatus `json:"upgrade,omitempty"`

	// conditions are Ready, OrderRelaxed, Contested, ChangedByAdmission, ConversionInUse, UnregistrationRefused, ConfigRefused, RulesMatchNothing and CertificateRejected.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// created are the objects of the ClusterServiceVersion that no garbage collection
	// removes: its registrations, and what it was granted outside of its namespace. When the
	// ClusterServiceVersion is deleted, they are known by their uids.
	// +optional
	// +listType=atomic
	Created []CreatedObject `json:"created,omitempty"`

	// deployments are those of the ClusterServiceVersion, in the order in which
	// it lists them, which is the order of their rollout.
	// +optional
	// +listType=map
	// +listMapKey=name
	Deployments []DeploymentStatus `json:"deployments,omitempty"`
}

// CreatedObject is an object that belongs to a ClusterServiceVersion.
type CreatedObject struct {
	// kind is the object's.
	Kind string `json:"kind"`

	// namespace is the object's. Absent where it has none.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// name is the object's.
	Name string `json:"name"`

	// uid is the object's metadata.uid.
	UID types.UID `json:"uid"`
}

// SubscriptionReference is a Subscription as it was at some time.
type SubscriptionReference struct {
	// name is the Subscription's.
	Name string `json:"name"`

	// generation is its metadata.generation.
	Generation int64 `json:"generation"`
}

// UpgradeStatus is how one version of an operator replaces others.
type UpgradeStatus struct {
	// from are the replaced versions that are still there, the nearest first.
	// +listType=atomic
	From []string `json:"from"`

	// lastUnregistrationTime is when a webhook was last unregistered, because the new
	// version does not have it or serves it in another way.
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
	// ConditionContested is True while another client keeps reverting a field of an
	// object that the manager owns.
	ConditionContested = "Contested"
	// ConditionChangedByAdmission is True while objects are as a mutating webhook or a
	// MutatingAdmissionPolicy made them of what the manager wrote.
	ConditionChangedByAdmission = "ChangedByAdmission"
	// ConditionConversionInUse is True while a conversion webhook that should be removed cannot be,
	// because objects would lose fields without it.
	ConditionConversionInUse = "ConversionInUse"
	// ConditionUnregistrationRefused is True while the API server refuses to remove registrations,
	// other objects or the finalizer of a ClusterServiceVersion that is being deleted.
	ConditionUnregistrationRefused = "UnregistrationRefused"
	// ConditionConfigRefused is True while parts of the Subscription's config are not
	// followed.
	ConditionConfigRefused = "ConfigRefused"
	// ConditionRulesMatchNothing is True while rules of webhooks name what the API server does
	// not serve.
	ConditionRulesMatchNothing = "RulesMatchNothing"
	// ConditionCertificateRejected is True while what an issuer issued last cannot be served.
	ConditionCertificateRejected = "CertificateRejected"
)

// DeploymentState is the step of the rollout that a Deployment has reached.
// +kubebuilder:validation:Enum=Pending;Progressing;Available
type DeploymentState string

// The states of a Deployment.
const (
	// DeploymentPending waits for an earlier Deployment, or for a mistake to be corrected.
	DeploymentPending DeploymentState = "Pending"
	// DeploymentProgressing exists and is not available yet, or not any more.
	DeploymentProgressing DeploymentState = "Progressing"
	// DeploymentAvailable has its replicas updated and available.
	DeploymentAvailable DeploymentState = "Available"
)

// DeploymentStatus is one Deployment of the ClusterServiceVersion with the
// certificate that it serves and the webhooks that it backs.
type DeploymentStatus struct {
	// name is the Deployment's.
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
	// Absent while none was issued, or when the Deployment backs none.
	// +optional
	Certificate *CertificateStatus `json:"certificate,omitempty"`

	// webhooks are the webhooks that name this Deployment, in the order of the
	// ClusterServiceVersion.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +listMapKey=generateName
	Webhooks []WebhookStatus `json:"webhooks,omitempty"`

	// apiServices are the owned ones that name this Deployment, in the order of the
	// ClusterServiceVersion.
	// +optional
	// +listType=map
	// +listMapKey=name
	APIServices []APIServiceStatus `json:"apiServices,omitempty"`
}

// CertificatePhase is a step in the life of a serving certificate.
// +kubebuilder:validation:Enum=Bootstrap;Stable;Distributing;Promoting;Retiring
type CertificatePhase string

// The phases of a certificate.
const (
	// CertificateBootstrap has no usable certificate and nothing that would trust one.
	CertificateBootstrap CertificatePhase = "Bootstrap"
	// CertificateStable serves one generation that is not due for renewal.
	CertificateStable CertificatePhase = "Stable"
	// CertificateDistributing has a next generation, which no pod can serve before every
	// registration trusts it.
	CertificateDistributing CertificatePhase = "Distributing"
	// CertificatePromoting gives pods the new generation; the previous one is trusted
	// until all of them serve the new one or it has expired, unless it is compromised.
	CertificatePromoting CertificatePhase = "Promoting"
	// CertificateRetiring takes the trust in all CAs but that of the generation away.
	CertificateRetiring CertificatePhase = "Retiring"
)

// CertificateStatus are the facts about a serving certificate; never its key.
type CertificateStatus struct {
	// provider is who issued it.
	Provider CertificateProvider `json:"provider"`

	// phase is the phase of its life cycle.
	Phase CertificatePhase `json:"phase"`

	// secret is the name of the Secret that holds it, in the namespace of this object.
	// +optional
	Secret string `json:"secret,omitempty"`

	// generation counts the certificates, from 1.
	// +optional
	Generation int64 `json:"generation,omitempty"`

	// caFingerprint is the hex SHA-256 of the DER form of the CA that registrations trust for it:
	// the last one of its chain. Where the administrator issues certificates, it is the first CA
	// in the Secret.
	// +optional
	CAFingerprint string `json:"caFingerprint,omitempty"`

	// trustedCAs is the number of CAs that its webhooks trust: one, unless pods may serve
	// another certificate. Absent where the administrator issues certificates,
	// and where no CA exists yet.
	// +optional
	TrustedCAs int64 `json:"trustedCAs,omitempty"`

	// notBefore is when it began to be valid.
	// +optional
	NotBefore *metav1.Time `json:"notBefore,omitempty"`

	// notAfter is when it expires.
	// +optional
	NotAfter *metav1.Time `json:"notAfter,omitempty"`

	// renewalTime is when it is due for renewal.
	// +optional
	RenewalTime *metav1.Time `json:"renewalTime,omitempty"`

	// lastUpdateTime is when pods were given it, in place of another or as their first. Absent
	// where the manager did not give it to them.
	// +optional
	LastUpdateTime *metav1.Time `json:"lastUpdateTime,omitempty"`

	// endpoints counts the pods and endpoints that serve this certificate while it replaces another.
	// Absent while no certificate is replaced.
	// +optional
	Endpoints *CertificateEndpoints `json:"endpoints,omitempty"`

	// lostRegistrations are the registrations that cannot be written, and that do not trust the
	// certificate that pods are given: their calls fail. The message reports why.
	// +optional
	// +listType=atomic
	LostRegistrations []string `json:"lostRegistrations,omitempty"`

	// rejected is what its issuer issued last, where that cannot be served. Absent when it can.
	// +optional
	Rejected *RejectedCertificate `json:"rejected,omitempty"`

	// message reports what is wrong with it, or what its phase waits for, and what to do about
	// it. Empty when nothing is.
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

// RejectedCertificate is a certificate that an issuer issued, and that pods are not given because
// no API server could verify it.
type RejectedCertificate struct {
	// issuer is who issued it.
	Issuer string `json:"issuer"`

	// object holds it: its kind, namespace and name.
	Object string `json:"object"`

	// reason is one word for what is wrong with it.
	Reason string `json:"reason"`

	// message reports what is wrong with it, and what to do about it.
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
	// WebhookBlocked is not registered and will not be until its cause is removed.
	WebhookBlocked WebhookState = "Blocked"
	// WebhookDisabled is disabled by the administrator.
	WebhookDisabled WebhookState = "Disabled"
)

// WebhookStatus is one entry of spec.webhookdefinitions.
type WebhookStatus struct {
	// type is the description's.
	Type operatorsv1alpha1.WebhookAdmissionType `json:"type"`

	// generateName is the description's.
	GenerateName string `json:"generateName"`

	// configuration is the name of the ValidatingWebhookConfiguration or
	// MutatingWebhookConfiguration that registers the webhook. Absent until it does.
	// +optional
	Configuration string `json:"configuration,omitempty"`

	// crds are the CustomResourceDefinitions that a conversion webhook converts.
	// +optional
	// +listType=set
	CRDs []string `json:"crds,omitempty"`

	// calls is where API servers call the webhook, or called it last: "service:port/path". A
	// registration that another client deleted is recreated without a review if it calls the
	// same.
	// +optional
	Calls string `json:"calls,omitempty"`

	// intercepts reports which requests the API server asks the webhook about.
	// +optional
	Intercepts string `json:"intercepts,omitempty"`

	// beyondScope are resources that it intercepts in the whole cluster although its
	// OperatorGroup covers some namespaces only: their objects are in none.
	// +optional
	// +listType=atomic
	BeyondScope []string `json:"beyondScope,omitempty"`

	// exempt are the requests that match its rules and that are excluded by matchConditions:
	// its own pods need them while no endpoint answers. They are requests of the cluster's own
	// components, never those of people.
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

	// lastGap is the last time in which CustomResourceDefinitions went without this
	// conversion webhook although they had it before. Absent when that never happened.
	// +optional
	LastGap *ConversionGap `json:"lastGap,omitempty"`
}

// ConversionGap is a time in which API servers relabelled objects, or failed to read
// them, because a client removed the conversion webhook from their definition.
type ConversionGap struct {
	// crds are the CustomResourceDefinitions that went without it.
	// +listType=set
	CRDs []string `json:"crds"`

	// by is the field manager of the client that wrote the definition last before the
	// manager observed it. Absent when field ownership does not show it: managedFields record
	// written fields, not removed ones.
	// +optional
	By string `json:"by,omitempty"`

	// startTime is when that client wrote, to the second: the gap began then or a little later.
	// Without by it is when the gap was observed, and it began a little earlier.
	StartTime metav1.MicroTime `json:"startTime"`

	// endTime is when the conversion was observed again. Absent while it is missing.
	// +optional
	EndTime *metav1.MicroTime `json:"endTime,omitempty"`
}

// APIServiceStatus is what registers the kinds of one version of a group that the
// ClusterServiceVersion owns.
type APIServiceStatus struct {
	// name is that of the APIService: version.group.
	Name string `json:"name"`

	// state reports whether API requests reach the APIService. Registered is one that the API
	// server finds available; Unreachable one that exists and is not available.
	State WebhookState `json:"state"`

	// reason is one CamelCase word for the state.
	// +optional
	Reason string `json:"reason,omitempty"`

	// message reports what the APIService waits for, and what to do about it.
	// +optional
	Message string `json:"message,omitempty"`

	// lost is set while the APIService was registered and another client has deleted it. The manager
	// recreates it as soon as its server answers, independent of the rest of the rollout.
	// +optional
	Lost bool `json:"lost,omitempty"`

	// lastTransitionTime is when the state was first observed.
	// +optional
	LastTransitionTime *metav1.Time `json:"lastTransitionTime,omitempty"`
}
