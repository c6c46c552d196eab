package v1alpha1

// Reasons of a webhook, in status.deployments[].webhooks[].reason. While it is registered or probed,
// the reason can also be one of package probe. docs/admin/troubleshoot.md has the next step for each.
const (
	// ReasonServing means that API servers call the webhook and an endpoint is ready.
	ReasonServing = "Serving"
	// ReasonProvedThroughAPIServer means that the API server checked the endpoints, because the
	// manager cannot dial them.
	ReasonProvedThroughAPIServer = "ProvedThroughAPIServer"
	// ReasonNodeLocalService means that internalTrafficPolicy of the Service is Local: API servers on
	// nodes without an endpoint cannot call it.
	ReasonNodeLocalService = "NodeLocalService"
	// ReasonServiceMissing means that the Service is being created.
	ReasonServiceMissing = "ServiceMissing"
	// ReasonCertificateMissing means that the serving certificate is being written.
	ReasonCertificateMissing = "CertificateMissing"
	// ReasonRegistering means that the registration is being written.
	ReasonRegistering = "Registering"
	// ReasonProbing means that the endpoints are being dialled.
	ReasonProbing = "Probing"
	// ReasonNoReadyEndpoints means that no pod behind the Service is ready.
	ReasonNoReadyEndpoints = "NoReadyEndpoints"
	// ReasonPortMissing means that the Service lacks the port of the webhook.
	ReasonPortMissing = "PortMissing"
	// ReasonNoSuchPort means that no container has the port of the Service.
	ReasonNoSuchPort = "NoSuchPort"
	// ReasonServiceNotCallable means that API servers cannot call a Service of this type.
	ReasonServiceNotCallable = "ServiceNotCallable"
	// ReasonServiceChanged means that another client changed where the Service leads.
	ReasonServiceChanged = "ServiceChanged"
	// ReasonNamespacesNotLabelled means that a Namespace of the scope lacks its label.
	ReasonNamespacesNotLabelled = "NamespacesNotLabelled"
	// ReasonCABundleNotInjected means that the administrator's tools did not write the caBundle.
	ReasonCABundleNotInjected = "CABundleNotInjected"
	// ReasonVersionAwaited means that a version of a definition is added together with its conversion.
	ReasonVersionAwaited = "VersionAwaited"
	// ReasonNotAvailable means that the API server does not report the APIService as available.
	ReasonNotAvailable = "NotAvailable"
	// ReasonKindNotServed means that the Deployment serves the API version, but not the kind.
	ReasonKindNotServed = "KindNotServed"
	// ReasonDiscoveryNotAnswered means that the API server has not reported the kinds of the API group.
	ReasonDiscoveryNotAnswered = "DiscoveryNotAnswered"
	// ReasonPortCalled means that API servers may still call a port of the Service that changes.
	ReasonPortCalled = "PortCalled"
	// ReasonCertificateUnusable means that no usable certificate was issued.
	ReasonCertificateUnusable = "CertificateUnusable"
	// ReasonHeld means that the webhook stays as it was, because the ClusterServiceVersion is Failed or
	// Pending.
	ReasonHeld = "Held"
	// ReasonSwitchedOff means that an annotation of the Subscription disables the webhook.
	ReasonSwitchedOff = "SwitchedOff"
)

// Reasons of a webhook and of its Deployment.
const (
	// ReasonDeploymentNotAvailable means that the pods of the Deployment are not available.
	ReasonDeploymentNotAvailable = "DeploymentNotAvailable"
	// ReasonEarlierDeployment means that an earlier Deployment of the ClusterServiceVersion is not
	// available.
	ReasonEarlierDeployment = "EarlierDeployment"
	// ReasonNotInstallable means that the ClusterServiceVersion is Failed or Pending.
	ReasonNotInstallable = "NotInstallable"
	// ReasonRefusedByAPIServer means that the API server refused an object.
	ReasonRefusedByAPIServer = "RefusedByAPIServer"
	// ReasonStillRegistered means that API servers call a webhook whose registration the manager has to
	// delete: finalizers keep it, the API server refuses it, or another client recreates it.
	ReasonStillRegistered = "StillRegistered"
	// ReasonWebhookUnanswered means that a webhook of another client does not answer a write.
	ReasonWebhookUnanswered = "WebhookUnanswered"
)

// Reasons of a Deployment, in status.deployments[].reason. A container that waits has the reason that
// its kubelet reports.
const (
	// ReasonCreating means that the Deployment is being created.
	ReasonCreating = "Creating"
	// ReasonUpdating means that a new pod template is being rolled out.
	ReasonUpdating = "Updating"
	// ReasonUnregistering means that API servers may still call a webhook of the previous version, which
	// this Deployment does not serve.
	ReasonUnregistering = "Unregistering"
	// ReasonWaitingForReplicas means that pods are not available.
	ReasonWaitingForReplicas = "WaitingForReplicas"
	// ReasonReplicaFailure means that pods cannot be created.
	ReasonReplicaFailure = "ReplicaFailure"
	// ReasonPodUnschedulable means that no node fits a pod.
	ReasonPodUnschedulable = "PodUnschedulable"
	// ReasonPodNotReady means that a container is being created or its readiness probe fails.
	ReasonPodNotReady = "PodNotReady"
	// ReasonImagePullFailed means that the image of a container cannot be pulled.
	ReasonImagePullFailed = "ImagePullFailed"
)

// Reasons of conditions of a WebhookRollout. Other conditions have their type as the reason. The
// condition Ready can also have the reason of a webhook or of the ClusterServiceVersion.
const (
	// ReasonAllWebhooksServe means that every declared webhook is registered and reachable.
	ReasonAllWebhooksServe = "AllWebhooksServe"
	// ReasonNameShared means that calls of a webhook fail, and several configurations have a webhook of its
	// name.
	ReasonNameShared = "NameShared"
	// ReasonNotObserved means that the manager cannot read the metrics of an API server.
	ReasonNotObserved = "NotObserved"
	// ReasonWaitsForReplaced means that the replaced version must be installed first.
	ReasonWaitsForReplaced = "WaitsForReplaced"
)
